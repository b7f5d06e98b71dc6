"""Figures of the paper Compressive K-means; see papers.py.

The scale of the frequencies is estimated as the paper does (its reference [5]), by scale_of. Means
are over fewer experiments than the paper's 100: GAUSSIAN_SEEDS, SPECTRAL_SEEDS.
"""
import os
import time

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

import decoders
import tables
from decoders import decoded, load, reference, sketch_with
from paper_parts import Paper
from quality import sse

paper = Paper('Compressive K-means')
GAUSSIAN_SEEDS = 3
SPECTRAL_SEEDS = 5
STARTS = {'Range': 'range', 'Sample': 'sample', 'K++': 'kmeans++'}


def adapted_radii(rng, count):
    """Draws radii of density sqrt(r^2 + r^4 / 4) exp(-r^2 / 2)."""
    r = np.linspace(0, 6, 6001)
    law = np.cumsum(np.sqrt(r ** 2 + r ** 4 / 4) * np.exp(-r ** 2 / 2))
    return np.interp(rng.random(count), law / law[-1], r)


def scale_of(x, seed, rows=5000, frequencies=500, blocks=30, rounds=5):
    """Estimates the deviation of a cluster from small sketches, as reference [5] does: in each block
    of radii r, the largest modulus of a moment is exp(-s^2 r^2 / 2)."""
    rng = np.random.default_rng(seed)
    x = x[rng.choice(len(x), min(rows, len(x)), replace=False)].astype(float)
    square = x.var(0).mean()
    for _ in range(rounds):
        direction = rng.standard_normal((frequencies, x.shape[1]))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        r = np.sort(adapted_radii(rng, frequencies) / np.sqrt(square))
        modulus = np.abs(np.exp(1j * x @ (direction * r[:, None]).T).mean(0))
        top = np.array([block[modulus[block].argmax()] for block in np.array_split(np.arange(frequencies), blocks)])
        square = np.exp(minimize_scalar(lambda log: ((modulus[top] - np.exp(-r[top] ** 2 * np.exp(log) / 2)) ** 2).sum(),
                                        bounds=(np.log(square) - 4, np.log(square) + 4), method='bounded').x)
    return float(np.sqrt(square))


def sketch_as_printed(x, k, m, seed, factor=1):
    """Sketches the points with m frequencies of law adapted_radius at `factor` times the estimated
    scale."""
    sketch_with(f'sketch_spec_agg(x, {k}, \'{{"law": "adapted_radius", "frequencies": {m}, "sigma": {factor * scale_of(x, seed)}, '
                f'"dimensions": {x.shape[1]}, "seed": {seed}}}\'::jsonb)')


def ckm(k, seed, init='range', **options):
    return decoded(k, 'clompr', init != 'range', published=True, init=init, seed=seed, **options)


def by_default(k, m, seed):
    """Returns the centroids of the default decoder from a sketch with m frequencies of the default
    law."""
    sketch_with(f'sketch_spec_agg(x, {k}, \'{{"frequencies": {m}, "seed": {seed}}}\'::jsonb)')
    return decoded(k, 'auto', seed=seed)


def kmeans(x, k, init, seed, replicates=1):
    """Runs k-means of scikit-learn, as Matlab's: one run from each start, at most 100 iterations."""
    rng = np.random.default_rng(seed)
    best = None
    for run in range(replicates):
        start = (rng.uniform(x.min(0), x.max(0), (k, x.shape[1])).astype(x.dtype) if init == 'range'
                 else x[rng.choice(len(x), k, replace=False)] if init == 'sample' else 'k-means++')
        fit = KMeans(k, init=start, n_init=1, max_iter=100, random_state=100 * seed + run).fit(x)
        best = fit if best is None or fit.inertia_ < best.inertia_ else best
    return best.cluster_centers_.astype(float)


def starts_of(x, k, seed):
    """Returns the SSE of CKM and of k-means, one replicate each, for each start."""
    return {name: (sse(x, ckm(k, seed, init)), sse(x, kmeans(x, k, init, seed))) for name, init in STARTS.items()}


@paper.part
def gaussian_starts():
    """Fig. 1 on Gaussian data: K = n = 10, N = 300,000."""
    found, default = [], []
    for seed in range(GAUSSIAN_SEEDS):
        x = tables.ckm_mixture(10, 10, 300000, seed)
        load(x)
        sketch_as_printed(x, 10, 1000, seed)
        found.append(starts_of(x, 10, seed))
        default.append(sse(x, by_default(10, 1000, seed)))
    mean = {name: np.mean([f[name] for f in found], axis=0) for name in STARTS}
    for name in STARTS:
        yield f'Fig. 1, Gaussian data, {name}: SSE of CKM over kmeans', mean[name][0] / mean[name][1], np.mean(default) / mean[name][1]
    for name in ('Sample', 'K++'):
        yield f'Fig. 1, Gaussian data: SSE of CKM, Range over {name}', mean['Range'][0] / mean[name][0], None


