"""Measures the quality of decoding with all defaults as RSE (relative SSE): the SSE, divided by the
SSE of the best of five k-means++ Lloyd runs of scikit-learn.

python3 quality.py [--data FOLDER] [--rows N] [--seeds N] [--only NAME,..] [--csv FILE]

Connects by PG* variables. Columns: the sketch alone, and the sketch with sample rows, each also
after one lloyd_step_agg; and k-means on 1000 sample rows alone. bench/results/quality.csv has the
means of a complete run in three digits; it is the source of docs/quality.svg and of the table in
docs/benchmarks.md.
Good: near 1, and below k-means on the sample rows.
"""
import argparse
import csv
import time

import numpy as np
import psycopg2
from sklearn.cluster import KMeans

import tables

GRID = [(3, 2), (10, 2), (10, 5), (10, 10), (10, 20), (30, 2), (30, 10)]
REAL = {'mnist_spectral': 'MNIST spectral features 10, 10', 'mnist': 'MNIST 10, 784 (projected)',
        'image_segmentation': 'image segmentation 7, 19'}


def sse(x, centroids, chunk=100000):
    total = 0.0
    norms = (centroids ** 2).sum(1)
    for i in range(0, len(x), chunk):
        part = x[i:i + chunk].astype(np.float64)
        total += ((part ** 2).sum(1) + (norms - 2 * part @ centroids.T).min(1)).clip(0).sum()
    return total


def data_sets(rows, folder):
    for k, n in GRID:
        yield f'mixture {k}, {n}', lambda s, k=k, n=n: (tables.ckm_mixture(k, n, rows, s), k, None)
    base = lambda s: tables.ckm_mixture(10, 10, rows, s)
    yield '10, 10 times 1000', lambda s: (base(s) * 1000, 10, None)
    yield '10, 10 times 0.001', lambda s: (base(s) / 1000, 10, None)
    yield '10, 10 shifted by 1e4', lambda s: (base(s) + np.float32(1e4), 10, None)
    yield '10, 10 anisotropic', lambda s: (tables.ckm_mixture(10, 10, rows, s, anisotropy=3.0), 10, None)
    yield '10, 10 unbalanced', lambda s: (tables.unbalanced(10, 10, rows, s), 10, None)

    def outliers(s):
        x, inliers = tables.with_outliers(10, 10, rows, s)
        return x, 10, inliers
    yield '10, 10 with 1 % outliers', outliers
    if folder:
        for name, load in tables.real_sets(folder).items():
            yield REAL[name], lambda s, load=load: (*load(), None)


def centroids_of(cursor, query):
    cursor.execute(query)
    return np.array([row[0] for row in cursor.fetchall()])


def sample_percent(rows):
    """Returns the percentage of rows in the sample: 1 %, or more for at least 3000 rows."""
    return max(1.0, min(100.0, 300000.0 / rows))


def run(connection, x, k, judged, seed):
    """Returns column -> RSE and the seconds of decoding for one data set and seed, as one dict."""
    cursor = connection.cursor()
    tables.copy_rows(connection, 'points', x)
    cursor.execute('DROP TABLE IF EXISTS spec, kept, model')
    cursor.execute(f'CREATE TABLE spec AS SELECT sketch_spec_agg(x, {k}) AS s FROM points '
                   f'TABLESAMPLE BERNOULLI ({sample_percent(len(x))}) REPEATABLE ({seed})')
    cursor.execute('CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points')
    best = min((KMeans(k, n_init=1, random_state=i).fit(judged) for i in range(5)), key=lambda m: m.inertia_)
    reference = sse(judged, best.cluster_centers_.astype(np.float64))
    result = {}
    for column, pilot in (('sketch', ''), ('pilot', ', sample => (SELECT s FROM spec)')):
        start = time.perf_counter()
        c = centroids_of(cursor, f'SELECT centroid FROM kept, decode(k, {k}{pilot}) ORDER BY cluster')
        result[column + ' s'] = time.perf_counter() - start
        result[column] = sse(judged, c) / reference
        cursor.execute(f'CREATE TABLE model AS SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM kept, decode(k, {k}{pilot})')
        c = centroids_of(cursor, 'SELECT c.centroid FROM (SELECT (lloyd_step_agg((SELECT op FROM model), x)).next AS op FROM points) l, '
                                 'centroids(l.op) c')
        result[column + ' + 1 scan'] = sse(judged, c) / reference
        cursor.execute('DROP TABLE model')
    rows = np.random.default_rng(seed).choice(len(x), min(1000, len(x)), replace=False)
    result['1000 rows'] = sse(judged, KMeans(k, n_init=5, random_state=seed).fit(x[rows]).cluster_centers_.astype(np.float64)) / reference
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--rows', type=int, default=300000)
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--only')
    parser.add_argument('--csv')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    connection.cursor().execute('SET search_path = public, fastclust; SET client_min_messages = warning')
    columns = ['sketch', 'sketch + 1 scan', 'pilot', 'pilot + 1 scan', '1000 rows', 'sketch s', 'pilot s']
    print(f"{'data':22s}" + ''.join(f'{c:>22s}' for c in columns), flush=True)
    out = csv.writer(open(args.csv, 'w')) if args.csv else None
    if out:
        out.writerow(['data', 'seeds'] + [f'{c} {what}' for c in columns for what in ('mean', 'max')])
    for name, make in data_sets(args.rows, args.data):
        if args.only and name not in args.only.split(';'):
            continue
        seeds = 3 if name in REAL.values() else args.seeds
        results = []
        for seed in range(min(seeds, args.seeds)):
            x, k, inliers = make(seed)
            results.append(run(connection, x, k, x if inliers is None else x[inliers], seed))
        stats = {c: np.array([r[c] for r in results]) for c in columns}
        print(f'{name:22s}' + ''.join(f'{stats[c].mean():14.4f} ({stats[c].max():.3f})'.rjust(22) for c in columns), flush=True)
        if out:
            out.writerow([name, len(results)] + [f'{v:.4f}' for c in columns for v in (stats[c].mean(), stats[c].max())])


if __name__ == '__main__':
    main()
