"""Compares figures of the papers' methods with what an earlier build reached (regressions.csv); exits 1
if one is worse or missing. papers.py compares them with the papers.

python3 regressions.py --programs FOLDER [--data FOLDER] [--only PART,..] [--record]

Connects by PG* variables. --programs has kernel and palm, built from kernel.c and palm.c. Parts
that need --data are skipped without it.
A part yields (row, figure[, kind]) for a seed; the figure of a row is the mean over the seeds of
the part. --record measures at least RECORDED seeds, and writes regressions.csv: the mean over the seeds
of a plain run, the spread (standard deviation) over all seeds, and the tolerance max(3 spread /
sqrt(seeds of a plain run), the share of the figure for its kind). Seeds determine all figures
except times and memory: the same code on the same machine repeats them, and other code of the
same quality differs by less than the tolerance.
RSE (relative SSE) is the SSE, divided by the SSE of the best of five k-means++ Lloyd runs of
scikit-learn. Times are ratios within one run.
"""
import argparse
import csv
import functools
import json
import os
import re
import subprocess
import sys
import time
import traceback

import numpy as np
import psycopg2
from scipy.linalg import hadamard
from sklearn.metrics import adjusted_rand_score
from sklearn.svm import LinearSVC

import assignment
import decoders
import iterations
import kernel_clustering as kernels
import neighbours
import nystroem
import quickmeans
import rows
import tables
from decoders import PAPER, SHIFTS, SIGMAS, decode, load, reference, sketch_with
from quality import sse

HERE = os.path.dirname(os.path.abspath(__file__))
TABLE = HERE + '/regressions.csv'
COLUMNS = ('paper', 'part', 'row', 'figure', 'spread', 'seeds', 'direction', 'tolerance')
RECORDED = 5
# kind: better direction, minimum tolerance as a share of the figure
KINDS = {'lower': ('lower', 0.002), 'higher': ('higher', 0.002), 'count': ('higher', 0.1), 'time': ('lower', 0.5), 'memory': ('lower', 0.2)}
QUICK, COMPRESSIVE, SHIFT, KERNEL = 'QuicK-means', 'Compressive k-means', 'Sketch-and-shift', 'One-pass kernel k-means'
PARTS = {}
cursor = args = None


# --- Calls of the extension's functions, except those made by other modules of bench. ---

def value(query, *arguments):
    cursor.execute(query, arguments or None)
    return cursor.fetchone()[0]


def spec(d, m, sigma, law, seed, **options):
    return f"sketch_spec({d}, {m}, {sigma}, '{law}', {seed}, options => '{json.dumps(options)}')"


def spec_of_rows(k, **options):
    return f"sketch_spec_agg(x, {k}, '{json.dumps(options)}'::jsonb)"


def sigma_of_spec():
    return value("SELECT (describe(s)->>'sigma')::float8 FROM spec")


def bytes_of_sketch():
    return value('SELECT pg_column_size(k) FROM kept')


def seconds_of_sketch():
    return seconds('SELECT sketch_agg(x, (SELECT s FROM spec)) IS NULL FROM points')


def covariances(k, **options):
    cursor.execute("SELECT covariance FROM kept, decode_covariances(k, %s, 'shift', %s)", (k, json.dumps(options)))
    return [np.array(row[0], dtype=float) for row in cursor.fetchall()]


def operator(centroids):
    return value("SELECT fastop_agg(ARRAY(SELECT jsonb_array_elements_text(c)::float8) ORDER BY o) FROM jsonb_array_elements(%s) WITH ORDINALITY u(c, o)",
                 json.dumps(np.asarray(centroids).tolist()))


def factorized(operator, method, **options):
    return value('SELECT factorize(%s::fastop, %s, %s)', operator, method, json.dumps(options))


def relative_error(operator):
    return value("SELECT (describe(%s::fastop)->>'relative_error')::float8", operator)


def values_of(operator):
    return value("SELECT (fastclust.describe(%s::fastop) ->> 'nonzeros')::bigint", operator)


def sse_of(operator, table):
    return value(f'SELECT sse_agg(%s::fastop, x) FROM {table}', operator)


def kmeans(table, k, **options):
    return value(f'SELECT kmeans_agg(x, %s, %s) FROM {table}', k, json.dumps(options))


def assign(name):
    """Returns a call of assign with an operator of rows.py."""
    return f"fastclust.assign((SELECT op FROM bench_operators WHERE name = '{name}'), x)"


