"""Figures of the paper Compressive K-means; see papers.py."""
PAPER = 'Compressive K-means'
PARTS = []
cursor = args = None


def begin(its_cursor, its_args):
    global cursor, args
    cursor, args = its_cursor, its_args


def part(measure):
    PARTS.append(measure)
    return measure
