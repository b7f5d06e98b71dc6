"""Compares the CPU time to sketch and to assign sparse rows (sparsevec) and the same rows as dense
arrays (real[]).

sparse.py [--rows N] [--repeats N]

Runs in the server of the PG* variables, which has pgvector and is on this machine. Rows have 128
elements in 20,000 dimensions and form ten clusters. The specification comes from sketch_spec_agg,
and the operators have 10 and 200 centroids. Figures are CPU microseconds for a row: the time of two
passes over the rows minus the time of one pass, so that work done once does not count, as the
minimum of the repeats. Dense rows are stored uncompressed, which is faster.
Good: sparse rows take a small part of the time of dense ones.
"""
import argparse
import io

import numpy as np
import psycopg2

D, NONZEROS, CLUSTERS = 20000, 128, 10


def load(cursor, rows):
    random = np.random.default_rng(1)
    cursor.execute('CREATE EXTENSION IF NOT EXISTS vector; CREATE EXTENSION IF NOT EXISTS fastclust;'
                   'DROP TABLE IF EXISTS bench_sparse; CREATE TABLE bench_sparse (i int, s sparsevec, f real[]);'
                   'ALTER TABLE bench_sparse ALTER f SET STORAGE EXTERNAL')
    lines = []
    for i in range(rows):
        cluster = i % CLUSTERS
        own = cluster * 64 + random.choice(64, NONZEROS // 2, replace=False)
        others = 1000 + random.choice(D - 1000, NONZEROS // 2, replace=False)
        places = np.sort(np.concatenate([own, others]))
        values = random.exponential(size=NONZEROS).astype(np.float32) + 2 * (places < 1000)
        lines.append(f"{i}\t{{{','.join(f'{p + 1}:{v!s}' for p, v in zip(places, values))}}}/{D}\n")
    cursor.copy_expert('COPY bench_sparse (i, s) FROM STDIN', io.StringIO(''.join(lines)))
    cursor.execute('UPDATE bench_sparse SET f = fastclust_internal.scaled_vector(NULL, NULL, s)::real[]')
    cursor.execute('VACUUM ANALYZE bench_sparse')


def backend_seconds(cursor):
    with open(f'/proc/{cursor.connection.info.backend_pid}/schedstat') as file:
        return int(file.read().split()[0]) * 1e-9


def pass_seconds(cursor, expression, row, passes):
    start = backend_seconds(cursor)
    source = ' UNION ALL '.join([f'SELECT {row} AS x FROM bench_sparse'] * passes)
    cursor.execute(f'SELECT {expression} FROM ({source}) r')
    return backend_seconds(cursor) - start


def microseconds(cursor, expression, row, rows, repeats):
    once = min(pass_seconds(cursor, expression, row, 1) for _ in range(repeats))
    return (min(pass_seconds(cursor, expression, row, 2) for _ in range(repeats)) - once) / rows * 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument('--rows', type=int, default=1000)
    parser.add_argument('--repeats', type=int, default=3)
    options = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    load(cursor, options.rows)
    cursor.execute("SET search_path = public, fastclust; SET max_parallel_workers_per_gather = 0; SET jit = off; SET fastclust.memory_budget = '2GB';"
                   f'CREATE TEMP TABLE spec AS SELECT sketch_spec_agg(s, {CLUSTERS}) AS spec FROM bench_sparse WHERE i < 500;'
                   'CREATE TEMP TABLE small AS SELECT fastop_agg(f ORDER BY i) AS op FROM bench_sparse WHERE i < 10;'
                   'CREATE TEMP TABLE large AS SELECT fastop_agg(f ORDER BY i) AS op FROM bench_sparse WHERE i < 200')
    for name, expression in (('sketch_agg', '(sketch_agg(x, (SELECT spec FROM spec))) IS NULL'),
                             ('assign, 10 centroids', 'sum(assign((SELECT op FROM small), x))'),
                             ('assign, 200 centroids', 'sum(assign((SELECT op FROM large), x))')):
        sparse = microseconds(cursor, expression, 's', options.rows, options.repeats)
        dense = microseconds(cursor, expression, 'f', options.rows, options.repeats)
        print(f'{name:<24} {sparse:8.1f} us sparse {dense:8.1f} us dense   {dense / sparse:6.1f} x')
    cursor.execute('SELECT sketch_agg(s, spec) = sketch_agg(f, spec) FROM bench_sparse, spec')
    print('the same sketch:', cursor.fetchone()[0])


if __name__ == '__main__':
    main()