def seconds_of_features(kind):
    return seconds(f"SELECT count(kernel_features(map, x)) FROM test, maps WHERE kind = '{kind}'")


# --- Parts and their rows. ---

def part(paper, seeds=3, data=False):
    def declare(measure):
        measure.paper, measure.seeds, measure.data = paper, seeds, data
        PARTS[measure.__name__] = measure
        return measure
    return declare


def seconds(query, repeats=5):
    """Returns the minimum CPU seconds of the backend for a query."""
    least = np.inf
    for _ in range(repeats):
        start = rows.backend_seconds(cursor)
        cursor.execute(query)
        cursor.fetchall()
        least = min(least, rows.backend_seconds(cursor) - start)
    return least


def images(k, count, side, seed, noise=1.5):
    """Returns noisy copies of k smooth images of variance 1, whose spectrum falls as 1 /
    frequency."""
    rng = np.random.default_rng(seed)
    frequency = np.hypot(*np.meshgrid(np.fft.fftfreq(side), np.fft.fftfreq(side)))
    smooth = np.fft.ifft2(np.fft.fft2(rng.standard_normal((k, side, side))) / np.maximum(frequency, 1 / side)).real.reshape(k, -1)
    smooth /= smooth.std()
    return (smooth[rng.integers(0, k, count)] + noise * rng.standard_normal((count, side * side))).astype(np.float32)


@functools.lru_cache(2)
def mnist():
    x, y = tables.loader(args.data).mnist()
    return x.astype(np.float32), y


# QuicK-means

def learned(x, k, seed, runs):
    """Runs QK-means and k-means from the same starting rows. Yields the figures of each run (name,
    options)."""
    quickmeans.load_table(cursor, 'images', x)
    start = x[np.random.default_rng(seed).choice(len(x), k, replace=False)].astype(float)
    base, _ = quickmeans.kmeans(cursor, start)
    total = ((x - x.mean(0, dtype=float)) ** 2).sum()
    for name, options in runs:
        steps = quickmeans.qkmeans(cursor, start, options)
        objective, of_means, values = steps[-1][1:4]
        yield f'{name}: largest rise', max(0.0, *(b[1] / a[1] - 1 for a, b in zip(steps, steps[1:])))
        yield f'{name}: objective / k-means', objective / base[-1]
        yield f'{name}: of the means / k-means', of_means / base[-1]
        yield f'{name}: values / (k d)', values / (k * x.shape[1])
        yield f'{name}: error of centroids', np.sqrt((objective - of_means) / (total - of_means))


