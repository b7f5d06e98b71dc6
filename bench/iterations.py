"""Compares the seconds of an iteration of QK-means and of Lloyd's algorithm on the same table.

BENCH_ONLY=iterations bench/run.sh
iterations.py [--docs DOCS] [--csv FILE] [--scale S] [--only K]

Everything runs in the server of the PG* variables, which has the extension. Prints a table, and
writes FILE and DOCS/quick-means-iterations.svg. Figures are medians of ROUNDS.
Both start from the same rows and scan the same table by the same query. An iteration of Lloyd's
algorithm is lloyd_step_agg with the dense operator. QK-means has log2(min(k, d)) factors of
sparsity 3, or two factors. Its iteration takes the seconds of qkmeans_log: the scan, measured as
lloyd_step_agg with the learned operator, and the palm4MSA update of the factors, which is the rest.
Vectors are stored uncompressed (SET STORAGE EXTERNAL), because reading long compressed vectors
would dominate both. Vectors out of line leave a small table, which the planner would not scan in
parallel, so min_parallel_table_scan_size is 0.
Blobs (Giffon et al. 2019): centres uniform in [-10, 10]^d, standard deviation 12 in every
coordinate. Overlapping: normal centres with standard deviation 0.25, rows with 1.
Good: an iteration of QK-means is faster for many clusters in many dimensions.
"""
import argparse
import csv
import json
import struct
import tempfile
import time

import matplotlib
import numpy as np
import psycopg2

matplotlib.use('Agg')
import matplotlib.pyplot as plt

plt.rcParams['svg.hashsalt'] = 'fastclust'
SIZES = [(64, 256, 100000), (256, 784, 60000), (512, 2000, 30000), (1024, 1024, 100000)]
WORKERS = (0, 2)
ROUNDS = 5
CHUNK = 4000
FACTORS = (None, 2)             # numbers of factors; None is log2(min(k, d))
COLUMNS = ('data', 'k', 'd', 'rows', 'workers', 'factors', 'lloyd s', 'qkmeans s', 'scan s', 'palm4msa s', 'start s', 'values')


def chunks(kind, k, d, n):
    """Yields (ids, rows), CHUNK rows at a time; the first k rows are from k different clusters."""
    rng = np.random.default_rng(k + d)
    centres = rng.uniform(-10, 10, (k, d)) if kind == 'blobs' else 0.25 * rng.normal(size=(k, d))
    deviation = 12 if kind == 'blobs' else 1
    for first in range(0, n, CHUNK):
        ids = np.arange(first, min(first + CHUNK, n))
        cluster = np.where(ids < k, ids % k, rng.integers(k, size=len(ids)))
        yield ids, (centres[cluster] + deviation * rng.normal(size=(len(ids), d))).astype(np.float32)


def load(cursor, kind, k, d, n):
    """Fills the table points (id, x real[]) by binary COPY, and returns the first k rows."""
    cursor.execute('DROP TABLE IF EXISTS points; CREATE UNLOGGED TABLE points (id integer, x real[]); ALTER TABLE points ALTER x SET STORAGE EXTERNAL')
    row = np.dtype([('fields', '>i2'), ('id size', '>i4'), ('id', '>i4'), ('size', '>i4'), ('dimensions', '>i4'), ('nulls', '>i4'),
                    ('type', '>i4'), ('length', '>i4'), ('bound', '>i4'), ('x', [('size', '>i4'), ('value', '>f4')], d)])
    start = []
    with tempfile.TemporaryFile() as file:
        file.write(b'PGCOPY\n\xff\r\n\0' + struct.pack('>ii', 0, 0))
        for ids, x in chunks(kind, k, d, n):
            part = np.zeros(len(ids), row)
            for name, value in (('fields', 2), ('id size', 4), ('id', ids), ('size', 20 + 8 * d), ('dimensions', 1), ('type', 700), ('length', d), ('bound', 1)):
                part[name] = value
            part['x']['size'] = 4
            part['x']['value'] = x
            file.write(part.tobytes())
            start.extend(x[ids < k].astype(float).tolist())
        file.write(struct.pack('>h', -1))
        file.seek(0)
        cursor.copy_expert('COPY points FROM STDIN BINARY', file)
    cursor.execute('VACUUM ANALYZE points')
    return start


