"""Measures exact re-ranking, and the search for the nearest neighbour in buckets, on real rows.

neighbours.py --data FOLDER [--docs DOCS] [--out OUT]

FOLDER has a load.py that returns MNIST: the first 60,000 rows are searched, and the queries are
other rows. Prints tables, and writes neighbours.csv in OUT and nearest-neighbours.svg in DOCS.
1. Labels and time of re-ranked operators, against the dense one. Good: the same labels in less
time.
2. Nearest neighbour: accuracy of the class of the found row, and median time of single queries,
each the minimum of three runs. The sequential scan and the buckets of k-means and of QK-means
search a table through a client. Brute force and ball tree of scikit-learn, and faiss if installed,
search rows in the memory of this process. Good: the accuracy of the scan in a part of its time.
"""
import argparse
import csv
import itertools
import json
import os
import statistics
import time

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import psycopg2

import pictures
import tables

TRAIN = 60000
PROBES = (1, 2, 4, 8)
TIMED = 300
FACTORED = {'factors': 2, 'sparsity': 5}


def seconds(cursor, query, repeat=3):
    least = float('inf')
    for _ in range(repeat):
        start = time.perf_counter()
        cursor.execute(query)
        cursor.fetchall()
        least = min(least, time.perf_counter() - start)
    return least


def fill(connection, x):
    """Fills the table digits with vectors stored uncompressed in their rows, as suits a table for
    search."""
    tables.copy_rows(connection, 'copied', x)
    connection.cursor().execute(
        'DROP TABLE IF EXISTS digits; CREATE UNLOGGED TABLE digits (id int, x real[]); ALTER TABLE digits ALTER x SET STORAGE PLAIN;'
        'INSERT INTO digits SELECT * FROM copied; DROP TABLE copied; ANALYZE digits')


def rerank(cursor, clusters, methods):
    cursor.execute("CREATE TABLE model AS SELECT kmeans_agg(x, %s, '{\"n_init\": 1, \"iterations\": 10}') AS op "
                   'FROM digits WHERE id %% 10 = 0', (clusters,))
    read = seconds(cursor, 'SELECT sum(fastclust_internal.clusters(op) + x[784]) FROM digits, model WHERE id < 10000')
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
              f'({(dense - read) / max(one - read, 1e-9):.2f} x without reading), in batches {dense_step / step:.2f} x', flush=True)


def ask(found_by, queries):
    """Returns (ids of the rows found, median seconds of TIMED queries, each the minimum of three
    runs)."""
    taken = []
    for query in queries[:TIMED]:
        least = float('inf')
        for _ in range(3):
            start = time.perf_counter()
            found_by(query)
            least = min(least, time.perf_counter() - start)
        taken.append(least)
    return np.array([found_by(query) for query in queries]), statistics.median(taken)


def nearest_of(x, queries):
    """Returns the index of the nearest row of each query, computed by one matrix product."""
    return np.argmin((x ** 2).sum(1)[None] - 2 * queries @ x.T, 1)


def by_statement(cursor, statement):
    def found_by(text):
        cursor.execute(statement, (text,))
        return cursor.fetchone()[0]
    return found_by


def in_server(cursor, clusters, queries):
    """Yields (name, group, values, ids found, median seconds) of each search in the server."""
    texts = ['{%s}' % ','.join('%g' % v for v in query) for query in queries]
    cursor.execute('PREPARE scan (real[]) AS SELECT id FROM digits ORDER BY l2_distance(x, $1) LIMIT 1')
    yield ('sequential scan', 'sequential scan', None, *ask(by_statement(cursor, 'EXECUTE scan (%s)'), texts[:10]))
    for group, aggregate, options in (('buckets of k-means', 'kmeans_agg', {'n_init': 1}), ('buckets of QK-means', 'qkmeans_agg', FACTORED)):
        options = json.dumps(dict(options, iterations=10))
        cursor.execute('DROP TABLE IF EXISTS fast; CREATE TABLE fast AS '
                       f'SELECT {aggregate}(x, %s, %s) AS op FROM digits WHERE id %% 4 = 0', (clusters, options))
        cursor.execute('ALTER TABLE digits DROP COLUMN IF EXISTS bucket, ADD bucket int')
        cursor.execute('UPDATE digits SET bucket = assign(op, x) FROM fast')
        cursor.execute('CREATE INDEX digits_bucket ON digits (bucket); CLUSTER digits USING digits_bucket; ANALYZE digits, fast')
        cursor.execute("SELECT (fastclust.describe(op) ->> 'nonzeros')::bigint FROM fast")
        values = cursor.fetchone()[0]
        cursor.execute('DEALLOCATE ALL; PREPARE search (real[], int) AS SELECT id FROM digits '
                       'WHERE bucket = ANY (nearest((SELECT op FROM fast), $1, $2)) ORDER BY l2_distance(x, $1) LIMIT 1')
        for probes in PROBES:
            yield (f'{probes}', group, values, *ask(by_statement(cursor, f'EXECUTE search (%s, {probes})'), texts))


