"""Figures of the paper QuicK-means; see papers.py."""
PAPER = 'QuicK-means'
PARTS = []
cursor = args = None


def begin(its_cursor, its_args):
    global cursor, args
    cursor, args = its_cursor, its_args


def part(measure):
    PARTS.append(measure)
    return measure
