"""Repeats the decoding experiments of the papers: measures the RSE of every decoder over sketch
size, bandwidth, starts and dimension.

python3 decoders.py FIGURE.. [--data FOLDER] [--seeds N] [--out FOLDER]

Connects by PG* variables, and writes one CSV file for each figure.
RSE (relative SSE) is the SSE, divided by the SSE of the best of five k-means++ Lloyd runs of
scikit-learn. Good: near 1 from the sketch sizes on that the papers report.

size      compressive K-means, Fig. 2: RSE over m / (K n) for the mixtures of its section 4.1
width2    sketch-and-shift, Fig. 1: RSE over sigma for three clusters in two dimensions
width6    sketch-and-shift, Fig. 5 and 6: RSE over sigma for three clusters in six dimensions, with
          several numbers of starts
window    RSE over sigma in standard deviations of a cluster, for three laws of frequencies: ten
          clusters in ten dimensions, far apart or close together, m = 1000
model     sketch-and-shift, Fig. 7: point atoms against Gaussian atoms, clusters far and near
spectral  sketch-and-shift, Fig. 8: MNIST spectral features (needs --data)
starts    sketch-and-shift, Fig. 9: the number of starts needed over the dimension
rows      compressive K-means, Fig. 4: seconds over the number of rows, against scikit-learn with
          1 and 5 starts
growth    seconds of decode over k, n and m, from which decoder_pictures.py fits exponents
path      the number of clusters found: the lowest k whose cost is at most 3 times the lowest cost
limits    RSE of auto over k and n at m = 5 K n, to find where a sketch is no longer enough
"""
import argparse
import csv
import json
import os
import time

import numpy as np
import psycopg2
from sklearn.cluster import KMeans

import tables
from quality import sse

PAPER = {'starts': 1, 'init': 'range', 'polish': False}
SIGMAS = [.01, .02, .03, .05, .07, .1, .15, .2, .3, .4, .5, .65, .8, 1.0]
cursor = None


def reference(x, k):
    best = min((KMeans(k, n_init=1, random_state=i).fit(x) for i in range(5)), key=lambda m: m.inertia_)
    return sse(x, best.cluster_centers_.astype(np.float64))


def load(x):
    tables.copy_rows(cursor.connection, 'points', x)


def sketch_with(spec):
    """Sketches the points with a specification given as SQL. An aggregate that computes the
    specification reads 3000 rows or 1 % of them, whichever is more."""
    cursor.execute('SELECT count(*) FROM points')
    percent = min(100.0, max(1.0, 300000 / cursor.fetchone()[0]))
    sample = f'FROM points TABLESAMPLE BERNOULLI ({percent}) REPEATABLE (1)' if spec.startswith('sketch_spec_agg') else ''
    cursor.execute('DROP TABLE IF EXISTS spec, kept')
    cursor.execute(f'CREATE TABLE spec AS SELECT {spec} AS s {sample}')
    cursor.execute('CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points')


def decoded(k, decoder, pilot=False, **options):
    """Returns the centroids that a decoder finds in the current sketch."""
    cursor.execute('SELECT centroid FROM kept, decode(k, %s, %s, %s' + (', sample => (SELECT s FROM spec)' if pilot else '') + ')',
                   (k, decoder, json.dumps(options)))
    return np.array([row[0] for row in cursor.fetchall()])


def decode(x, k, decoder, best, pilot=False, **options):
    """Returns the RSE and the seconds of one decoding of the current sketch."""
    start = time.perf_counter()
    centroids = decoded(k, decoder, pilot, **options)
    seconds = time.perf_counter() - start
    return sse(x, centroids) / best, seconds


def size(args):
    yield 'k', 'n', 'ratio', 'decoder', 'seed', 'rse', 'seconds'
    for k in (5, 10, 20):
        for n in (5, 10, 20):
            for seed in range(args.seeds):
                x = tables.ckm_mixture(k, n, args.rows, seed)
                best = reference(x, k)
                load(x)
                for ratio in (1, 1.5, 2, 3, 5, 7, 10):
                    m = int(np.ceil(ratio * k * n))
                    sketch_with(f"sketch_spec_agg(x, {k}, '{{\"law\": \"adapted_radius\", \"frequencies\": {m}, \"seed\": {seed}}}'::jsonb)")
                    if ratio >= 2:
                        yield k, n, ratio, 'clompr, as in the paper', seed, *decode(x, k, 'clompr', best, seed=seed, **PAPER)
                    yield k, n, ratio, 'clompr', seed, *decode(x, k, 'clompr', best, seed=seed)
                    sketch_with(f"sketch_spec_agg(x, {k}, '{{\"frequencies\": {m}, \"seed\": {seed}}}'::jsonb)")
                    yield k, n, ratio, 'auto', seed, *decode(x, k, 'auto', best, seed=seed)