@paper.part
def frequencies():
    """Fig. 2: the smallest m / (K n) with a mean RSE below 2, 30,000 rows."""
    ratios = (1, 1.5, 2, 2.5, 3, 4, 5, 6)
    for k, n in ((5, 10), (10, 10), (20, 10), (10, 5), (10, 20)):
        sets = [tables.ckm_mixture(k, n, 30000, seed) for seed in range(GAUSSIAN_SEEDS)]
        best = [reference(x, k) for x in sets]
        below = [None, None]
        for ratio in ratios:
            if None not in below:
                break
            m = int(ratio * k * n)
            rse = []
            for seed, x in enumerate(sets):
                load(x)
                sketch_as_printed(x, k, m, seed)
                rse.append((sse(x, ckm(k, seed)) / best[seed], sse(x, by_default(k, m, seed)) / best[seed]))
            below = [old or (ratio if value < 2 else None) for value, old in zip(np.mean(rse, axis=0), below)]
        below = [ratio or 10 for ratio in below]    # 10: not found
        if n == 10:
            yield f'Fig. 2, left, n = 10, K = {k}: m/(Kn) where the relative SSE falls below 2', *below
        if k == 10:
            yield f'Fig. 2, right, K = 10, n = {n}: m/(Kn) where the relative SSE falls below 2', *below


@paper.part
def digits():
    """Fig. 1 and 3 on spectral features of MNIST, N1 = 70,000."""
    if not paper.args.data:
        return
    x, classes = tables.loader(paper.args.data).mnist_spectral()
    x = x.astype(np.float32)
    load(x)

    def ari(c):
        return adjusted_rand_score(classes, ((c ** 2).sum(1) - 2 * x @ c.T).argmin(1))

    found, replicates, default = [], [], []
    for seed in range(SPECTRAL_SEEDS):
        sketch_as_printed(x, 10, 1000, seed)
        found.append(starts_of(x, 10, seed))
        sets = (ckm(10, seed), ckm(10, seed, replicates=5), kmeans(x, 10, 'range', seed), kmeans(x, 10, 'range', seed, 5))
        replicates.append([(sse(x, c), ari(c)) for c in sets])
        c = by_default(10, 1000, seed)
        default.append((sse(x, c), ari(c)))
    mean = {name: np.mean([f[name] for f in found], axis=0) for name in STARTS}
    deviation = {name: np.std([f[name][0] for f in found]) for name in STARTS}
    ckm1, ckm5, kmeans1, kmeans5 = np.mean(replicates, axis=0)
    by_default_sse, by_default_ari = np.mean(default, axis=0)
    for name in ('Sample', 'K++'):
        yield f'Fig. 1, MNIST: SSE of CKM, Range over {name}', mean['Range'][0] / mean[name][0], None
        yield f'Fig. 1, MNIST: deviation of the SSE of CKM, {name} over Range', deviation[name] / deviation['Range'], None
    for name in STARTS:
        yield f'Fig. 1, MNIST, {name}: SSE of kmeans over CKM', mean[name][1] / mean[name][0], mean[name][1] / by_default_sse
    yield 'Fig. 3, top, N1: SSE with 1 over 5 replicates, kmeans over CKM', (kmeans1[0] / kmeans5[0]) / (ckm1[0] / ckm5[0]), kmeans1[0] / kmeans5[0]
    yield 'Fig. 3, bottom, N1, 1 replicate: ARI of CKM less kmeans', ckm1[1] - kmeans1[1], by_default_ari - kmeans1[1]
    yield 'Fig. 3, bottom, N1, 5 replicates: ARI of CKM less kmeans', ckm5[1] - kmeans5[1], by_default_ari - kmeans5[1]


def backend_seconds():
    """Returns the CPU seconds of the session's backend."""
    paper.cursor.execute('SELECT pg_backend_pid()')
    with open(f'/proc/{paper.cursor.fetchone()[0]}/stat') as file:
        fields = file.read().rsplit(')', 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def decode_seconds(*call, **options):
    """Returns the centroids and the CPU seconds of one decoding, the mean of three."""
    before = backend_seconds()
    for _ in range(3):
        centroids = decoded(*call, **options)
    return centroids, (backend_seconds() - before) / 3


@paper.part
def number_of_rows():
    """Fig. 4 with N = 10^7 rows in the database. K-means of scikit-learn runs on 10^6 of them, and
    its time is multiplied by ten."""
    some = tables.ckm_mixture(10, 10, 1000000, 0)
    taken = {}
    for count in (100000, 10000000):
        load(some[:min(count, len(some))])
        for _ in range(count // len(some) - 1):
            paper.cursor.execute(f'INSERT INTO points SELECT id, x FROM points LIMIT {len(some)}')
        sketch_as_printed(some, 10, 1000, 0)
        taken[count] = *decode_seconds(10, 'clompr', published=True, seed=0), *decode_seconds(10, 'auto', seed=0)
    paper.cursor.execute('SELECT pg_column_size(k)::float8 / pg_table_size(\'points\') FROM kept')
    memory = paper.cursor.fetchone()[0]
    before = time.process_time()
    centroids = kmeans(some, 10, 'range', 0)
    one = 10 * (time.process_time() - before)
    here, seconds, default, default_seconds = taken[10000000]
    best = sse(some, centroids)
    yield 'Fig. 4, N = 10^7: time of five replicates of kmeans over CKM', 5 * one / seconds, 5 * one / default_seconds
    yield 'Abstract, N = 10^7: time of five replicates of kmeans over CKM', 5 * one / seconds, 5 * one / default_seconds
    yield 'Fig. 4, N = 10^7: time of CKM relative to one run of kmeans', seconds / one, default_seconds / one
    yield 'Fig. 4, N = 10^7: memory of CKM relative to kmeans', memory, memory
    yield 'Fig. 4, N = 10^7: SSE of CKM relative to one run of kmeans', sse(some, here) / best, sse(some, default) / best
    yield 'Fig. 4: time of CKM given the sketch, N = 10^7 over N = 10^5', seconds / taken[100000][1], default_seconds / taken[100000][3]
    paper.cursor.execute('DROP TABLE points')
