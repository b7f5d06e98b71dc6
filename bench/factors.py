"""Measures the quality of factorised centroids, for the tables of docs/quick-means.md.

tools/with-server.sh bash -c 'psql -d postgres -c "CREATE EXTENSION fastclust" &&
PGDATABASE=postgres python3 bench/factors.py --data FOLDER'

FOLDER has a load.py whose mnist() returns (images, labels). Everything runs in the server of the
PG* variables, which has the extension.
1. qkmeans without sparsity and budget: the objective after ten iterations, divided by the
objective of kmeans_agg. Good: 1.
2. MNIST, 256 centroids: the share of labels that each method of factorize leaves unchanged, on
images that were not used for training. Good: near 1.
"""
import argparse
import sys

import numpy as np
import psycopg2

from quickmeans import load_table


def blobs(rng, k, d, n, spread):
    return (rng.normal(size=(k, d))[rng.integers(k, size=n)] * spread + rng.normal(size=(n, d))).astype(np.float32)


def scattered(rng, k, d, n, noise):
    return (rng.uniform(-10, 10, size=(k, d))[rng.integers(k, size=n)] + noise * rng.normal(size=(n, d))).astype(np.float32)


def left_alone(cursor, name, k, rows):
    load_table(cursor, 'factors_rows', rows)
    cursor.execute('SELECT fastclust.kmeans_agg(x, %s)::text FROM factors_rows', [k])
    plain = cursor.fetchone()[0]
    cursor.execute('SELECT fastclust.sse_agg(%s::fastclust.fastop, x) FROM factors_rows', [plain])
    base = cursor.fetchone()[0]
    cursor.execute("SELECT objective, objective_of_means, nonzeros FROM fastclust.qkmeans_log('factors_rows', 'x', %s) ORDER BY iteration DESC LIMIT 1", [k])
    objective, means, values = cursor.fetchone()
    print(f'| {name} | {k}, {rows.shape[1]} | {values}, {k * rows.shape[1]} | {objective / base:.2f} | {means / base:.2f} |', flush=True)


def labels_kept(cursor, images):
    load_table(cursor, 'factors_rows', images[:7000])
    cursor.execute('DROP TABLE IF EXISTS factors_model; CREATE TABLE factors_model AS '
                   "SELECT fastclust.kmeans_agg(x, 256, '{\"n_init\": 1, \"iterations\": 20}') AS op FROM factors_rows WHERE id < 5000")
    print('\n| method | budget | values | relative error | labels kept |\n| --- | --- | --- | --- | --- |')
    for budget in (12544, 25088):
        for method, options in (('auto', ''), ('palm4msa', ''), ('svd', ''), ('prune', ''), ('palm4msa', ', "factors": 8')):
            cursor.execute('SELECT (fastclust.describe(fast)->>\'nonzeros\')::int, (fastclust.describe(fast)->>\'relative_error\')::float8, '
                           'avg((fastclust.assign(fast, x) = fastclust.assign(op, x))::int)::float8 '
                           'FROM (SELECT op, fastclust.factorize(op, %s, %s, CASE WHEN %s THEN sample END) AS fast '
                           'FROM factors_model, (SELECT fastclust.fastop_agg(x) AS sample FROM factors_rows WHERE id < 5000) s OFFSET 0) f, '
                           'factors_rows WHERE id >= 5000 GROUP BY fast', [method, f'{{"budget": {budget}{options}}}', method == 'auto'])
            values, error, kept = cursor.fetchone()
            print(f'| {method}{options.replace(chr(34), "")} | {budget} | {values} | {error:.2f} | {100 * kept:.0f} % |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    rng = np.random.default_rng(5)
    print('| rows | k, d | values, of k d | objective / k-means | means of its labels / k-means |\n| --- | --- | --- | --- | --- |')
    left_alone(cursor, 'random blobs, far apart', 20, blobs(rng, 20, 30, 10000, 5))
    left_alone(cursor, 'random blobs, far apart', 64, blobs(rng, 64, 64, 10000, 5))
    left_alone(cursor, 'random blobs, far apart', 128, scattered(rng, 128, 200, 10000, 1))
    left_alone(cursor, 'normal clusters that overlap', 30, blobs(rng, 30, 20, 10000, 0.7))
    left_alone(cursor, 'normal clusters that overlap', 256, scattered(rng, 256, 500, 10000, 12))
    if arguments.data:
        sys.path.insert(0, arguments.data)
        import load
        images = load.mnist()[0]
        left_alone(cursor, 'MNIST, 10000 images', 30, images[:10000])
        labels_kept(cursor, images)
    cursor.execute('DROP TABLE IF EXISTS factors_rows, factors_model')


if __name__ == '__main__':
    main()
