"""Compares the quality and time of train with all defaults with the best of ten starts of
scikit-learn.

python3 defaults.py [--data FOLDER] [--rows N] [--only NAME,..] [--kinds KIND,..] [--k K,..]
[--methods auto,compressive] [--starts 10] [--tables 5] [--seeds N] [--effort EFFORT] [--out FOLDER]

Connects by PG* variables. FOLDER keeps the results of scikit-learn, so that a second run is
quick. --tables is the number of tables for each law of planted clusters, each with its own seed.
With --seeds, each table is trained with option seed = 1 .. N instead of the default seed; a last
column shows the seed. --effort sets option effort.
"SSE" is the SSE of the model, divided by the SSE of the best start. "reported" is the objective
that the model reports, divided by its true objective. "seconds" is the time of train, divided by
the time to export the table by COPY and run one start. Tables with planted clusters also have the
adjusted Rand index (ARI).
Good: an SSE near 1 or below, and a reported objective of 1.

`ordinary` vectors are tried with each value of --k, all other kinds only with the number of their
classes:
    wide        200 to 1000 dimensions, well separated
    small       few rows of 64 to 500 dimensions
    sizes       clusters of sizes 1 to 100
    tails       heavy tails: Pareto, Student's t and lognormal laws, of numbers or of distances
    survey      answers from 1 to 5 to many questions, in large groups that differ little
    skewed      160 or 300 topics whose sizes follow a power law, dense or of length 1
    one-hot     20 to 300 dimensions, as vectors and as texts
    NULLs       columns of numbers with 5 to 60 % NULLs at random, by cluster, or in blocks
                (with_nulls of tables.py)
    told        NULLs depend on the cluster; in half of the tables nothing else separates two of
                the clusters
For a table of columns without NULLs, the SSE is computed on the encoded rows. For a table with
NULLs, it is the sum over the cells that are not NULL, in standard deviations, and a row belongs to
the centroid that is nearest in these cells. The reference is then the minimum of the best of ten
starts on median-imputed rows and on mean-imputed rows. The ARI of the reference is computed on
median-imputed rows; for `told` they have an indicator column for each column with over 4 % NULLs.
"""
import argparse
import io
import json
import os
import time
from dataclasses import dataclass

import numpy as np
import psycopg2
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score

import tables
from quality import centroids_of, sse
from topics import planted as planted_topics


@dataclass
class Rows:
    """A table to cluster. x: rows x d; classes: planted clusters or None; k: numbers of clusters to
    try, None for the values of --k; columns: whether the table has d columns instead of one column
    of vectors; flags: whether its NULLs depend on the cluster."""
    x: np.ndarray
    classes: np.ndarray = None
    k: tuple = None
    columns: bool = False
    flags: bool = False


def pareto(rows, d, seed, shape=2.0):
    rng = np.random.default_rng(seed)
    x = tables.ckm_mixture(10, d, rows, seed)
    return (x * rng.pareto(shape, (rows, 1)) ** 0.5 + rng.pareto(shape, (rows, d))).astype(np.float32)


def tails(law, rows, d, seed):
    """Returns rows whose SSE depends on few of them: independent heavy-tailed numbers, or rows of
    ten clusters whose distances from 0 have a heavy tail."""
    rng = np.random.default_rng(seed)
    draw = {'pareto': lambda *size: rng.pareto(2.5, size),
            't3': lambda *size: rng.standard_t(3, size),
            'lognormal': lambda *size: rng.lognormal(0, 1.2, size),
            'pareto 1.5': lambda *size: rng.pareto(1.5, size)}[law.removesuffix(' rays')]
    if law.endswith(' rays'):
        return Rows(tables.ckm_mixture(10, d, rows, seed) * draw(rows, 1).astype(np.float32), k=(5, 20, 50))
    return Rows(draw(rows, d).astype(np.float32), k=(5, 20, 50))


def survey(rows, questions, groups, seed):
    rng = np.random.default_rng(seed)
    mean = 3 + .7 * rng.standard_normal((groups, questions))
    mood = .5 * rng.standard_normal((rows, 1))
    answers = mean[rng.integers(0, groups, rows)] + mood + rng.standard_normal((rows, questions))
    return Rows(np.clip(np.round(answers), 1, 5).astype(np.float32), k=(2, 3, 5))


def skewed(topics, d, rows, seed, unit=False):
    """Returns rows around `topics` directions, with sizes by a power law."""
    x, _ = planted_topics(rows, d, topics, seed)
    if unit:
        x /= np.linalg.norm(x, axis=1, keepdims=True)
    return Rows(x, k=(topics,))


def ordered(x):
    """Returns the rows sorted by their first value, like a table that was filled cluster by
    cluster."""
    return x[np.argsort(x[:, 0], kind='stable')]


