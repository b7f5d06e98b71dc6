"""What the modules papers_PAPER.py share: the parts of a paper, and the connection they measure on."""


class Paper:
    """A paper and the parts that measure its figures. papers.py, or the module as a program, sets the
    cursor and the arguments before the first part."""

    def __init__(self, name):
        self.name = name
        self.parts = []
        self.cursor = self.args = None

    def part(self, measure):
        """Decorator of a function that yields (place, here, default) for each of its rows."""
        self.parts.append(measure)
        return measure
