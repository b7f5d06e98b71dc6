"""Measures the CPU time to assign rows in SQL, singly and in batches, by dense and by factored
operators.

rows.py [--csv FILE] [--repeats N]

Runs in the server of the PG* variables, which has the extension and is on this machine. The rows
are blobs as in scikit-learn (centres uniform in [-10, 10]^d, standard deviation 1), with
k = 512, d = 2000 and k = 30, d = 784. The operator is in a table. The rows are in memory (a
materialised CTE), so that reading is cheap and takes the same time for all. Figures are CPU
microseconds for a row, the minimum of N repeats, without the time of a scan that only counts. Next
to them is the time of the product X V' by the BLAS of numpy, in batches of 256 rows.
Good: batches take little more than the BLAS, and factored operators less than dense ones.
"""
import argparse
import csv
import io
import time

import numpy as np
import psycopg2

SHAPES = [(512, 2000), (30, 784)]
METHODS = [('dense', None, {}), ('palm4msa', 'palm4msa', {}), ('palm4msa, log2 factors', 'palm4msa', {'factors': None}),
           ('svd', 'svd', {}), ('butterfly', 'butterfly', {})]
ROWS = 256


def load(cursor, k, d):
    random = np.random.default_rng(k)
    centres = random.uniform(-10, 10, (k, d))
    rows = centres[random.integers(0, k, ROWS)] + random.normal(size=(ROWS, d))
    cursor.execute('DROP TABLE IF EXISTS bench_centres, bench_rows, bench_operators; CREATE TABLE bench_centres (j int, c float8[]);'
                   'CREATE TABLE bench_rows (x real[]); CREATE TABLE bench_operators (name text, op fastclust.fastop);'
                   'ALTER TABLE bench_rows ALTER x SET STORAGE EXTERNAL')
    for table, lines in (('bench_centres', (f"{j}\t{{{','.join(map(repr, c.tolist()))}}}\n" for j, c in enumerate(centres))),
                         ('bench_rows', (f"{{{','.join(map(repr, x.tolist()))}}}\n" for x in rows))):
        cursor.copy_expert(f'COPY {table} FROM STDIN', io.StringIO(''.join(lines)))
    cursor.execute("INSERT INTO bench_operators SELECT 'dense', fastclust.fastop_agg(c ORDER BY j) FROM bench_centres")
    return rows.astype(np.float32), (centres - centres.mean(0)).astype(np.float32)


def backend_seconds(cursor):
    """Returns the CPU seconds of the backend so far."""
    with open(f'/proc/{cursor.connection.info.backend_pid}/schedstat') as file:
        return int(file.read().split()[0]) * 1e-9


def seconds(cursor, expression, copies, repeats):
    """Returns the minimum CPU seconds of an aggregate expression over `copies` passes over the
    rows."""
    least = np.inf
    for _ in range(repeats):
        start = backend_seconds(cursor)
        cursor.execute(f"WITH r AS MATERIALIZED (SELECT x || '{{}}'::real[] AS x FROM bench_rows) "
                       f'SELECT {expression} FROM generate_series(1, {copies}) s, r')
        least = min(least, backend_seconds(cursor) - start)
    return least


def blas(rows, centres, repeats):
    least = np.inf
    for _ in range(4 * repeats):
        start = time.process_time()
        rows @ centres.T
        least = min(least, time.process_time() - start)
    return least / len(rows) * 1e6


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--csv')
    parser.add_argument('--repeats', type=int, default=5)
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET max_parallel_workers_per_gather = 0; SET work_mem = 1000000; SET jit = off; SET client_min_messages = warning')
    found = []
    for k, d in SHAPES:
        rows, centres = load(cursor, k, d)
        sgemm = blas(rows, centres, args.repeats)
        copies = max(160, int(8e6 / k / d))
        scan = seconds(cursor, 'count(x)', copies, args.repeats)
        for name, method, options in METHODS:
            if 'factors' in options:
                options = {'factors': int(np.log2(min(k, d)))}
            if method:
                cursor.execute('INSERT INTO bench_operators SELECT %s, fastclust.factorize(op, %s, %s) FROM bench_operators WHERE name = \'dense\'',
                               [name, method, str(options).replace("'", '"')])
            operator = f"(SELECT op FROM bench_operators WHERE name = '{name}')"
            per_row = 1e6 / copies / ROWS
            single = (seconds(cursor, f'count(fastclust.assign({operator}, x))', copies, args.repeats) - scan) * per_row
            batch = (seconds(cursor, f'fastclust.sse_agg({operator}, x)', copies, args.repeats) - scan) * per_row
            lloyd = (seconds(cursor, f'(fastclust.lloyd_step_agg({operator}, x)).n', copies, args.repeats) - scan) * per_row
            cursor.execute(f"SELECT (fastclust.describe({operator}) ->> 'nonzeros')::int, (SELECT count(*) FROM bench_rows WHERE fastclust.assign({operator}, x) = "
                           "fastclust.assign((SELECT op FROM bench_operators WHERE name = 'dense'), x))")
            values, same = cursor.fetchone()
            found.append(dict(k=k, d=d, method=name, values=values, same=same / ROWS, assign=single, sse_agg=batch, lloyd_step_agg=lloyd, sgemm=sgemm))
    print('| k, d | method | values | labels kept | assign | x | sse_agg | lloyd_step_agg | x | sgemm |\n|' + '---|' * 10)
    for row in found:
        dense = next(r for r in found if r['k'] == row['k'] and r['method'] == 'dense')
        print(f"| {row['k']}, {row['d']} | {row['method']} | {row['values']} | {100 * row['same']:.0f} % | {row['assign']:.2f} | {dense['assign'] / row['assign']:.1f} | "
              f"{row['sse_agg']:.2f} | {row['lloyd_step_agg']:.2f} | {dense['lloyd_step_agg'] / row['lloyd_step_agg']:.1f} | {row['sgemm']:.2f} |")
    if args.csv:
        with open(args.csv, 'w', newline='') as file:
            writer = csv.DictWriter(file, found[0])
            writer.writeheader()
            writer.writerows(found)


if __name__ == '__main__':
    main()