def correlated(rows, d, seed):
    rng = np.random.default_rng(seed)
    return (rng.standard_normal((rows, d)) @ (rng.standard_normal((d, d)) * np.geomspace(3, .1, d))).astype(np.float32)


def duplicated(rows, d, seed):
    """Returns rows of small whole numbers, many of them equal."""
    return np.round(tables.ckm_mixture(20, d, rows, seed)).astype(np.float32)


def power_law(rows, d, seed, k=60):
    w = np.arange(1, k + 1) ** -1.0
    return tables.ckm_mixture(k, d, rows, seed, weights=w / w.sum(), spread=1.0)


def ordinary(rows):
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


def wide(k, d, rows, seed, weights=None):
    x, classes = tables.separated(k, d, min(rows, 10_000_000 // d), seed, weights)
    return Rows(x, classes, (k,))


def expression(rows, d, k, seed):
    """Returns few rows of many correlated columns, like gene expression of tissues; a third of the
    columns depends on the class."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, k, rows)
    means = rng.standard_normal((k, d)) * (rng.random(d) < .33)
    x = means[classes] + rng.standard_normal((rows, 8)) @ rng.standard_normal((8, d)) * .15 + rng.standard_normal((rows, d)) * .7
    return Rows(x.astype(np.float32), classes, (k,))


def one_hot(d, rows, seed, texts=False):
    codes, levels, classes = tables.category_law(d, np.random.default_rng(seed), classes=5, told=.6)(rows)
    return Rows(np.char.add('v', codes.astype(str)) if texts else tables.one_hot(codes, levels), classes, (5,), texts)


def nulls(share, how, rows, seed):
    """Returns rows with NULLs, whose columns have scales from 0.01 to 1000."""
    rng = np.random.default_rng(seed)
    means, classes = rng.standard_normal((10, 10)) * np.sqrt(1.5 * 10 ** (1 / 10)), rng.integers(0, 10, rows)
    x = tables.with_nulls(means[classes] + rng.standard_normal((rows, 10)), classes, share, how, rng)
    return Rows(x * np.geomspace(.01, 1000, 10), classes, (5, 10, 20), True)


def told(rows, seed):
    rng = np.random.default_rng(seed)
    k, d = int(rng.integers(3, 7)), int(rng.integers(4, 11))
    x, classes = tables.separated(k, d, rows, seed, gap=8)
    if seed % 2:
        x[classes == 0] += x[classes == k - 1].mean(0) - x[classes == 0].mean(0)
    return Rows(tables.with_nulls(x, classes, 0, 'told', rng) * np.geomspace(.01, 1000, d), classes, (k,), True, True)


def planted(rows, count):
    """Yields (kind, name, function that returns Rows) of the generated tables with planted
    clusters."""
    sizes = np.geomspace(1, 100, 10) / np.geomspace(1, 100, 10).sum()
    for seed in range(count):
        for d in (200, 300, 1000):
            for k in (5, 10, 20):
                yield 'wide', f'separated {k}, {d}', lambda k=k, d=d, s=seed: wide(k, d, rows, s)
        for d in (2, 10, 300):
            yield 'sizes', f'sizes 1:100, {d}', lambda d=d, s=seed: wide(10, d, rows, s, sizes)
        for law in ('pareto', 'pareto 1.5', 't3', 'lognormal', 'pareto rays', 't3 rays'):
            for n, d in ((30_000, 5), (200_000, 2), (200_000, 10)):
                yield 'tails', f'{law} {n}, {d}', lambda w=law, n=n, d=d, s=seed: tails(w, min(rows, n), d, s)
        for n, questions, groups in ((2000, 20, 2), (100_000, 20, 4), (100_000, 50, 8)):
            yield 'survey', f'survey {n}, {questions}', lambda n=n, q=questions, g=groups, s=seed: survey(min(rows, n), q, g, s)
        for topics, n, d in ((160, 100_000, 32), (160, 40_000, 128), (300, 100_000, 64)):
            yield 'skewed', f'topics {topics}, {d}', lambda t=topics, n=n, d=d, s=seed: skewed(t, d, min(rows, n), s)
            yield 'skewed', f'topics {topics}, {d}, unit', lambda t=topics, n=n, d=d, s=seed: skewed(t, d, min(rows, n), s, True)
        yield 'small', 'tissue-like 200 x 500', lambda s=seed: expression(200, 500, 7, s)
        yield 'small', 'DNA-like 3000 x 180', lambda s=seed: one_hot(180, 3000, s)
        for d in (20, 60, 100, 300):
            yield 'one-hot', f'one-hot {d}', lambda d=d, s=seed: one_hot(d, min(rows, 6_000_000 // d), s)
            yield 'one-hot', f'texts {d}', lambda d=d, s=seed: one_hot(d, min(rows, 6_000_000 // d), s, True)
        for share in (.05, .15, .3, .6):
            for how in ('random', 'cluster', 'block'):
                yield 'NULLs', f'NULLs {share:.0%} by {how}', lambda a=share, h=how, s=seed: nulls(a, h, min(rows, 100_000), s)
        for s in range(4 * seed, 4 * seed + 4):
            yield 'told', f'NULLs tell, {s}', lambda s=s: told(min(rows, 20_000), s)


def data_sets(rows, count, folder):
    """Yields (kind, name, function that returns Rows) of all tables."""
    if folder:
        for name, load in tables.real_sets(folder).items():
            yield 'ordinary', name, lambda load=load: Rows(load()[0])
        yield 'ordinary', 'kddcup99', lambda: Rows(tables.loader(folder).kddcup99()[0])
    for name, make in ordinary(rows).items():
        yield 'ordinary', name, lambda make=make: Rows(make())
    yield 'small', 'digits', lambda: Rows(load_digits().data.astype(np.float32), load_digits().target, (10, 20))
    for kind, name, make in planted(rows, count):
        yield kind, name, make


# ---- rows with NULLs ----

def observed_sse(x, centroids, chunk=100000):
    """Returns the SSE over the cells that are not NULL; each row belongs to the centroid that is
    nearest in these cells."""
    total = 0.0
    for i in range(0, len(x), chunk):
        there = ~np.isnan(x[i:i + chunk])
        part = np.where(there, x[i:i + chunk], 0)
        distances = (part ** 2).sum(1)[:, None] + there @ (centroids ** 2).T - 2 * part @ centroids.T
        total += distances.min(1).sum()
    return total


def imputed(x, middle):
    return np.where(np.isnan(x), middle(x, axis=0), x)


# ---- the reference ----

def best_start(x, k, starts):
    return min((KMeans(k, n_init=1, random_state=i).fit(x) for i in range(starts)), key=lambda m: m.inertia_)


def reference(x, rows, k, starts):
    """Returns the SSE of the best start, the seconds of one start, and the ARI of its labels, or
    None without classes."""
    begun = time.perf_counter()
    if not np.isnan(x).any():
        best = best_start(x, k, starts)
        seconds, total, labels = time.perf_counter() - begun, sse(x, best.cluster_centers_.astype(np.float64)), best.labels_
    else:
        both = [imputed(x, np.nanmedian), imputed(x, np.nanmean)]
        total = min(observed_sse(x, best_start(y, k, starts).cluster_centers_) for y in both)
        seconds = (time.perf_counter() - begun) / 2
        flags = np.isnan(x)[:, np.isnan(x).mean(0) > .04] if rows.flags else np.empty((len(x), 0))
        labels = best_start(np.hstack([both[0], (flags - flags.mean(0)) / flags.std(0)]), k, starts).labels_
    return total, seconds / starts, None if rows.classes is None else adjusted_rand_score(rows.classes, labels)


# ---- fastclust ----

def export_seconds(cursor):
    begun = time.perf_counter()
    out = io.StringIO()
    cursor.copy_expert('COPY (SELECT x FROM points) TO STDOUT', out)
    np.fromstring(out.getvalue().replace('}\n{', ',').strip('{}\n'), sep=',', dtype=np.float32)
    return time.perf_counter() - begun


def trained(cursor, rows, k, method, options):
    """Trains the model, and returns the seconds and the reported objective."""
    columns = [f'c{j}' for j in range(rows.x.shape[1])] if rows.columns else 'x'
    cursor.execute("SELECT count(drop_model(model)) FROM models WHERE model = 'bench'")
    begun = time.perf_counter()
    cursor.execute("SELECT train('bench', 'points', %s, %s, %s, %s)", (columns, k, method, json.dumps(options)))
    seconds = time.perf_counter() - begun
    cursor.execute("SELECT objective FROM model_versions WHERE model = 'bench'")
    return seconds, cursor.fetchone()[0]


def encoded(cursor, rows):
    """Returns rows and centroids in the same coordinates: as stored for vectors, encoded for texts,
    and in standard deviations for columns of numbers."""
    if not rows.columns:
        return rows.x, centroids_of(cursor, "SELECT c.centroid FROM model_versions v, centroids(v.operator) c WHERE v.model = 'bench' ORDER BY c.cluster")
    if rows.x.dtype.kind != 'f':
        return (tables.read_vectors(cursor.connection, "SELECT encode_row(model_encoder('bench'), p) FROM points p ORDER BY id"),
                centroids_of(cursor, "SELECT centroid FROM centroids(model_operator('bench')) ORDER BY cluster"))
    cursor.execute("SELECT cluster, substr(feature, 2)::int, value FROM model_centroids WHERE model = 'bench' AND feature ~ '^c[0-9]+$'")
    mean, deviation = np.nanmean(rows.x, 0), np.nanstd(rows.x, 0)
    centroids = {}
    for cluster, feature, value in cursor.fetchall():
        centroids.setdefault(cluster, mean.copy())[feature] = value
    return (rows.x - mean) / deviation, (np.array(list(centroids.values())) - mean) / deviation


def labels(cursor, rows):
    """Returns the label of each row; rows without any value have none and share the label -1."""
    cursor.execute(f"SELECT coalesce(predict('bench', {'p' if rows.columns else 'x'}), -1) FROM points p ORDER BY id")
    return np.array(cursor.fetchall())[:, 0]


def measure(cursor, name, rows, k, method, options, cache, starts):
    """Prints one line of the table. Returns the SSE relative to the best start, the ARI of the
    model, and the ARI of the best start, or None without planted clusters."""
    seconds, objective = trained(cursor, rows, k, method, options)
    x, centroids = encoded(cursor, rows)
    if str(k) not in cache:
        cache[str(k)] = reference(x, rows, k, starts)
    best, one_start, best_ari = cache[str(k)]
    judge = observed_sse if np.isnan(x).any() else sse
    true, ari = judge(x, centroids), None
    planted = rows.classes is not None and k == len(np.unique(rows.classes))
    if planted:
        ari = adjusted_rand_score(rows.classes, labels(cursor, rows))
    relative = seconds / (export_seconds(cursor) + one_start) if not rows.columns else np.nan
    print(f'{name:24s}{k:5d}{method:>13s}{true / best:9.4f}{objective * len(x) / true:10.4f}{relative:9.3f}' +
          (f'{ari:8.3f}{best_ari:8.3f}' if planted else '') + (f"{options['seed']:6d}" if 'seed' in options else ''), flush=True)
    return true / best, ari, best_ari if planted else None


def summary(results):
    for (kind, method), cells in results.items():
        ratio = np.array([c[0] for c in cells])
        line = (f'{kind}, {method}: SSE mean {ratio.mean():.4f}, worst {ratio.max():.4f}, '
                f'above 1.01 in {(ratio > 1.01).sum()} of {len(cells)} cells')
        ari = np.array([c[1:] for c in cells if c[1] is not None], dtype=float).reshape(-1, 2)
        if len(ari):
            line += (f'; ARI mean {ari[:, 0].mean():.3f} ({ari[:, 1].mean():.3f}), worst {ari[:, 0].min():.3f}, '
                     f'at least .99 in {(ari[:, 0] >= .99).sum()}, more than .03 below in {(ari[:, 0] < ari[:, 1] - .03).sum()} of {len(ari)}')
        print(line)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--rows', type=int, default=1000000)
    parser.add_argument('--only')
    parser.add_argument('--kinds')
    parser.add_argument('--k', default='5,10,20,50,100')
    parser.add_argument('--methods', default='auto,compressive')
    parser.add_argument('--starts', type=int, default=10)
    parser.add_argument('--tables', type=int, default=5)
    parser.add_argument('--seeds', type=int)
    parser.add_argument('--effort')
    parser.add_argument('--out', default='build/bench/defaults')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning')
    seeds = [{} if args.effort is None else {'effort': args.effort}]
    if args.seeds is not None:
        seeds = [{**seeds[0], 'seed': seed} for seed in range(1, args.seeds + 1)]
    results, made = {}, {}
    print(f"{'data':24s}{'k':>5s}{'method':>13s}{'SSE':>9s}{'reported':>10s}{'seconds':>9s}{'ARI':>8s}{'best':>8s}", flush=True)
    for kind, name, make in data_sets(args.rows, args.tables, args.data):
        seed = made[name] = made.get(name, -1) + 1
        if args.only and name not in args.only.split(';') or args.kinds and kind not in args.kinds.split(','):
            continue
        rows = make()
        rows.x = rows.x if rows.columns else np.ascontiguousarray(rows.x, dtype=np.float32)
        (tables.copy_columns if rows.columns else tables.copy_rows)(connection, 'points', rows.x)
        cursor.execute('VACUUM points')
        path = os.path.join(args.out, f"{name.replace(' ', '_')}_{seed}_{len(rows.x)}_{args.starts}.json")
        cache = json.load(open(path)) if os.path.exists(path) else {}
        for k in rows.k or map(int, args.k.split(',')):
            for method in args.methods.split(','):
                for options in seeds:
                    results.setdefault((kind, method), []).append(measure(cursor, name, rows, k, method, options, cache, args.starts))
                    json.dump(cache, open(path, 'w'))
    summary(results)


if __name__ == '__main__':
    main()