def in_memory(x, clusters, queries, few):
    from sklearn.neighbors import NearestNeighbors
    for algorithm, name in (('brute', 'brute force, scikit-learn'), ('ball_tree', 'ball tree, scikit-learn')):
        tree = NearestNeighbors(n_neighbors=1, algorithm=algorithm, n_jobs=1).fit(x)
        yield (name, name, None, *ask(lambda q: tree.kneighbors(q[None], return_distance=False)[0, 0], queries[:few]))
    try:
        import faiss
    except ImportError:
        print('  faiss: not installed')
        return
    faiss.omp_set_num_threads(1)
    flat = faiss.IndexFlatL2(x.shape[1])
    flat.add(x)
    yield ('flat, faiss', 'flat, faiss', None, *ask(lambda q: flat.search(q[None], 1)[1][0, 0], queries[:few]))
    inverted = faiss.index_factory(x.shape[1], f'IVF{clusters},Flat')
    inverted.train(x[::4])
    inverted.add(x)
    for inverted.nprobe in PROBES:
        yield (f'{inverted.nprobe}', 'IVF, faiss', None, *ask(lambda q: inverted.search(q[None], 1)[1][0, 0], queries))


def neighbours(cursor, args, x, y, queries, labels):
    """Prints the table. Returns rows of (name, group, values, queries, accuracy, share of nearest
    rows found, milliseconds, ratio to the scan)."""
    truth = np.concatenate([nearest_of(x, part) for part in np.array_split(queries, 10)])
    results = [['exact', 'exact', None, len(queries), round(float((y[truth] == labels).mean()), 4), 1.0, None]]
    searches = itertools.chain(in_server(cursor, args.clusters, queries), in_memory(x, args.clusters, queries, args.few))
    for name, group, values, found, median in searches:
        n = len(found)
        results.append([name, group, values, n, round(float((y[found] == labels[:n]).mean()), 4),
                        round(float((found == truth[:n]).mean()), 3), round(median * 1e3, 3)])
    print(f'every nearest row: accuracy {results[0][4]} of {len(queries)} queries')
    print('| search | values | accuracy | nearest row found | median | |\n| --- | --- | --- | --- | --- | --- |')
    for row in results[1:]:
        row.append(round(results[1][6] / row[6], 1))
        search = row[0] if row[0] == row[1] else f'{row[1]}, {row[0]} of {args.clusters}'
        print(f'| {search} | {row[2] or ""} | {row[4]}{"" if row[3] == len(queries) else f" (of {row[3]})"} | {row[5]} | {row[6]:.2f} ms | {row[7]} x |')
    return results


def draw(results, docs):
    lines = {'buckets of k-means': ('#1f5f8b', 'o-'), 'buckets of QK-means': ('#d98032', 's-'), 'IVF, faiss': ('#bbbbbb', '^-')}
    figure, axis = plt.subplots(figsize=(7.5, 4))
    for group, (colour, line) in lines.items():
        mine = [r for r in results if r[1] == group]
        if mine:
            axis.plot([r[6] for r in mine], [r[4] for r in mine], line, color=colour, ms=5, label=f'{group}: {", ".join(r[0] for r in mine)} of them')
    # Exact searches are crosses with names on the left; the leftmost is on top, so no lines cross.
    whole = sorted((r for r in results[1:] if r[1] not in lines), key=lambda r: r[6])
    for i, row in enumerate(whole):
        axis.plot(row[6], results[0][4], 'x', color='#1f5f8b' if row[1] == 'sequential scan' else 'black', ms=6)
        axis.annotate(row[0], (row[6], results[0][4]), xytext=(0.62 * whole[0][6], results[0][4] - 0.0022 * (i + 1)), ha='right', va='center',
                      fontsize=8, arrowprops={'arrowstyle': '-', 'color': '#999999', 'lw': .6, 'relpos': (1, .5)})
    axis.set_xscale('log')
    axis.xaxis.set_major_formatter('{x:g}')
    axis.set_xlabel('milliseconds a query (median)')
    axis.set_ylabel('accuracy of 1-NN')
    axis.spines[['top', 'right']].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc='lower right')
    figure.tight_layout()
    pictures.save(figure, f'{docs}/nearest-neighbours.svg')


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--rows', type=int, default=TRAIN)
    parser.add_argument('--queries', type=int, default=2000)
    parser.add_argument('--few', type=int, default=50, help='queries of the searches that take a tenth of a second')
    parser.add_argument('--clusters', type=int, default=256)
    parser.add_argument('--only', choices=('rerank', 'search'))
    parser.add_argument('--out', default=here + '/../build/bench')
    parser.add_argument('--docs', default=here + '/../docs')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    x, y = tables.loader(args.data).mnist()
    x = np.ascontiguousarray(x, np.float32)
    rng = np.random.default_rng(0)
    stored = rng.permutation(TRAIN)[:args.rows]
    asked = TRAIN + rng.permutation(len(x) - TRAIN)[:args.queries]
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust')
    cursor.execute('SET search_path = fastclust, public; SET max_parallel_workers_per_gather = 0; SET client_min_messages = warning')
    fill(connection, x[stored])
    if args.only != 'search':
        rerank(cursor, args.clusters, [('svd', '{"budget": 17000, "rerank": "exact"}'), ('svd', '{"budget": 17000, "rerank": 4}'),
                                       ('svd', '{"budget": 34000, "rerank": "exact"}')])
    if args.only == 'rerank':
        return
    print(f'1-NN, {args.rows} rows')
    results = neighbours(cursor, args, x[stored], y[stored], x[asked], y[asked])
    with open(f'{args.out}/neighbours.csv', 'w') as file:
        out = csv.writer(file, lineterminator='\n')
        out.writerow(['search', 'group', 'values', 'queries', 'accuracy', 'true neighbours', 'milliseconds', 'times faster'])
        out.writerows(results)
    draw(results, args.docs)


if __name__ == '__main__':
    main()
