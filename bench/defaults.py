"""train by all defaults against scikit-learn's best of 10 starts: SSE over all rows, the reported objective, seconds.

python3 defaults.py [--data FOLDER] [--rows N] [--only NAME,..] [--k K,..] [--methods auto,compressive] [--starts 10] [--out FOLDER]
connects by PG* variables.  A cell is SSE / SSE of the best start; "reported" is the model's objective over its true one; "seconds" is
train over (export of the table by COPY + one start).  FOLDER keeps scikit-learn's results, so that a second run is quick.
"""
import argparse
import io
import json
import os
import time

import numpy as np
import psycopg2
from sklearn.cluster import KMeans

import tables
from quality import centroids_of, sse


def pareto(rows, d, seed, shape=2.0):
    rng = np.random.default_rng(seed)
    x = tables.ckm_mixture(10, d, rows, seed)
    return (x * rng.pareto(shape, (rows, 1)) ** 0.5 + rng.pareto(shape, (rows, d))).astype(np.float32)


def ordered(x):
    """Rows as a table that grew cluster by cluster."""
    return x[np.argsort(x[:, 0], kind='stable')]


def correlated(rows, d, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((rows, d)) @ (rng.standard_normal((d, d)) * np.geomspace(3, .1, d))).astype(np.float32)


def duplicated(rows, d, seed):
    """Small whole numbers: many equal rows."""
    return np.round(tables.ckm_mixture(20, d, rows, seed)).astype(np.float32)


def power_law(rows, d, seed, k=60):
    w = np.arange(1, k + 1) ** -1.0
    return tables.ckm_mixture(k, d, rows, seed, weights=w / w.sum(), spread=1.0)


def generators(rows):
    return {
        'mixture': lambda: tables.ckm_mixture(10, 10, rows, 0),
        'mixture by cluster': lambda: ordered(tables.ckm_mixture(10, 10, rows, 1)),
        'overlapping': lambda: tables.ckm_mixture(20, 10, rows, 2, spread=.3),
        'unbalanced': lambda: tables.unbalanced(10, 10, rows, 3),
        'power law': lambda: power_law(rows, 10, 4),
        'heavy tails': lambda: pareto(rows, 5, 5),
        'heavier tails, by size': lambda: ordered(pareto(rows, 5, 6, 1.2)),
        'one Gaussian': lambda: correlated(rows, 10, 7),
        'uniform square': lambda: np.random.default_rng(8).random((rows, 2), dtype=np.float32),
        'duplicates': lambda: duplicated(rows, 4, 9),
        'far from 0': lambda: (tables.ckm_mixture(10, 5, rows, 10) + np.float32(1e5)),
    }


def data_sets(rows, folder):
    if folder:
        for name, load in tables.real_sets(folder).items():
            yield name, lambda load=load: load()[0]
        yield 'kddcup99', lambda: tables.loader(folder).kddcup99()[0]
    yield from generators(rows).items()


def reference(x, k, starts, cache):
    """SSE of the best start, and seconds of one."""
    if str(k) not in cache:
        begun = time.perf_counter()
        best = min((KMeans(k, n_init=1, random_state=i).fit(x) for i in range(starts)), key=lambda m: m.inertia_)
        cache[str(k)] = [sse(x, best.cluster_centers_.astype(np.float64)), (time.perf_counter() - begun) / starts]
    return cache[str(k)]


def export_seconds(cursor):
    begun = time.perf_counter()
    out = io.StringIO()
    cursor.copy_expert('COPY (SELECT x FROM points) TO STDOUT', out)
    np.fromstring(out.getvalue().replace('}\n{', ',').strip('{}\n'), sep=',', dtype=np.float32)
    return time.perf_counter() - begun


def trained(cursor, k, method):
    """Seconds, centroids and reported objective."""
    cursor.execute('SELECT count(drop_model(model)) FROM models')
    begun = time.perf_counter()
    cursor.execute("SELECT train('bench', 'points', 'x', %s, %s)", (k, method))
    seconds = time.perf_counter() - begun
    c = centroids_of(cursor, "SELECT c.centroid FROM model_versions v, centroids(v.operator) c WHERE v.model = 'bench' ORDER BY c.cluster")
    cursor.execute("SELECT objective, n FROM model_versions WHERE model = 'bench'")
    objective, n = cursor.fetchone()
    return seconds, c, objective * n


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--rows', type=int, default=1000000)
    parser.add_argument('--only')
    parser.add_argument('--k', default='5,10,20,50,100')
    parser.add_argument('--methods', default='auto,compressive')
    parser.add_argument('--starts', type=int, default=10)
    parser.add_argument('--out', default='build/bench/defaults')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning')
    ratios = {}
    print(f"{'data':24s}{'k':>5s}{'method':>13s}{'SSE':>9s}{'reported':>10s}{'seconds':>9s}", flush=True)
    for name, make in data_sets(args.rows, args.data):
        if args.only and name not in args.only.split(','):
            continue
        x = np.ascontiguousarray(make(), dtype=np.float32)
        tables.copy_rows(connection, 'points', x)
        cursor.execute('VACUUM ANALYZE points')
        path = os.path.join(args.out, f"{name.replace(' ', '_')}_{len(x)}_{args.starts}.json")
        cache = json.load(open(path)) if os.path.exists(path) else {}
        for k in map(int, args.k.split(',')):
            best, one_start = reference(x, k, args.starts, cache)
            json.dump(cache, open(path, 'w'))
            for method in args.methods.split(','):
                seconds, c, objective = trained(cursor, k, method)
                true = sse(x, c)
                ratios.setdefault(method, []).append(true / best)
                print(f'{name:24s}{k:5d}{method:>13s}{true / best:9.4f}{objective / true:10.4f}'
                      f'{seconds / (export_seconds(cursor) + one_start):9.3f}', flush=True)
    for method, r in ratios.items():
        print(f'{method}: mean {np.mean(r):.4f}, worst {np.max(r):.4f}, cells {len(r)}')


if __name__ == '__main__':
    main()
