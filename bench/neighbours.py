"""1-NN and exact re-ranking on real rows: neighbours.py --data FOLDER [--rows N] [--queries N]

FOLDER holds the MNIST rows behind a load.py.  Prints label agreement and time of a re-ranked
operator beside the dense one, then accuracy and median time of 1-NN through buckets beside the
sequential scan in the same server, scikit-learn's ball tree and faiss (when installed).
"""
import argparse
import importlib.util
import io
import os
import statistics
import time

import numpy as np
import psycopg2


def mnist(folder):
    spec = importlib.util.spec_from_file_location('load', os.path.join(folder, 'load.py'))
    load = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load)
    return load


def seconds(cursor, query, repeat=3):
    least = float('inf')
    for _ in range(repeat):
        start = time.perf_counter()
        cursor.execute(query)
        cursor.fetchall()
        least = min(least, time.perf_counter() - start)
    return least


def fill(cursor, x, y):
    cursor.execute('CREATE TABLE digits (id int PRIMARY KEY, label int, x real[])')
    cursor.execute('ALTER TABLE digits ALTER x SET STORAGE PLAIN')
    text = io.StringIO()
    for i, (row, label) in enumerate(zip(x, y)):
        text.write('%d\t%d\t{%s}\n' % (i, label, ','.join('%g' % v for v in row)))
    text.seek(0)
    cursor.copy_from(text, 'digits', columns=('id', 'label', 'x'))


def rerank(cursor, clusters, methods):
    cursor.execute("CREATE TABLE model AS SELECT kmeans_agg(x, %s, '{\"n_init\": 1, \"iterations\": 10}') AS op "
                   'FROM digits WHERE id %% 10 = 0', (clusters,))
    read = seconds(cursor, 'SELECT sum(clusters(op) + x[784]) FROM digits, model WHERE id < 10000')
    dense = seconds(cursor, 'SELECT sum(assign(op, x)) FROM digits, model WHERE id < 10000')
    dense_step = seconds(cursor, 'SELECT sse_agg((SELECT op FROM model), x) FROM digits WHERE id < 10000')
    print(f'k = {clusters}: reading {read * 100:.2f} us a row, dense assign {dense * 100:.2f}, in batches {dense_step * 100:.2f}')
    for method, options in methods:
        cursor.execute('DROP TABLE IF EXISTS fast')
        cursor.execute('CREATE TABLE fast AS SELECT factorize(op, %s, %s) AS op FROM model', (method, options))
        cursor.execute('SELECT count(*) FILTER (WHERE assign(m.op, x) <> assign(f.op, x)) FROM digits, model m, fast f')
        wrong = cursor.fetchone()[0]
        one = seconds(cursor, 'SELECT sum(assign(op, x)) FROM digits, fast WHERE id < 10000')
        step = seconds(cursor, 'SELECT sse_agg((SELECT op FROM fast), x) FROM digits WHERE id < 10000')
        print(f'  {method} {options}: {wrong} labels differ; assign {one * 100:.2f} us = {dense / one:.2f} x '
              f'({(dense - read) / max(one - read, 1e-9):.2f} x without reading), in batches {dense_step / step:.2f} x')


def neighbours(cursor, clusters, probes, queries, labels):
    cursor.execute('DROP TABLE IF EXISTS fast')
    cursor.execute("CREATE TABLE fast AS SELECT kmeans_agg(x, %s, '{\"n_init\": 1, \"iterations\": 10}') AS op "
                   'FROM digits WHERE id %% 4 = 0', (clusters,))
    cursor.execute('ALTER TABLE digits ADD bucket int')
    cursor.execute('UPDATE digits SET bucket = assign(op, x) FROM fast')
    cursor.execute('CREATE INDEX ON digits (bucket)')
    cursor.execute('CLUSTER digits USING digits_bucket_idx')
    cursor.execute('ANALYZE digits')
    cursor.execute('PREPARE scan (real[]) AS SELECT label FROM digits ORDER BY l2_distance(x, $1) LIMIT 1')
    cursor.execute('PREPARE search (real[], int) AS SELECT label FROM digits WHERE bucket = ANY (probe((SELECT op FROM fast), $1, $2)) '
                   'ORDER BY l2_distance(x, $1) LIMIT 1')
    times = {}
    for name, statement, some in [('sequential scan', 'EXECUTE scan (%s)', 20)] + [
            (f'{p} buckets', f'EXECUTE search (%s, {p})', len(queries)) for p in probes]:
        right = 0
        taken = []
        for query, label in zip(queries[:some], labels[:some]):
            start = time.perf_counter()
            cursor.execute(statement, (query.tolist(),))
            right += cursor.fetchone()[0] == label
            taken.append(time.perf_counter() - start)
        times[name] = statistics.median(taken)
        print(f'  {name}: accuracy {right / some:.4f} over {some}, median {times[name] * 1e3:.2f} ms, '
              f"{times['sequential scan'] / times[name]:.1f} x the scan")


def peers(x, y, queries, labels):
    from sklearn.neighbors import KNeighborsClassifier
    start = time.perf_counter()
    tree = KNeighborsClassifier(1, algorithm='ball_tree').fit(x, y)
    built = time.perf_counter() - start
    start = time.perf_counter()
    right = (tree.predict(queries) == labels).mean()
    print(f'  ball tree (scikit-learn, rows in memory): accuracy {right:.4f}, '
          f'{(time.perf_counter() - start) / len(queries) * 1e3:.2f} ms a query, {built:.1f} s to build')
    try:
        import faiss
    except ImportError:
        print('  faiss: not installed')
        return
    index = faiss.index_factory(x.shape[1], 'IVF256,Flat')
    index.train(x)
    index.add(x)
    for index.nprobe in (1, 4):
        start = time.perf_counter()
        found = np.array([y[index.search(q[None], 1)[1][0, 0]] for q in queries])
        print(f'  faiss IVF256, {index.nprobe} probes: accuracy {(found == labels).mean():.4f}, '
              f'{(time.perf_counter() - start) / len(queries) * 1e3:.2f} ms a query')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--rows', type=int, default=60000)
    parser.add_argument('--queries', type=int, default=1000)
    parser.add_argument('--clusters', type=int, default=256)
    args = parser.parse_args()
    x, y = mnist(args.data).mnist()
    x = np.ascontiguousarray(x, np.float32)
    order = np.random.RandomState(0).permutation(len(x))
    stored, asked = order[:args.rows], order[args.rows:args.rows + args.queries]
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust')
    cursor.execute('SET search_path = fastclust, public')
    cursor.execute('SET max_parallel_workers_per_gather = 0')
    fill(cursor, x[stored], y[stored])
    rerank(cursor, args.clusters, [('svd', '{"budget": 17000, "rerank": "exact"}'), ('svd', '{"budget": 17000, "rerank": 4}'),
                                   ('svd', '{"budget": 34000, "rerank": "exact"}')])
    print(f'1-NN, {args.rows} rows')
    neighbours(cursor, args.clusters, (1, 2, 4, 8), x[asked], y[asked])
    peers(x[stored], y[stored], x[asked[:200]], y[asked[:200]])


main()