def over_sigma(x, k, sizes, decoders, seeds, best, sigmas, law='gaussian'):
    """Yields (m, sigma, decoder, seed, RSE, seconds). One scan for each m and seed computes the
    sketches of all sigmas."""
    for m in sizes:
        for seed in seeds if isinstance(seeds, range) else range(seeds):
            sketch_with(f"sketch_spec({x.shape[1]}, {m}, {sigmas[0]}, '{law}', {seed}, options => '{{\"sigmas\": {sigmas}}}')")
            for sigma in sigmas:
                for name, (decoder, options) in decoders.items():
                    yield m, sigma, name, seed, *decode(x, k, decoder, best, sigma=sigma, seed=seed, **options)


SHIFTS = {'shift': ('shift', {'polish': False}), 'shift, gaussian': ('shift', {'model': 'gaussian', 'polish': False}), 'discretized': ('discretized', {}),
          'clompr, as in the paper': ('clompr', PAPER), 'auto': ('auto', {})}


def width2(args):
    yield 'm', 'sigma', 'decoder', 'seed', 'rse', 'seconds'
    x = tables.three_clusters(2, 100000, 0)
    load(x)
    yield from over_sigma(x, 3, (30, 200, 1000), SHIFTS, args.seeds, reference(x, 3), SIGMAS)


def width6(args):
    yield 'm', 'sigma', 'decoder', 'seed', 'rse', 'seconds'
    x = tables.three_clusters(6, 100000, 0)
    load(x)
    decoders = {f'shift, {starts} starts': ('shift', {'starts': starts, 'polish': False}) for starts in (10, 100, 1000)}
    decoders.update({name: SHIFTS[name] for name in ('shift, gaussian', 'clompr, as in the paper', 'auto')})
    yield from over_sigma(x, 3, (200, 1000), decoders, args.seeds, reference(x, 3), SIGMAS[3:])


WIDTHS = [.5, .75, 1, 1.25, 1.5, 2, 2.5, 3, 4, 5, 6]


def window(args):
    yield 'clusters', 'law', 'm', 'sigma', 'decoder', 'seed', 'rse', 'seconds'
    decoders = {'shift': ('shift', {}), 'shift, as in the paper': ('shift', {'polish': False}), 'clompr': ('clompr', {}), 'auto': ('auto', {})}
    for clusters, spread in (('apart', 3), ('neighbours', 1.5)):
        for seed in range(args.seeds):
            x = tables.ckm_mixture(10, 10, args.rows, seed, spread=spread)
            load(x)
            best = reference(x, 10)
            for law in ('gaussian', 'adapted_radius', 'adapted_radius_kmeans'):
                for row in over_sigma(x, 10, (1000,), decoders, range(seed, seed + 1), best, WIDTHS, law):
                    yield clusters, law, *row


def model(args):
    yield 'clusters', 'm', 'sigma', 'decoder', 'seed', 'rse', 'seconds'
    for near in (False, True):
        x = tables.three_clusters(2, 100000, 0, near)
        load(x)
        decoders = {name: SHIFTS[name] for name in ('shift', 'shift, gaussian')}
        for row in over_sigma(x, 3, (30, 100, 200, 1000), decoders, args.seeds, reference(x, 3), SIGMAS):
            yield 'near' if near else 'far', *row


def spectral(args):
    yield 'm', 'sigma', 'decoder', 'seed', 'rse', 'seconds'
    if not args.data:
        return
    x, k = tables.real_sets(args.data)['mnist_spectral']()
    load(x)
    best = reference(x, k)
    decoders = {name: SHIFTS[name] for name in ('shift', 'clompr, as in the paper', 'auto')}
    yield from over_sigma(x, k, (500, 5000) if args.seeds > 2 else (500,), decoders, args.seeds, best, [.2, .3, .4, .5, .6, .8, 1.0, 1.3, 1.6, 2.0])
    for seed in range(args.seeds):
        sketch_with(f"sketch_spec_agg(x, {k}, '{{\"frequencies\": 500, \"seed\": {seed}}}'::jsonb)")
        yield 500, 0, 'auto, turnkey', seed, *decode(x, k, 'auto', best, seed=seed)
        yield 500, 0, 'auto, turnkey with pilot', seed, *decode(x, k, 'auto', best, pilot=True, seed=seed)


def two_clusters(n):
    """Returns the rows of appendix C.1 of sketch-and-shift: 10,000 rows of two clusters in n
    dimensions."""
    rng = np.random.default_rng(n)
    centers = np.zeros((2, n))
    centers[0, 0], centers[1, 0] = -.5, .5
    return (centers[rng.integers(0, 2, 10000)] + .1 * rng.standard_normal((10000, n))).astype(np.float32)


def starts(args):
    yield 'n', 'sigma', 'starts', 'seed', 'rse', 'seconds'
    for n in (2, 3, 5, 10, 20):
        x = two_clusters(n)
        load(x)
        best = reference(x, 2)
        for sigma in (.2, .4):
            for seed in range(args.seeds):
                sketch_with(f"sketch_spec({n}, {10 * n}, {sigma}, 'gaussian', {seed})")
                for count in (1, 10, 100, 1000):
                    yield n, sigma, count, seed, *decode(x, 2, 'shift', best, starts=count, polish=False, seed=seed)


