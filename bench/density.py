"""Measures the quality and time of method density on shapes, uniform rows and real sets, against
DBSCAN and over the number of rows. Prints Markdown tables.

python3 density.py [--only shapes,even,real,dbscan,scale] [--rows 20000] [--seeds 3] [--sets
moons,spirals] [--options JSON] [--data FOLDER] [--tables FOLDER] [--reference FILE] [--csv FILE]

Connects by PG* variables.
shapes    the adjusted Rand index, once with noise as a label of its own and once without the rows
          of noise, against HDBSCAN at the best of three settings for each set. HDBSCAN needs
          scikit-learn 1.3 or later, which Debian 12 lacks. FILE keeps its figures, computed once
          with `--only reference` in a chroot made by debootstrap --variant=minbase
          --include=python3-sklearn,python3-psycopg2 trixie. Good: as high as with HDBSCAN.
even      the number of sets of uniformly spread rows that are split into clusters. Good: 0.
real      adjusted Rand index on sets of scikit-learn, of a folder with a load.py, and of CSV files
          (class, columns), which real_sets.R writes from packages of R.
dbscan    200,000 points of the plane with the option scale, against PostGIS, in processor time.
scale     processor time of train and of predict, against k-means with as many centroids, and the
          memory of train.
"""
import argparse
import csv
import glob
import json
import os
import threading

import numpy as np
from sklearn import datasets

import tables


def rand_index(a, b):
    """Returns the adjusted Rand index (Hubert, Arabie 1985)."""
    pairs = lambda n: (n * (n - 1) / 2).sum()
    a, b = np.unique(a, return_inverse=True)[1], np.unique(b, return_inverse=True)[1]
    both = np.bincount(a * (b.max() + 1) + b).astype(float)
    both, one, other, all_pairs = pairs(both), pairs(np.bincount(a).astype(float)), pairs(np.bincount(b).astype(float)), len(a) * (len(a) - 1) / 2
    expected = one * other / all_pairs
    return 1.0 if one + other == 2 * expected else (both - expected) / ((one + other) / 2 - expected)


# ---- sets: functions that return rows and clusters, -1 for noise ----

def noisy(x, label, share, rng):
    """Returns the rows and labels after this share of the rows has become noise, uniform over the
    bounding box."""
    x, label, noise = x.copy(), label.copy(), rng.random(len(x)) < share
    low, high = x.min(0), x.max(0)
    x[noise] = rng.uniform(low - .1 * (high - low), high + .1 * (high - low), (noise.sum(), x.shape[1]))
    label[noise] = -1
    return x, label


def spirals(n, rng):
    label, t = rng.integers(0, 3, n), np.sqrt(rng.uniform(.04, 1, n)) * 3 * np.pi
    angle = t + label * 2 * np.pi / 3
    return np.c_[t * np.cos(angle), t * np.sin(angle)] + rng.normal(0, .35, (n, 2)), label


def chains(n, rng):
    """Returns rows and labels of five blobs in a chain; 2 % of the rows form thin bridges between
    neighbours."""
    centres = np.c_[np.arange(5) * 8., [0., 3, 0, 3, 0]]
    label = rng.integers(0, 5, n)
    x = centres[label] + rng.normal(0, 1, (n, 2))
    bridge, from_, at = rng.random(n) < .02, rng.integers(0, 4, n), rng.random(n)[:, None]
    between = centres[from_] * (1 - at) + centres[from_ + 1] * at + rng.normal(0, .15, (n, 2))
    x[bridge], label[bridge] = between[bridge], ((between[bridge][:, None] - centres[None]) ** 2).sum(2).argmin(1)
    return x, label


def densities(n, rng):
    label = rng.integers(0, 3, n)
    return np.array([[0, 0], [14, 0], [7, 10.]])[label] + rng.normal(0, 1, (n, 2)) * np.array([3., .95, .3])[label][:, None], label


def mixture(n, seed, d, k, side):
    rng = np.random.default_rng(100 * d + seed)
    centres, share = rng.uniform(0, side, (k, d)), rng.dirichlet(np.full(k, 3.))
    label = rng.choice(k, n, p=share)
    return noisy(centres[label] + rng.normal(0, 1, (n, d)) * rng.uniform(.6, 1.4, k)[label][:, None], label, .1, np.random.default_rng(1000 + seed))


