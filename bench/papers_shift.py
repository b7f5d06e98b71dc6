"""Figures of the paper Sketch and shift; see papers.py."""
PAPER = 'Sketch and shift'
PARTS = []
cursor = args = None


def begin(its_cursor, its_args):
    global cursor, args
    cursor, args = its_cursor, its_args


def part(measure):
    PARTS.append(measure)
    return measure
