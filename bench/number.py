"""How often choose_k finds the planted number of clusters, and says so where there are none: a Markdown table.

python3 number.py [--rows 5000] [--seeds 10] [--max-k 50] [--dimensions 2,10,20] [--k 3,5,10,20,30] [--nulls] [--csv FILE]
connects by PG* variables.  Centres are put one by one at `gap` deviations from an earlier one and no nearer to any.

--nulls: tables of columns with NULLs (with_nulls of tables.py): how often k is that of the same table without them.
"""
import argparse
import csv

import numpy as np
import psycopg2

import tables

CLOUDS = {
    'uniform': lambda rng, shape: rng.uniform(size=shape),
    'normal': lambda rng, shape: rng.standard_normal(shape),
    'exponential': lambda rng, shape: rng.exponential(size=shape),
    "Student's t, 3": lambda rng, shape: rng.standard_t(3, shape),
}


def planted(k, d, gap, rows, seed):
    rng = np.random.default_rng(seed)
    centres = [np.zeros(d)]
    while len(centres) < k:
        step = rng.standard_normal(d)
        centre = centres[rng.integers(len(centres))] + gap * step / np.linalg.norm(step)
        if min(np.linalg.norm(centre - other) for other in centres) >= 0.999 * gap:
            centres.append(centre)
    label = rng.integers(0, k, rows)
    return (np.array(centres)[label] + rng.standard_normal((rows, d))).astype(np.float32), label


def choose(connection, x, max_k, seed, columns=False):
    (tables.copy_columns if columns else tables.copy_rows)(connection, 'number', x)
    with connection.cursor() as cursor:
        cursor.execute("SELECT k, verdict FROM fastclust.choose_k('number', %s, %s, jsonb_build_object('seed', %s)) WHERE verdict IS NOT NULL",
                       ([f'c{j}' for j in range(x.shape[1])] if columns else 'x', max_k, seed))
        return cursor.fetchone()


def with_nulls(connection, arguments):
    """Prints, for each kind of NULLs, how often k is the one without them, and how often each is the planted one."""
    print('| NULLs | k as without | planted k | planted k without |\n| --- | --- | --- | --- |')
    for how, share in [('random', .05), ('random', .15), ('random', .3), ('cluster', .15), ('cluster', .3), ('block', .3), ('told', 0)]:
        found = []
        for seed in range(arguments.seeds):
            rng = np.random.default_rng(seed)
            k, d = 3 + seed % 6, (4, 10)[seed % 2]
            x, classes = planted(k, d, 8, arguments.rows, seed)
            holes = tables.with_nulls(x.astype(float), classes, share, how, rng)
            found.append((k, *(choose(connection, rows, arguments.max_k, seed, True)[0] for rows in (x.astype(float), holes))))
        k, without, chosen = np.array(found).T
        print(f'| by {how}, {share:.0%} | {(chosen == without).sum()} | {(chosen == k).sum()} | {(without == k).sum()} of {len(k)} |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rows', type=int, default=5000)
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--max-k', type=int, default=50)
    parser.add_argument('--dimensions', default='2,10,20')
    parser.add_argument('--k', default='3,5,10,20,30')
    parser.add_argument('--nulls', action='store_true')
    parser.add_argument('--csv')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    if args.nulls:
        with_nulls(connection, args)
        return
    results = []
    for d in map(int, args.dimensions.split(',')):
        for gap in (8, 4):
            for k in map(int, args.k.split(',')):
                found = [choose(connection, planted(k, d, gap, args.rows, seed)[0], args.max_k, seed) for seed in range(args.seeds)]
                clear = [n for n, verdict in found if verdict == 'clear']
                results.append((d, f'{k} clusters, {gap} deviations apart', sum(n == k for n in clear), sum(abs(n - k) <= 1 for n in clear), 0))
        for name, draw in CLOUDS.items():
            found = [choose(connection, draw(np.random.default_rng(seed), (args.rows, d)).astype(np.float32), args.max_k, seed)
                     for seed in range(args.seeds)]
            results.append((d, f'one cloud, {name}', 0, 0, sum(verdict != 'clear' for _, verdict in found)))
    print_table(results)
    if args.csv:
        with open(args.csv, 'w', newline='') as file:
            csv.writer(file).writerows([('dimensions', 'rows', 'right', 'within one', 'no clear k'), *results])


def print_table(results):
    """A column a dimension: right / within one, or how often there is no clear k."""
    dimensions = list(dict.fromkeys(r[0] for r in results))
    print('| rows |' + ''.join(f' {d} dimensions |' for d in dimensions) + '\n| --- |' + ' --- |' * len(dimensions))
    for law in dict.fromkeys(r[1] for r in results):
        cells = [f'{none} no clear k' if 'cloud' in law else f'{right} right, {near} within one'
                 for _, name, right, near, none in results if name == law]
        print(f'| {law} | ' + ' | '.join(cells) + ' |', flush=True)


main()