def shapes(n):
    three, other = np.random.RandomState(170).uniform(-10, 10, (3, 2)), np.random.RandomState(8).uniform(-10, 10, (3, 2))
    base = {'moons': lambda s: datasets.make_moons(n, noise=.05, random_state=s),
            'circles': lambda s: datasets.make_circles(n, factor=.5, noise=.05, random_state=s),
            'blobs': lambda s: datasets.make_blobs(n, centers=other, random_state=s),
            'aniso': lambda s: (lambda x, y: (x @ np.array([[.6, -.6], [-.4, .8]]), y))(*datasets.make_blobs(n, centers=three, random_state=s)),
            'varied': lambda s: datasets.make_blobs(n, centers=three, cluster_std=[1., 2.5, .5], random_state=s),
            'spirals': lambda s: spirals(n, np.random.default_rng(s)), 'chains': lambda s: chains(n, np.random.default_rng(s)),
            'densities': lambda s: densities(n, np.random.default_rng(s))}
    sets = {f'{name}, {noise} %': (lambda f, share: lambda s: noisy(*f(s), share / 100, np.random.default_rng(1000 + s)))(f, noise)
            for name, f in base.items() for noise in (0, 10, 30)}
    return sets | {'mixture, 3 dimensions': lambda s: mixture(n, s, 3, 8, 14), 'mixture, 10 dimensions': lambda s: mixture(n, s, 10, 12, 8)}


def standardized(x):
    return (x - x.mean(0)) / np.where(x.std(0) > 0, x.std(0), 1)


def real(folder, csv_files):
    """Returns the real sets by name. Columns are standardised, except in iris, digits and spectral
    features, whose columns share one unit."""
    scaled = lambda f: lambda s: (lambda x, y: (standardized(np.asarray(x, dtype=float)), np.asarray(y, dtype=int)))(*f())
    sets = {name: (lambda f: lambda s: f(return_X_y=True))(getattr(datasets, 'load_' + name)) for name in ('iris', 'digits')}
    sets |= {name: scaled(lambda f=getattr(datasets, 'load_' + name): f(return_X_y=True)) for name in ('wine', 'breast_cancer')}
    for path in sorted(glob.glob(os.path.join(csv_files, '*.csv'))) if csv_files else []:
        sets[os.path.basename(path)[:-4]] = scaled(lambda path=path: (lambda t: (t[:, 1:], t[:, 0]))(np.loadtxt(path, delimiter=',')))
    if folder:
        load = tables.loader(folder)

        def some(x, label):
            chosen = np.random.default_rng(0).choice(len(x), 20000, replace=False)
            return x[chosen].astype(float), np.asarray(label, dtype=int)[chosen]
        sets |= {'mnist_spectral': lambda s: (lambda x, y: some(x[:, 1:], y))(*load.mnist_spectral()), 'kddcup99': lambda s: some(*load.kddcup99()),
                 'image_segmentation': scaled(load.image_segmentation)}
    return sets


# ---- runs ----

class Database:
    def __init__(self, options):
        import psycopg2
        self.connection = psycopg2.connect('')
        self.connection.autocommit = True
        self.options = options

    def ask(self, query, *arguments):
        with self.connection.cursor() as cursor:
            cursor.execute(query, arguments)
            return cursor.fetchall() if cursor.description else []

    def copy(self, x):
        tables.copy_rows(self.connection, 'density_rows', x.astype(np.float32))

    def labels(self, seed, **options):
        """Returns the cluster of each row that was copied last, -1 for noise, and the CPU seconds
        of train and predict."""
        train, predict = "SELECT fastclust.train('density', 'density_rows', 'x', method => 'density', options => %s)", "fastclust.predict('density', x)"
        seconds = self.used(train, json.dumps({'quiet': True, 'seed': seed, 'fresh': True} | self.options | options))[0] + self.used(f'SELECT count({predict}) FROM density_rows')[0]
        return np.array([row[0] for row in self.ask(f'SELECT COALESCE({predict}, -1) FROM density_rows ORDER BY id')]), seconds

    def used(self, query, *arguments):
        """Runs a query, and returns the CPU seconds of the backend and its peak memory in MB,
        without shared memory."""
        pid = self.connection.get_backend_pid()
        clock = lambda: sum(map(int, open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()[11:13])) / os.sysconf('SC_CLK_TCK')
        held, done = [0], threading.Event()

        def watch():
            while not done.wait(.02):
                held.append(next(int(line.split()[1]) / 1024 for line in open(f'/proc/{pid}/status') if line.startswith('RssAnon')))
        begun, watcher = clock(), threading.Thread(target=watch)
        watcher.start()
        self.ask(query, *arguments)
        done.set()
        watcher.join()
        return clock() - begun, max(held)


