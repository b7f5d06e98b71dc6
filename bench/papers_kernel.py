"""Figures of the paper One-pass kernel K-means; see papers.py."""
PAPER = 'One-pass kernel K-means'
PARTS = []
cursor = args = None


def begin(its_cursor, its_args):
    global cursor, args
    cursor, args = its_cursor, its_args


def part(measure):
    PARTS.append(measure)
    return measure