def beside_kmeans(x, best, seed):
    """Yields (method, RSE, seconds) of k-means and of decoding with ten clusters, on the table
    points."""
    for inits in (1, 5):
        start = time.perf_counter()
        fitted = KMeans(10, n_init=inits, random_state=seed).fit(x)
        yield f'scikit-learn, {inits} starts', sse(x, fitted.cluster_centers_.astype(float)) / best, time.perf_counter() - start
    cursor.execute('DROP TABLE IF EXISTS spec, kept')
    start = time.perf_counter()
    sample = f'TABLESAMPLE BERNOULLI ({min(100, 300000 / len(x))}) REPEATABLE (1)'
    cursor.execute(f'CREATE TABLE spec AS SELECT sketch_spec_agg(x, 10) AS s FROM points {sample}')
    cursor.execute('CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points')
    scanned = time.perf_counter() - start
    rse, seconds = decode(x, 10, 'auto', best)
    yield 'sample, sketch, decode', rse, scanned + seconds
    yield 'decode alone', rse, seconds


def rows(args):
    yield 'rows', 'method', 'seed', 'rse', 'seconds'
    for count in (10000, 30000, 100000, 300000, 1000000):
        x = tables.ckm_mixture(10, 10, count, 0)
        load(x)
        best = reference(x, 10)
        for seed in range(args.seeds):
            for method, rse, seconds in beside_kmeans(x, best, seed):
                yield count, method, seed, rse, seconds


def growth(args):
    yield 'k', 'n', 'm', 'decoder', 'seed', 'rse', 'seconds'
    for k, n, m in ((5, 10, 1000), (10, 10, 1000), (20, 10, 1000), (40, 10, 1000), (10, 5, 1000), (10, 20, 1000), (10, 40, 1000),
                    (10, 10, 500), (10, 10, 2000), (10, 10, 4000), (50, 20, 5000)):
        x = tables.ckm_mixture(k, n, 50000, 1)
        load(x)
        best = reference(x, k)
        sketch_with(f"sketch_spec_agg(x, {k}, '{{\"law\": \"adapted_radius\", \"frequencies\": {m}, \"dimensions\": {n}}}'::jsonb)")
        for decoder in ('auto', 'clompr', 'shift'):
            if decoder == 'auto' or k * n * m <= 40 * 10 * 1000:
                for seed in range(min(args.seeds, 3)):
                    yield k, n, m, decoder, seed, *decode(x, k, decoder, best, seed=seed, **({'starts': 200} if decoder == 'shift' else {}))


def limits(args):
    yield 'k', 'n', 'pilot', 'seed', 'rse', 'seconds', 'relative_residual'
    for k, n in ((10, 5), (30, 5), (60, 5), (100, 5), (100, 10), (200, 10), (10, 50), (10, 200), (30, 100)):
        for seed in range(min(args.seeds, 3)):
            x = tables.ckm_mixture(k, n, args.rows, seed)
            best = reference(x, k)
            load(x)
            sketch_with(f'sketch_spec_agg(x, {k})')
            for pilot in (False, True):
                result = decode(x, k, 'auto', best, pilot=pilot)
                cursor.execute(f'SELECT relative_residual FROM kept, decode(k, {k}) WHERE cluster = 0')
                yield k, n, pilot, seed, *result, cursor.fetchone()[0]


def path(args):
    yield 'k', 'n', 'seed', 'found'
    for k, n in ((3, 2), (5, 5), (10, 5), (10, 10), (10, 2), (20, 5)):
        for seed in range(min(args.seeds, 4)):
            load(tables.ckm_mixture(k, n, args.rows, seed))
            sketch_with(f'sketch_spec_agg(x, {2 * k})')
            cursor.execute('SELECT min(g) FROM (SELECT g, cost, min(cost) OVER () AS lowest FROM kept, generate_series(1, %s) g, '
                           'decode(kept.k, g) f WHERE cluster = 0) t WHERE cost <= 3 * lowest', (2 * k,))
            yield k, n, seed, cursor.fetchone()[0]


FIGURES = {f.__name__: f for f in (size, width2, width6, window, model, spectral, starts, rows, growth, limits, path)}


def main():
    global cursor
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('figures', nargs='+', choices=list(FIGURES) + ['all'])
    parser.add_argument('--data')
    parser.add_argument('--rows', type=int, default=100000)
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--out', default='.')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning')
    for name in FIGURES if 'all' in args.figures else args.figures:
        file = os.path.join(args.out, f'{name}.csv')
        with open(file, 'w') as stream:
            out = csv.writer(stream)
            for row in FIGURES[name](args):
                out.writerow(f'{v:.5g}' if isinstance(v, float) else v for v in row)
                stream.flush()
        print(file, flush=True)


if __name__ == '__main__':
    main()