class Reference:
    """The adjusted Rand index of HDBSCAN at the best of three settings. A score is read from the
    file, or computed and appended to it if scikit-learn has HDBSCAN."""
    def __init__(self, path):
        self.path, self.best = path, {}
        if path and os.path.exists(path):
            self.best = {(name, int(rows), int(seed)): float(score) for name, rows, seed, score in csv.reader(open(path))}

    def score(self, name, seed, x, label):
        key = (name, len(x), seed)
        if key not in self.best:
            try:
                from sklearn.cluster import HDBSCAN
            except ImportError:
                return np.nan
            n = len(x)
            self.best[key] = max(rand_index(label, HDBSCAN(min_cluster_size=max(5, size), min_samples=samples).fit_predict(x))
                                 for size, samples in ((n // 200, None), (n // 100, None), (n // 100, max(1, n // 1000))))
            if self.path:
                with open(self.path, 'a') as out:
                    csv.writer(out).writerow([*key, self.best[key]])
        return self.best[key]


def refer(reference, sets, seeds):
    for name, make in sets.items():
        print(name, *(f'{reference.score(name, seed, *make(seed)):.3f}' for seed in seeds), flush=True)


def quality(database, reference, sets, seeds, writer):
    print('| set | ARI | without noise | clusters | noise left out | rows lost | HDBSCAN | ARI / HDBSCAN |\n|---|---|---|---|---|---|---|---|')
    means = []
    for name, make in sets.items():
        results = []
        for seed in seeds:
            x, label = make(seed)
            database.copy(x)
            found, kept = database.labels(seed)[0], label >= 0
            results.append((rand_index(label, found), rand_index(label[kept], found[kept]), found.max() + 1, (found[~kept] < 0).mean() if (~kept).any() else np.nan,
                            (found[kept] < 0).mean(), reference.score(name, seed, x, label)))
        all_, own, _, noise, lost, best = np.mean(results, axis=0)
        means.append((all_, own, best))
        writer.writerow([name, *np.mean(results, axis=0)])
        print(f'| {name} | {all_:.3f} | {own:.3f} | {", ".join(str(int(r[2])) for r in results)} | {noise:.2f} | {lost:.3f} | {best:.3f} | {all_ / best:.2f} |', flush=True)
    print('| mean | {:.3f} | {:.3f} | | | | {:.3f} | |'.format(*np.nanmean(means, axis=0)))


def even(database, rows, sets, writer):
    print('| dimensions | rows | sets | split |\n|---|---|---|---|')
    for d in (1, 2, 3, 10):
        split = 0
        for s in range(sets):
            database.copy(np.random.default_rng(s).random((rows, d)))
            split += database.labels(s)[0].max() > 0
        writer.writerow(['even', d, rows, sets, split])
        print(f'| {d} | {rows} | {sets} | {split} |', flush=True)


def dbscan(database, seeds, writer):
    """Prints a comparison with ST_ClusterDBSCAN of PostGIS. The option scale is 0.2 standard
    deviations of a cluster, with enough micro-clusters for rms radii below 0.07 standard
    deviations."""
    print('| set | micro-clusters | ARI to PostGIS | clusters | PostGIS | radius / scale | seconds | PostGIS | ratio |\n|---|---|---|---|---|---|---|---|---|')
    database.ask('CREATE EXTENSION IF NOT EXISTS postgis')
    n = 200000
    for name, make, eps, least, micro in (('moons, 10 %', shapes(n)['moons, 10 %'], .05, 100, 20000), ('blobs, 30 %', shapes(n)['blobs, 30 %'], .3, 100, 20000)):
        for seed in seeds:
            database.copy(make(seed)[0])
            found, ours = database.labels(seed, scale=eps, min_cluster_rows=least, micro_clusters=micro, standardize=False)
            radius = database.ask("SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY distance) FROM (SELECT fastclust.predict_distance('density', x) AS distance FROM density_rows) q")[0][0] / eps
            theirs = database.used('CREATE TEMP TABLE by_postgis AS SELECT id, COALESCE(ST_ClusterDBSCAN(ST_MakePoint(x[1], x[2]), %s, %s) OVER (), -1) AS c FROM density_rows', eps, least)[0]
            other = np.array([row[0] for row in database.ask('SELECT c FROM by_postgis ORDER BY id')])
            database.ask('DROP TABLE by_postgis')
            score = rand_index(found, other)
            writer.writerow(['dbscan', name, seed, score, ours, theirs])
            print(f'| {name} | {micro} | {score:.4f} | {found.max() + 1} | {other.max() + 1} | {radius:.3f} | {ours:.1f} | {theirs:.1f} | {ours / theirs:.2f} |', flush=True)


def scale(database, sizes, writer):
    database.ask('SET max_parallel_workers_per_gather = 0')
    print('| rows | dimensions | train k-means | density | ratio | MB | predict k-means | density | ratio |\n|---|---|---|---|---|---|---|---|---|')
    for rows, d in sizes:
        rng = np.random.default_rng(d)
        tables.copy_rows(database.connection, 'density_rows', (rng.uniform(0, 14, (20, d))[rng.integers(0, 20, rows)] + rng.standard_normal((rows, d))).astype(np.float32))
        used = []
        for method, k in (('kmeans', 2000), ('density', None)):
            used.append((*database.used("SELECT fastclust.train(%s, 'density_rows', 'x', %s, %s, '{\"quiet\": true, \"fresh\": true}')", method, k, method),
                         database.used("SELECT count(fastclust.predict(%s, x)) FROM density_rows", method)[0]))
        (km, _, kp), (dm, held, dp) = used
        writer.writerow(['scale', rows, d, km, dm, held, kp, dp])
        print(f'| {rows} | {d} | {km:.2f} | {dm:.2f} | {dm / km:.2f} | {held:.0f} | {kp:.2f} | {dp:.2f} | {dp / kp:.2f} |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', default='shapes,even,scale')
    parser.add_argument('--rows', type=int, default=20000)
    parser.add_argument('--seeds', type=int, default=3)
    parser.add_argument('--first-seed', type=int, default=0)
    parser.add_argument('--even', type=int, default=25, help='sets of even rows of each dimension')
    parser.add_argument('--sets', default='')
    parser.add_argument('--options', type=json.loads, default={})
    parser.add_argument('--data')
    parser.add_argument('--tables')
    parser.add_argument('--reference')
    parser.add_argument('--sizes', default='1000000x2,1000000x10', help='of scale')
    parser.add_argument('--csv', default='/dev/null')
    given = parser.parse_args()
    wanted = lambda sets: {name: f for name, f in sets.items() if any(part in name for part in given.sets.split(','))}
    seeds = range(given.first_seed, given.first_seed + given.seeds)
    reference = Reference(given.reference)
    if given.only == 'reference':
        refer(reference, wanted(shapes(given.rows)), seeds)
        return refer(reference, wanted(real(given.data, given.tables)), [0])
    database = Database(given.options)
    with open(given.csv, 'w') as out:
        writer = csv.writer(out)
        parts = {'shapes': lambda: quality(database, reference, wanted(shapes(given.rows)), seeds, writer), 'even': lambda: even(database, given.rows, given.even, writer),
                 'dbscan': lambda: dbscan(database, seeds, writer), 'scale': lambda: scale(database, [tuple(map(int, size.split('x'))) for size in given.sizes.split(',')], writer),
                 'real': lambda: quality(database, reference, wanted(real(given.data, given.tables)), [0], writer)}
        for part in given.only.split(','):
            parts[part]()


if __name__ == '__main__':
    main()
