"""Compares dense centroids with products of sparse factors: time of a label, and fit.

products.py [--csv FILE] [--repeats N] [--rows N] [--shapes 300x128,..] [--kinds tones,..]

Runs in the server of the PG* variables, which has the extension and is on this machine. Each kind
of rows is clustered by kmeans_agg (dense centroids), by qkmeans_agg with its defaults, and by
factorize with method auto on a sample of the rows. Figures are CPU microseconds of `assign` for a
row, the minimum of N repeats, without the time of a scan that only counts; the sum of squared
distances relative to the dense centroids; and, in FILE, the CPU seconds of the search. The kinds
are tones (sums of two of d / 4 waves
with noise, a matrix of centroids of low rank), waves (a frequency for each cluster, of full rank)
and blobs (centres uniform in [-10, 10]^d).
Good: a product that auto accepts takes less time than the dense centroids.
"""
import argparse
import csv
import io

import numpy as np
import psycopg2

from rows import backend_seconds, seconds

SHAPES = '30x784,300x128,300x256,512x784,2000x128'
HEAD = '| rows | k, d | dense: us | qkmeans: values | SSE | us | auto: values | SSE | us |\n'
METHODS = {'dense': 'kmeans_agg(x, {k})', 'qkmeans': 'qkmeans_agg(x, {k})',
           'auto': "factorize((SELECT op FROM bench_operators WHERE name = 'dense'), sample => fastop_agg(x))"}


def make_rows(kind, k, d, n):
    random = np.random.default_rng(k + d)
    j = np.arange(1, d + 1)
    if kind == 'blobs':
        centres = random.uniform(-10, 10, (k, d))
    elif kind == 'waves':
        centres = 1.5 * np.sin(np.outer(np.arange(k), j))
    else:
        first, second = np.arange(k) % (d // 16), np.arange(k) // (d // 16)
        centres = 4 * np.sin(np.outer(first + 1, j) * 9 / d) + 3 * np.cos(np.outer(second + 2, j) * 19 / d)
    return centres[random.integers(0, k, n)] + 0.5 * random.normal(size=(n, d))


def load(cursor, rows):
    lines = (f"{{{','.join(f'{v:.5g}' for v in x)}}}\n" for x in rows)
    cursor.execute('DROP TABLE IF EXISTS bench_all, bench_rows, bench_operators; CREATE TABLE bench_all (x real[]);'
                   'CREATE TABLE bench_operators (name text, op fastop); ALTER TABLE bench_all ALTER x SET STORAGE EXTERNAL')
    cursor.copy_expert('COPY bench_all FROM STDIN', io.StringIO(''.join(lines)))
    cursor.execute('CREATE TABLE bench_rows AS SELECT x FROM bench_all LIMIT 256; ANALYZE bench_all')


def line(measured):
    """Returns the line of the table for one kind of rows and one shape."""
    dense, *products = measured
    cells = [dense['rows'], f"{dense['k']}, {dense['d']}", f"{dense['label']:.2f}"]
    for product in products:
        cells += [str(product['values']), f"{product['sse'] / dense['sse']:.2f}", f"{product['label']:.2f}"]
    return '| ' + ' | '.join(cells) + ' |'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--csv')
    parser.add_argument('--repeats', type=int, default=5)
    parser.add_argument('--rows', type=int, default=10000)
    parser.add_argument('--shapes', default=SHAPES)
    parser.add_argument('--kinds', default='tones,waves,blobs')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET search_path = fastclust, public; SET max_parallel_workers_per_gather = 0; SET work_mem = 1000000;'
                   'SET jit = off; SET client_min_messages = warning; SET fastclust.time_budget = 0')
    found = []
    print(HEAD + '|' + '---|' * 9, flush=True)
    for shape in args.shapes.split(','):
        k, d = map(int, shape.split('x'))
        for kind in args.kinds.split(','):
            load(cursor, make_rows(kind, k, d, args.rows))
            copies = max(40, int(4e6 / k / d))
            scan = seconds(cursor, 'count(x)', copies, args.repeats)
            for name, expression in METHODS.items():
                start = backend_seconds(cursor)
                cursor.execute(f"INSERT INTO bench_operators SELECT '{name}', {expression.format(k=k)} FROM bench_all")
                search = backend_seconds(cursor) - start
                operator = f"(SELECT op FROM bench_operators WHERE name = '{name}')"
                label = (seconds(cursor, f'count(assign({operator}, x))', copies, args.repeats) - scan) * 1e6 / copies / 256
                cursor.execute(f"SELECT (describe({operator}) ->> 'nonzeros')::int, sse_agg({operator}, x) FROM bench_all")
                values, sse = cursor.fetchone()
                found.append(dict(rows=kind, k=k, d=d, centroids=name, values=values, search=search, sse=sse, label=label))
            print(line(found[-len(METHODS):]), flush=True)
    if args.csv:
        with open(args.csv, 'w', newline='') as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == '__main__':
    main()