def scans(cursor, operator):
    """Returns the median seconds of a Lloyd step with the operator."""
    seconds = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        cursor.execute('SELECT (fastclust.lloyd_step_agg(%s::fastclust.fastop, x)).sse FROM points', [operator])
        cursor.fetchone()
        seconds.append(time.perf_counter() - begun)
    return float(np.median(seconds))


def lloyd(cursor, k):
    cursor.execute('SELECT fastclust.fastop_agg(x ORDER BY id) FROM points WHERE id < %s', [k])
    return scans(cursor, cursor.fetchone()[0])


def measure(cursor, k, start, factors):
    options = {'start': 'palm4msa', 'sparsity': 3, 'init': start, 'iterations': ROUNDS, 'tolerance': 0}
    if factors:
        options['factors'] = factors
    cursor.execute("SELECT seconds, nonzeros, op FROM fastclust.qkmeans_log('points', 'x', %s, %s) ORDER BY iteration", [k, json.dumps(options)])
    steps = cursor.fetchall()
    scan = scans(cursor, steps[-1][2])
    iteration = float(np.median([s[0] for s in steps[1:]]))
    return iteration, scan, max(iteration - scan, 0.0), steps[0][0] - scan, steps[-1][1]


def draw(results, docs):
    """Draws bars of the runs without parallel workers: Lloyd's scan, and for QK-means its scan and
    palm4MSA."""
    shown = [r for r in results if r['workers'] == 0 and r['data'] == 'blobs']
    figure, axis = plt.subplots(figsize=(8, 0.75 * len(shown) + 1))
    for i, r in enumerate(shown):
        at = len(shown) - 1 - i
        each = 1e6 / r['rows']
        axis.barh(at + 0.19, r['lloyd s'] * each, 0.36, color='#bbbbbb', label='Lloyd' if i == 0 else None)
        axis.barh(at - 0.19, r['scan s'] * each, 0.36, color='#1f5f8b', label='QK-means: scan' if i == 0 else None)
        axis.barh(at - 0.19, r['palm4msa s'] * each, 0.36, left=r['scan s'] * each, color='#d98032', label='QK-means: palm4MSA' if i == 0 else None)
        axis.text(r['qkmeans s'] * each, at - 0.19, f' {r["lloyd s"] / r["qkmeans s"]:.1f} x', va='center', fontsize=8)
    axis.set_yticks(range(len(shown)), [f'k = {r["k"]}, d = {r["d"]}, {r["factors"]} factors' for r in shown][::-1], fontsize=8)
    axis.set_xlabel('microseconds a row and iteration')
    axis.legend(frameon=False, fontsize=8)
    axis.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    figure.savefig(f'{docs}/quick-means-iterations.svg', metadata={'Date': None})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--docs')
    parser.add_argument('--csv')
    parser.add_argument('--scale', type=float, default=1.0, help='of the numbers of rows')
    parser.add_argument('--only', type=int, help='this k alone')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET client_min_messages = warning')
    results = []
    print('| data | k, d, rows | workers | factors | Lloyd | QK-means | its scan | its palm4MSA | faster | start | values |\n' + '| --- ' * 11 + '|')
    for k, d, rows in SIZES:
        for kind in ('blobs', 'overlapping') if arguments.only in (None, k) else ():
            n = max(int(rows * arguments.scale), 2 * k)
            start = load(cursor, kind, k, d, n)
            for workers in WORKERS:
                cursor.execute('SET max_parallel_workers_per_gather = %s; SET min_parallel_table_scan_size = 0', [workers])
                dense = lloyd(cursor, k)
                for factors in FACTORS:
                    count = factors or round(np.log2(min(k, d)))
                    r = dict(zip(COLUMNS, (kind, k, d, n, workers, count, dense, *measure(cursor, k, start, factors))))
                    results.append(r)
                    print(f"| {kind} | {k}, {d}, {n} | {workers} | {count} | {r['lloyd s']:.2f} s | {r['qkmeans s']:.2f} s | {r['scan s']:.2f} s "
                          f"| {r['palm4msa s']:.2f} s | {r['lloyd s'] / r['qkmeans s']:.2f} x | {r['start s']:.1f} s | {r['values']} |", flush=True)
    if arguments.csv:
        with open(arguments.csv, 'w', newline='') as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(results)
    if arguments.docs:
        draw(results, arguments.docs)


if __name__ == '__main__':
    main()
