"""mkdocs_hook.py: the second word of a fence, as in ```sql cron, is for the tests of the pages; mkdocs knows only the first."""
import re


def on_page_markdown(markdown, **_):
    return re.sub(r'^```(\w+) \w+$', r'```\1', markdown, flags=re.MULTILINE)
