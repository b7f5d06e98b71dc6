"""Hook of mkdocs: removes the second word of a fence, as in ```sql cron, which is for the tests of
the pages. mkdocs accepts only the first word."""
import re


def on_page_markdown(markdown, **_):
    return re.sub(r'^```(\w+) \w+$', r'```\1', markdown, flags=re.MULTILINE)