def quarter(k, d):
    return {'factors': 2, 'sparsity': 5, 'budget': k * d // 4}


@part(QUICK)
def objective(seed):
    """Yields the figures of Alg. 1 and Prop. 3.2: 8000 rows in 256 dimensions, 32 clusters."""
    yield from learned(images(32, 8000, 16, seed), 32, seed, [
        ('Alg. 1, a quarter of the values', quarter(32, 256)),
        ('Alg. 1, log2 factors, sparsity 3', {'sparsity': 3})])


@part(QUICK)
def starts(seed):
    """Yields the figures of supplement E: factors started by palm4MSA or hierarchically, from
    uniform rows or k-means++."""
    x = images(32, 8000, 16, seed)
    quickmeans.load_table(cursor, 'images', x)
    base = reference(x, 32)
    for start in ('palm4msa', 'hierarchical'):
        for init in ('uniform', 'k-means++'):
            steps = last_steps({'start': start, 'init': init, 'seed': seed, 'sparsity': 3, 'factors': 5})
            yield f'Suppl. E, {start} from {init}: objective / k-means', steps[1] / base


def last_steps(options):
    """Returns the last iteration of QK-means with 32 clusters on the images, as a row of
    quickmeans.qkmeans_from."""
    return quickmeans.qkmeans_from(cursor, 32, options)[-1]


@part(QUICK)
def table(seed):
    """Yields the figures of Alg. 1 on a table: QK-means against factors of finished centroids, the
    objective against the SSE of the operator, and the number of clusters left empty."""
    x = images(32, 8000, 16, seed)
    quickmeans.load_table(cursor, 'images', x)
    options = quarter(32, 256)
    base = reference(x, 32)
    dense = kmeans('images', 32, seed=seed)
    final = last_steps(dict(options, seed=seed))
    yield 'on a table: kmeans_agg / k-means', sse_of(dense, 'images') / base
    yield 'on a table: k-means + palm4MSA / k-means', sse_of(factorized(dense, 'palm4msa', **options), 'images') / base
    yield 'on a table: objective / k-means', final[1] / base
    yield 'on a table: objective / SSE of the operator - 1', abs(final[1] / sse_of(final[5], 'images') - 1)
    start = np.repeat(x[:16], 2, axis=0).astype(float)
    yield 'on a table: empty clusters from 16 starts given twice', quickmeans.qkmeans(cursor, start, options)[-1][6]


@part(QUICK)
def palm(seed):
    """Yields the figures of Alg. 2 and the other methods, on 64 smooth images in 256 dimensions."""
    op = operator(images(64, 64, 16, seed, noise=.1))
    errors = [relative_error(factorized(op, 'palm4msa', pursuit=False, factors=6, sparsity=3, iterations=n)) for n in (1, 2, 4, 8, 16, 32, 64)]
    yield 'Alg. 2: largest rise over 1, 2, 4, .. 64 sweeps', max(0.0, *(b / a - 1 for a, b in zip(errors, errors[1:])))
    yield 'Alg. 2, 6 factors, sparsity 3: error', errors[-1]
    for method, options in (('palm4msa', {'factors': 2, 'budget': 4096, 'pursuit': False}), ('palm4msa', {'factors': 6, 'sparsity': 3}), ('palm4msa', {'factors': 2, 'budget': 4096}),
                            ('hierarchical', {'sparsity': 3}), ('svd', {'budget': 4096}), ('prune', {'budget': 4096})):
        yield f'{method} {text(options)}: error', relative_error(factorized(op, method, **options))


def text(options):
    return ', '.join(f'{name} {setting}' for name, setting in options.items())


@part(QUICK, seeds=1)
def transform(seed):
    """Yields the figures of the Hadamard matrix of order 32, which is a product of five factors
    with two values in each row, 320 in all."""
    op = operator(hadamard(32))
    for method, options in (('hierarchical', {'sparsity': 2, 'centered': False}), ('butterfly', {'centered': False})):
        fast = factorized(op, method, **options)
        yield f'Hadamard 32, {method}: error', relative_error(fast)
        yield f'Hadamard 32, {method}: values', values_of(fast)


@part(QUICK, seeds=1)
def sweep(seed):
    """Yields the figures of supplement A: the time of a sweep of palm4MSA relative to dense
    products."""
    for line in subprocess.run([args.programs + '/palm'], check=True, capture_output=True, text=True).stdout.splitlines():
        size, ratio = re.match(r'(.*): dense.* sweep +[\d.]+ ms \(([\d.]+)\)', line).groups()
        yield f'Alg. 2, {" ".join(size.split())}: sweep / dense products', float(ratio), 'time'


@part(QUICK)
def iteration(seed):
    """Yields the time of an iteration relative to Lloyd: 20,000 rows of the paper's blobs, 256
    clusters in 784 dimensions."""
    start = iterations.load(cursor, 'blobs', 256, 784, 20000)
    dense = iterations.lloyd(cursor, 256)
    for factors in (2, None):
        taken = iterations.measure(cursor, 256, start, factors)
        yield f'an iteration, {factors or 8} factors / Lloyd', taken[0] / dense, 'time'


@part(QUICK, seeds=1)
def products(seed):
    """Yields the figures of assignment in Table 2: a row and a batch of 256 rows through factors of
    sparsity 2, relative to sgemv and sgemm."""
    for k, d in ((128, 2000), (256, 2352), (512, 2000)):
        taken = assignment.measure(args.programs + '/kernel', k, d, 2)
        yield f'Table 2, k {k}, d {d}: a row / sgemv', taken['single'] / taken['sgemv'], 'time'
        yield f'Table 2, k {k}, d {d}: a batch / sgemm', taken['batch'] / taken['sgemm'], 'time'


@part(QUICK, seeds=1)
def parameters(seed):
    """Yields the figures of non-zeros and of assignment in SQL in Table 2: centres of blobs in 2000
    dimensions, log2(k) factors of sparsity 2."""
    for k in (128, 256):
        rows.load(cursor, k, 2000)
        for method, options in (('palm4msa', {'factors': int(np.log2(k)), 'sparsity': 2}), ('butterfly', {})):
            fast = factorized(value("SELECT op FROM bench_operators WHERE name = 'dense'"), method, **options)
            cursor.execute('INSERT INTO bench_operators VALUES (%s, %s)', (method, fast))
            yield f'Table 2, k {k}, {method}: values', values_of(fast)
            yield f'Table 2, k {k}, {method}: labels kept', value(f"SELECT avg(({assign(method)} = {assign('dense')})::int)::float8 FROM bench_rows"), 'higher'
    scan, dense, fast = (rows.seconds(cursor, call, 160, 3) for call in ('count(x)', f"count({assign('dense')})", f"count({assign('palm4msa')})"))
    yield 'Table 2, k 256: assign through palm4msa / dense', (fast - scan) / (dense - scan), 'time'


@part(QUICK, seeds=2, data=True)
def digits(seed):
    """Yields the figures of Fig. 1: 10,000 images, 30 clusters."""
    yield from learned(mnist()[0][seed * 10000:][:10000], 30, seed, [
        (f'Fig. 1, {name}', options) for name, options, *_ in quickmeans.RUNS if name in ('sparsity 2', 'sparsity 5', '2 factors, sparsity 5')] +
        [('Suppl. E, palm4MSA start, sparsity 5', {'sparsity': 5, 'start': 'palm4msa'})])


@part(QUICK, seeds=1, data=True)
def search(seed):
    """Yields the figures of 1-NN in Table 2: 500 queries in 20,000 rows of MNIST in 64 buckets, in
    CPU time of the backend."""
    x, y = mnist()
    stored = np.random.default_rng(seed).permutation(neighbours.TRAIN)[:20000]
    asked = neighbours.TRAIN + np.random.default_rng(seed).permutation(10000)[:500]
    neighbours.PROBES, neighbours.TIMED = (1, 2), 100
    neighbours.fill(cursor.connection, x[stored])
    truth = neighbours.nearest_of(x[stored], x[asked])
    taken, last = {}, rows.backend_seconds(cursor)
    for name, group, values, found, _ in neighbours.in_server(cursor, 64, x[asked]):
        now = rows.backend_seconds(cursor)
        taken[group, name], last = (now - last) / (len(found) + 3 * min(len(found), neighbours.TIMED)), now
        if values:
            yield f'Table 2, 1-NN, {group}, {name}: accuracy', (y[stored][found] == y[asked]).mean(), 'higher'
            yield f'Table 2, 1-NN, {group}, {name}: nearest row found', (found == truth).mean(), 'higher'
            if name == '1':
                yield f'Table 2, 1-NN, {group}: values', values
    # The time with 1 probe includes the training of the buckets, so the ratios use 2 probes.
    by_kmeans, by_factors = taken['buckets of k-means', '2'], taken['buckets of QK-means', '2']
    yield 'Table 2, 1-NN, buckets of QK-means, 2: time / scan', by_factors / taken['sequential scan', 'sequential scan'], 'time'
    yield 'Table 2, 1-NN, buckets of QK-means, 2: time / k-means', by_factors / by_kmeans, 'time'


LANDMARKS = ('uniform rows', 'k-means', 'QK-means left alone', 'QK-means, 2 factors, sparsity 15')


@part(QUICK, seeds=3, data=True)
def landmarks(seed):
    """Yields the figures of Nystrom in Table 2 and supplement F: 64 landmarks from 5000 rows of
    MNIST, and 2000 test rows, half of which train a linear SVM."""
    x, y = mnist()
    train = x[np.random.default_rng(seed).permutation(60000)[:5000]]
    test, classes = x[60000:62000], y[60000:62000]
    gamma = 1 / nystroem.mean_distance(train.astype(float))
    kernel = nystroem.kernel_matrix(test.astype(float), gamma)
    tables.copy_rows(cursor.connection, 'train', train)
    tables.copy_rows(cursor.connection, 'test', test)
    cursor.execute('DROP TABLE IF EXISTS maps; CREATE TABLE maps (kind text, op fastop, map kernel_map)')
    error = {}
    for name, options, *_ in nystroem.KINDS:
        if name in LANDMARKS:
            nystroem.make_landmarks(cursor, name, options, 64, seed, len(train))
            features = nystroem.features(cursor, name, gamma)
            error[name] = np.linalg.norm(kernel - features @ features.T) / np.linalg.norm(kernel)
            yield f'Suppl. F, {name}: error', error[name]
            fitted = LinearSVC(dual=False, random_state=0).fit(features[:1000], classes[:1000])
            yield f'Table 2, Nystrom + SVM, {name}: accuracy', fitted.score(features[1000:], classes[1000:]), 'higher'
            if name.startswith('QK'):
                yield f'Suppl. F, {name}: error / uniform rows', error[name] / error['uniform rows']
                yield f'Suppl. F, {name}: time / k-means', seconds_of_features(name) / seconds_of_features('k-means'), 'time'


# Compressive k-means

@part(COMPRESSIVE, seeds=10)
def mixture(seed):
    """Yields the figures of Alg. 1, Fig. 1 and 3: 20,000 rows of a mixture of 10 Gaussians in 10
    dimensions, m = 1000, law adapted_radius."""
    x = tables.ckm_mixture(10, 10, 20000, seed)
    best = reference(x, 10)
    load(x)
    sketch_with(spec_of_rows(10, law='adapted_radius', frequencies=1000, seed=seed))
    for init in ('range', 'sample', 'kmeans++'):
        yield f'Fig. 1, start {init}: RSE', decode(x, 10, 'clompr', best, pilot=init != 'range', seed=seed, **dict(PAPER, init=init))[0]
    yield 'Fig. 3, 5 replicates: RSE', decode(x, 10, 'clompr', best, seed=seed, replicates=5, **PAPER)[0]
    yield 'Alg. 1, 64 starts and one width: RSE', decode(x, 10, 'clompr', best, seed=seed)[0]
    yield 'auto, adapted radius: RSE', decode(x, 10, 'auto', best, seed=seed)[0]
    sketch_with(spec_of_rows(10, frequencies=1000, seed=seed))
    yield 'auto, adapted radius of k-means: RSE', decode(x, 10, 'auto', best, seed=seed)[0]


@part(COMPRESSIVE)
def scale(seed):
    """Yields a figure of section 3.3: whether sigma is proportional to the scale of the rows."""
    x = tables.ckm_mixture(10, 10, 20000, seed)
    sigmas = []
    for unit in (1e-3, 1.0, 1e3):
        load((x * unit).astype(np.float32))
        sketch_with(spec_of_rows(10, law='adapted_radius', seed=seed))
        sigmas.append(sigma_of_spec() / unit)
    yield 'adapted radius: sigma / scale, largest / least', max(sigmas) / min(sigmas)


@part(COMPRESSIVE, seeds=5)
def size(seed):
    """Yields the figures of Fig. 2: RSE over the number of frequencies, 20,000 rows."""
    for k, n in ((10, 10), (20, 5)):
        x = tables.ckm_mixture(k, n, 20000, seed)
        best = reference(x, k)
        load(x)
        for ratio in (2, 5, 10):
            sketch_with(spec_of_rows(k, law='adapted_radius', frequencies=ratio * k * n, seed=seed))
            yield f'Fig. 2, k {k}, n {n}, m = {ratio} k n, as in the paper: RSE', decode(x, k, 'clompr', best, seed=seed, **PAPER)[0]
            yield f'Fig. 2, k {k}, n {n}, m = {ratio} k n, clompr: RSE', decode(x, k, 'clompr', best, seed=seed)[0]
            sketch_with(spec_of_rows(k, frequencies=ratio * k * n, seed=seed))
            yield f'Fig. 2, k {k}, n {n}, m = {ratio} k n, auto: RSE', decode(x, k, 'auto', best, seed=seed)[0]


@part(COMPRESSIVE)
def number_of_rows(seed):
    """Yields the figures of Fig. 4: time, memory and SSE relative to one run of k-means."""
    decode_seconds = {}
    for count in (20000, 200000):
        x = tables.ckm_mixture(10, 10, count, seed)
        best = reference(x, 10)
        load(x)
        taken = {method: (rse, seconds) for method, rse, seconds in decoders.beside_kmeans(x, best, seed)}
        one = taken['scikit-learn, 1 starts'][1]
        decode_seconds[count] = taken['decode alone'][1]
        yield f'Fig. 4, {count} rows: RSE', taken['decode alone'][0]
        yield f'Fig. 4, {count} rows: sample, sketch, decode / one k-means', taken['sample, sketch, decode'][1] / one, 'time'
        yield f'Fig. 4, {count} rows: decode / one k-means', decode_seconds[count] / one, 'time'
        yield f'Fig. 4, {count} rows: bytes / those of the rows', bytes_of_sketch() / x.nbytes
    yield 'Fig. 4: decode, 200000 / 20000 rows', decode_seconds[200000] / decode_seconds[20000], 'time'


@part(COMPRESSIVE)
def structured(seed):
    """Yields the figures of fast transforms in 300 dimensions: 8000 rows, 5 clusters, m = 2000."""
    x = tables.ckm_mixture(5, 300, 8000, seed)
    best = reference(x, 5)
    load(x)
    taken = []
    for name in ('on', 'off'):
        sketch_with(spec_of_rows(5, dimensions=300, frequencies=2000, structured=name, seed=seed))
        yield f'd 300, structured {name}: RSE', decode(x, 5, 'auto', best, seed=seed)[0]
        taken.append(seconds_of_sketch())
    yield 'd 300: sketch, structured / dense', taken[0] / taken[1], 'time'


@functools.lru_cache(1)
def spectral_set():
    x, classes = tables.loader(args.data).mnist_spectral()
    x = x.astype(np.float32)
    return x, classes, reference(x, 10)


@part(COMPRESSIVE, seeds=3, data=True)
def spectral(seed):
    """Yields the figures of Fig. 1 and 3 on spectral features of MNIST: SSE and adjusted Rand index
    of 70,000 rows, m = 1000."""
    x, classes, best = spectral_set()
    load(x)
    sketch_with(spec_of_rows(10, law='adapted_radius', frequencies=1000, seed=seed))
    for name, decoder, pilot, options in (('start sample', 'clompr', True, dict(PAPER, init='sample')),
                                          ('start kmeans++', 'clompr', True, dict(PAPER, init='kmeans++')),
                                          ('start sample, 5 replicates', 'clompr', True, dict(PAPER, init='sample', replicates=5)),
                                          ('clompr', 'clompr', False, {}),
                                          ('auto', 'auto', False, {}), ('auto with pilot rows', 'auto', True, {})):
        c = decoders.decoded(10, decoder, pilot, seed=seed, **options)
        yield f'spectral features, {name}: RSE', sse(x, c) / best
        yield f'spectral features, {name}: ARI', adjusted_rand_score(classes, ((c ** 2).sum(1) - 2 * x @ c.T).argmin(1)), 'higher'


# Sketch-and-shift

def windows(figure, x, k, best, sizes, choice, seed, sigmas):
    """Yields for each decoder the number of sigmas with an RSE below 1.1, and the minimum RSE."""
    found = {}
    for m, _, name, _, rse, _ in decoders.over_sigma(x, k, sizes, choice, range(seed, seed + 1), best, sigmas):
        found.setdefault((m, name), []).append(rse)
    for (m, name), rse in found.items():
        yield f'{figure}, m {m}, {name}: sigmas below 1.1 of {len(sigmas)}', sum(r < 1.1 for r in rse), 'count'
        yield f'{figure}, m {m}, {name}: least RSE', min(rse)


def three(figure, dim, near, *rest):
    """Yields the figures of windows for three clusters of 20,000 rows."""
    x = tables.three_clusters(dim, 20000, 0, near)
    load(x)
    yield from windows(figure, x, 3, reference(x, 3), *rest)


@part(SHIFT, seeds=5)
def width2(seed):
    """Yields the figures of Fig. 1: three clusters in the plane."""
    yield from three('Fig. 1', 2, False, (200, 1000), SHIFTS, seed, SIGMAS)


@part(SHIFT, seeds=5)
def width6(seed):
    """Yields the figures of Fig. 5 and 6: three clusters in six dimensions, several numbers of
    starts."""
    # The decoder discretized finds no cluster in six dimensions.
    choice = {name: how for name, how in SHIFTS.items() if name != 'discretized'}
    choice.update({f'shift, {count} starts': ('shift', {'starts': count, 'polish': False}) for count in (10, 100)})
    yield from three('Fig. 5 and 6', 6, False, (200, 1000), choice, seed, SIGMAS[3:])


@part(SHIFT)
def model(seed):
    """Yields the figures of Fig. 7: points and Gaussians, clusters far apart and near; and of
    appendix B: covariances."""
    for near in (False, True):
        yield from three('Fig. 7, near' if near else 'Fig. 7, far', 2, near, (100, 1000), {name: SHIFTS[name] for name in ('shift', 'shift, gaussian')}, seed, SIGMAS)
    load(tables.three_clusters(2, 20000, 0))
    sketch_with(spec(2, 1000, .1, 'gaussian', seed))
    truth = .095 ** 2 * np.eye(2)
    yield 'App. B: error of covariances', np.mean([np.linalg.norm(c.reshape(2, 2) - truth) / np.linalg.norm(truth) for c in covariances(3, seed=seed, sigma=.1)])


@part(SHIFT, seeds=10)
def dimension(seed):
    """Yields the figures of Fig. 9: how often both clusters are found (RSE below 2) over the
    dimension and the number of starts, with m = 10 d and sigma 0.2."""
    for n, counts in ((2, (1, 10)), (5, (10, 100)), (10, (10, 100, 1000))):
        x = decoders.two_clusters(n)
        load(x)
        best = reference(x, 2)
        sketch_with(spec(n, 10 * n, .2, 'gaussian', seed))
        for count in counts:
            yield f'Fig. 9, d {n}, {count} starts: found', float(decode(x, 2, 'shift', best, starts=count, polish=False, seed=seed)[0] < 2), 'count'


@part(SHIFT, data=True)
def shift_spectral(seed):
    """Yields the figures of Fig. 8: spectral features of MNIST, m = 500, 100 starts."""
    x, _, best = spectral_set()
    load(x)
    choice = {'shift': ('shift', {'starts': 100, 'polish': False}), 'clompr, as in the paper': ('clompr', PAPER), 'auto': ('auto', {})}
    lines = windows('Fig. 8', x, 10, best, (500,), choice, seed, [.2, .3, .4, .5, .6, .8, 1.0, 1.3, 1.6, 2.0])
    # The decoders of the papers have an RSE above 1.1 at every sigma, so windows are left out.
    yield from (line for line in lines if line[0].endswith('least RSE'))


# One-pass randomized kernel k-means

@part(KERNEL, seeds=10)
def rings(seed):
    """Yields the figures of Table 1, Fig. 1 and 2: a disc in a ring, 4000 rows, kernel <x, y>^2,
    rank 2."""
    results = kernels.table_of(cursor.connection, seed)
    x, classes = kernels.disc_and_ring(4000, seed)
    results['nystroem, 400 columns'] = kernels.judged(cursor, kernels.nystroem(2, 400, seed), kernels.square_features(x), classes)
    for name, (error, accuracy) in results.items():
        if error == error:
            yield f'Table 1, {name}: error', error
        yield f'Table 1, {name}: accuracy', accuracy, 'higher'


@part(KERNEL, seeds=10, data=True)
def segmentation(seed):
    """Yields the figures of Fig. 3: image segmentation, 2310 rows, kernel <x, y>^2, rank 2, l =
    5."""
    x, classes = tables.labelled_set(args.data, 'image_segmentation', 'l2')
    features = kernels.square_features(x)
    tables.copy_rows(cursor.connection, 'points', x.astype(np.float32))
    calls = {'exact': kernels.exact(2), 'one pass': kernels.one_pass(2, 5, seed), 'nystroem, 20 columns': kernels.nystroem(2, 20, seed),
             'nystroem, 50 columns': kernels.nystroem(2, 50, seed), 'pivoted cholesky, 20 columns': kernels.cholesky(2, 20, seed)}
    for name, call in calls.items():
        error, accuracy = kernels.judged(cursor, call, features, classes)
        yield f'Fig. 3, {name}: error', error
        yield f'Fig. 3, {name}: accuracy', accuracy, 'higher'


@part(KERNEL, seeds=1)
def cost(seed):
    """Yields seconds in 19 dimensions with rank 10, and the memory that a call over 16,000 rows
    adds."""
    tables.copy_rows(cursor.connection, 'points', np.random.default_rng(seed).standard_normal((16000, 19)).astype(np.float32))
    one, nystrom, cholesky = kernels.one_pass(10, 10, seed), kernels.nystroem(10, 400, seed), kernels.cholesky(10, 100, seed)

    def taken(call, n):
        return seconds(f'SELECT {call} IS NULL FROM points WHERE id < {n}', 3)
    yield 'one pass, 16000 / 8000 rows: time', taken(one, 16000) / taken(one, 8000), 'time'
    yield 'one pass / exact, 2000 rows: time', taken(one, 2000) / taken(kernels.exact(10), 2000), 'time'
    yield 'Nystrom, 400 columns / one pass, 8000 rows: time', taken(nystrom, 8000) / taken(one, 8000), 'time'
    yield 'pivoted Cholesky, 100 columns / one pass, 8000 rows: time', taken(cholesky, 8000) / taken(one, 8000), 'time'
    used = kernels.peak_of(one, 16000)
    yield 'one pass, 16000 rows: bytes of a row', used * 1024 / 16000, 'memory'
    yield 'one pass / Nystrom, 400 columns: memory', used / kernels.peak_of(nystrom, 16000), 'memory'


# --- Figures and their references. ---

def measure(name, seeds):
    """Returns row -> (kind, figures over the seeds) of a part, without rows that fail for any
    seed."""
    found = {}
    for seed in range(seeds):
        try:
            for row, figure, *kind in PARTS[name](seed):
                found.setdefault(row, (kind[0] if kind else 'lower', []))[1].append(float(figure))
        except (psycopg2.Error, subprocess.CalledProcessError, LookupError, ValueError, TypeError):
            traceback.print_exc()
    return {row: (kind, figures) for row, (kind, figures) in found.items() if len(figures) == seeds and np.isfinite(figures).all()}


def recorded(name, found, seeds):
    """Yields the lines of regressions.csv for a part."""
    for row, (kind, figures) in found.items():
        direction, share = KINDS[kind]
        figure, spread = np.mean(figures[:seeds]), np.std(figures, ddof=1)
        tolerance = max(3 * spread / np.sqrt(seeds), share * abs(figure), 1e-6)
        yield dict(zip(COLUMNS, (PARTS[name].paper, name, row, f'{figure:.6g}', f'{spread:.3g}', len(figures), direction, f'{tolerance:.3g}')))


def compare(references, found, seeds):
    """Prints a line for each row. Returns the number of rows that are worse, missing or without a
    reference."""
    bad = 0
    for row in found.keys() - {line['row'] for line in references}:
        print(f'{row}: no reference; record it', flush=True)
        bad += 1
    for line in references:
        figures = found.get(line['row'], (None, []))[1]
        if not figures:
            told, verdict = '-', 'MISSING'
        else:
            figure = np.mean(figures[:seeds])
            worse = (figure - float(line['figure'])) * (1 if line['direction'] == 'lower' else -1) > float(line['tolerance'])
            told, verdict = f'{figure:.6g}', 'WORSE' if worse else 'ok'
        bad += verdict != 'ok'
        report(line, told, verdict)
    return bad


def report(line, figure, verdict):
    print(f"{line['paper']:24s}{line['row']:72s}{figure:>12s}  reference {line['figure']:>11s}, {line['direction']:6s} is better, "
          f"tolerance {line['tolerance']:>9s}  {verdict}", flush=True)


def main():
    global args, cursor
    parser = argparse.ArgumentParser()
    parser.add_argument('--programs', default=HERE + '/../build/bench')
    parser.add_argument('--data')
    parser.add_argument('--only')
    parser.add_argument('--record', action='store_true')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = decoders.cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning; SET max_parallel_workers_per_gather = 0')
    with open(TABLE, newline='') as file:
        references = list(csv.DictReader(file))
    bad = 0
    for name in args.only.split(',') if args.only else PARTS:
        mine = [line for line in references if line['part'] == name]
        if PARTS[name].data and not args.data:
            for line in mine:
                report(line, '-', 'skipped: it needs DATA_FOLDER')
            continue
        begun, seeds = time.perf_counter(), PARTS[name].seeds
        found = measure(name, max(RECORDED, seeds) if args.record else seeds)
        if args.record:
            mine = list(recorded(name, found, seeds))
            references = [line for line in references if line['part'] != name] + mine
        bad += compare(mine, found, seeds)
        print(f'-- {name}: {time.perf_counter() - begun:.0f} s', flush=True)
    if args.record:
        order = list(PARTS)
        with open(TABLE, 'w', newline='') as file:
            out = csv.DictWriter(file, COLUMNS, lineterminator='\n')
            out.writeheader()
            out.writerows(sorted(references, key=lambda line: order.index(line['part'])))
    print(f'{bad} of {len(references)} rows are worse or missing')
    sys.exit(bad > 0)


if __name__ == '__main__':
    main()
