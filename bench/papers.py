"""Measures the figures that the four papers print, and compares them: papers.csv, docs/papers.md.

python3 papers.py --programs FOLDER [--data FOLDER] [--only PART,..] [--record]

Connects by PG* variables. papers.csv has a row for each filled cell of the papers' tables and for
each claim that can be read from a figure:
    paper, place   where it is printed: table, row, column; figure, curve, point
    setting        as printed
    printed        the value, or an inequality of it, such as "< 1.5"
    unit           how it is compared (UNITS)
    data           the paper's, or the stand-in and why
    here, default  our value at that setting, and with the defaults
    verdict        reproduced, exceeded, not reproduced, not possible here
    reason         of a row that is not reproduced or not possible, and of a different setting
A part, a function of papers_PAPER.py, yields (place, here, default) for each of its rows. Rows
without a part are not possible here. --record writes the figures and verdicts into papers.csv and
docs/papers.md. Exits 1 if a row has no figure or another verdict than the recorded one.
"""
import argparse
import csv
import os
import sys
import time
import traceback

import psycopg2

import decoders
import papers_compressive
import papers_kernel
import papers_quickmeans
import papers_shift

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = HERE + '/papers.csv'
PAGE = HERE + '/../docs/papers.md'
COLUMNS = ('paper', 'place', 'setting', 'printed', 'unit', 'data', 'here', 'default', 'verdict', 'reason')
PAPERS = [module.paper for module in (papers_quickmeans, papers_compressive, papers_shift, papers_kernel)]
# unit: (better direction, tolerance, whether the tolerance is a share of the printed value)
UNITS = {
    'count': ('lower', 0.05, True),         # numbers of values
    'accuracy': ('higher', 0.03, False),    # accuracy, ARI, a share of runs
    'RSE': ('lower', 0.1, False),           # SSE, divided by the SSE of k-means
    'error': ('lower', 0.05, True),         # errors of matrices, objectives
    'ratio': ('lower', 0.1, True),          # a time or memory, divided by that of k-means or of the
                                            # paper's other method in the same run
    'speed-up': ('higher', 0.1, True),      # the inverse of a ratio
}
VERDICTS = ('reproduced', 'exceeded', 'not reproduced', 'not possible here')


def verdict_of(printed, unit, here):
    """Returns the verdict on our value at the printed setting."""
    direction, tolerance, relative = UNITS[unit]
    sign = 1 if direction == 'higher' else -1
    if printed.startswith(('<', '>')):
        bound = float(printed.strip('<>= '))
        return 'reproduced' if (here < bound if printed[0] == '<' else here > bound) or here == bound and '=' in printed else 'not reproduced'
    allowed = tolerance * (abs(float(printed)) if relative else 1)
    gain = sign * (here - float(printed))
    return 'reproduced' if abs(gain) <= allowed * (1 + 1e-9) else 'exceeded' if gain > 0 else 'not reproduced'


def shown(value, unit):
    return '' if value is None or value == '' else f'{float(value):.0f}' if unit == 'count' and float(value) >= 1e4 else f'{float(value):.4g}'


def report(row):
    print(f"{row['paper'][:12]:13s}{row['place'][:64]:65s}{row['printed']:>9s}{row['here']:>10s}{row['default']:>10s}  {row['unit']:9s}{row['verdict']}", flush=True)


def measure(part, rows, seconds):
    """Fills here, default and verdict of the rows of a part. Returns the number of its rows without a
    figure, and of figures without a row."""
    found = {}
    try:
        for place, here, default in part():
            found[place] = here, default
    except (psycopg2.Error, LookupError, ValueError, TypeError, OSError):
        traceback.print_exc()
    mine = {row['place']: row for row in rows if row['place'] in found}
    for place, (here, default) in found.items():
        if place not in mine:
            print(f'{place}: measured, but papers.csv has no such row', flush=True)
            continue
        row = mine[place]
        row['here'], row['default'] = shown(here, row['unit']), shown(default, row['unit'])
        row['verdict'] = verdict_of(row['printed'], row['unit'], float(here))
        report(row)
    print(f'-- {part.__name__}: {time.perf_counter() - seconds:.0f} s', flush=True)
    return len(found.keys() - mine.keys())


def counts(rows):
    return {verdict: sum(row['verdict'] == verdict for row in rows) for verdict in VERDICTS}


def cell(text):
    return text.replace('|', '\\|')


def write_page(rows):
    """Writes the tables between the marks of docs/papers.md."""
    with open(PAGE) as file:
        page = file.read()
    for paper in PAPERS:
        begin, end = f'<!-- table {paper.name} -->\n', f'<!-- end {paper.name} -->'
        lines = ['| printed in | setting | printed | here | default | verdict |\n', '| --- | --- | --- | --- | --- | --- |\n']
        for row in rows:
            if row['paper'] == paper.name:
                verdict = row['verdict'] + (f": {row['reason']}" if row['reason'] else '')
                lines.append('| ' + ' | '.join(cell(t) for t in (row['place'], row['setting'], row['printed'], row['here'], row['default'], verdict)) + ' |\n')
        page = page[:page.index(begin) + len(begin)] + ''.join(lines) + page[page.index(end):]
    with open(PAGE, 'w') as file:
        file.write(page)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--programs', default=HERE + '/../build/bench')
    parser.add_argument('--data')
    parser.add_argument('--only')
    parser.add_argument('--record', action='store_true')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = decoders.cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning; SET max_parallel_workers_per_gather = 0')
    with open(TABLE, newline='') as file:
        rows = list(csv.DictReader(file))
    recorded = {(row['paper'], row['place']): row['verdict'] for row in rows}
    bad = 0
    for paper in PAPERS:
        paper.cursor, paper.args = cursor, args
        for part in paper.parts:
            if not args.only or part.__name__ in args.only.split(','):
                bad += measure(part, [row for row in rows if row['paper'] == paper.name], time.perf_counter())
    for row in rows:
        before = recorded[row['paper'], row['place']]
        if not row['verdict'] or row['verdict'] not in VERDICTS or (row['verdict'] == 'not reproduced' and not row['reason']):
            print(f"{row['paper']}: {row['place']}: no verdict, or no reason")
            bad += 1
        elif before and row['verdict'] != before and not args.record:
            print(f"{row['paper']}: {row['place']}: {row['verdict']}, recorded as {before}")
            bad += 1
    if args.record:
        with open(TABLE, 'w', newline='') as file:
            out = csv.DictWriter(file, COLUMNS, lineterminator='\n')
            out.writeheader()
            out.writerows(rows)
        write_page(rows)
    for name in [paper.name for paper in PAPERS] + ['All']:
        print(f'{name}: ' + ', '.join(f'{count} {verdict}' for verdict, count in counts([row for row in rows if name in (row['paper'], 'All')]).items()))
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
