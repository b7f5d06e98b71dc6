"""Figures of the paper Sketch and shift; see papers.py.

Three clusters stand in for the paper's sets, which it offers for download: tables.three_clusters.
The domain of the decoders is the box of the rows. Means are over SEEDS sketches, the paper's over
50 (Fig. 1, 5, 6) and 10 (Fig. 7 to 9).
"""
import numpy as np

import decoders
import tables
from decoders import decode, decoded, load, over_sigma, reference, sketch_with
from paper_parts import Paper
from papers_compressive import backend_seconds

paper = Paper('Sketch and shift')
SEEDS = 8
SIGMAS = [.03, .05, .1, .2, .3, .5, .8]
WIDE = [.05, .1, .2, .3, .5, .8]
SPECTRAL = [.8, 1.0, 1.15, 1.3, 1.6, 2.0, 2.6]    # 0.2 to 0.65 of the deviation of the rows
MATCHES = 1.1    # an RSE below this is as good as Lloyd
ROWS = 100000


def published(decoder, **options):
    return decoder, dict(options, published=True)


def means(x, k, sizes, sigmas, choices, seeds=SEEDS):
    """Returns {(m, decoder): the mean RSE at each sigma} of decodings of the table points."""
    found = {}
    for m, sigma, name, _, rse, _ in over_sigma(x, k, sizes, choices, seeds, reference(x, k), sigmas):
        found.setdefault((m, name), {}).setdefault(sigma, []).append(rse)
    return {key: {sigma: np.mean(rse) for sigma, rse in by_sigma.items()} for key, by_sigma in found.items()}


def matching(rse, limit=MATCHES):
    """Returns the sigmas whose RSE is at most the limit."""
    return [sigma for sigma, value in rse.items() if value <= limit] or [np.nan]


def width(rse):
    return max(matching(rse)) / min(matching(rse))


def size(rse, limit=MATCHES):
    return np.isfinite(matching(rse, limit)).sum()


@paper.part
def plane():
    """Fig. 1: three clusters in the plane."""
    x = tables.three_clusters(2, ROWS, 0)
    load(x)
    rse = means(x, 3, (30, 1000), SIGMAS, {'Algorithm 2': published('shift', starts=1000), 'CL-OMPR': published('clompr'), 'auto': ('auto', {})})
    for m in (30, 1000):
        for sigma in (.03, .05, .1, .2, .3):
            yield f'Fig. 1(a), m = {m}, sigma = {sigma}, Algorithm 2', rse[m, 'Algorithm 2'][sigma], rse[m, 'auto'][sigma]
    for sigma in (.03, .05, .1, .3, .8):
        yield f'Fig. 1(a), m = 1000, sigma = {sigma}, CL-OMPR', rse[1000, 'CL-OMPR'][sigma], rse[1000, 'auto'][sigma]
    yield 'Fig. 1(a), m = 30, best sigma, CL-OMPR', min(rse[30, 'CL-OMPR'].values()), min(rse[30, 'auto'].values())
    mean = {m: np.mean(list(rse[m, 'CL-OMPR'].values())) for m in (30, 1000)}
    yield 'Fig. 1(a), CL-OMPR, m = 1000 over m = 30', mean[1000] / mean[30], None
    yield 'Fig. 1(a), m = 1000, largest over smallest sigma as good as Lloyd, Algorithm 2 over CL-OMPR', width(rse[1000, 'Algorithm 2']) / width(rse[1000, 'CL-OMPR']), None


def field(m, sigma, side=121):
    """Returns the axis of a square grid in [-1, 1]^2 and the density of a sketch of the points on it."""
    axis = np.linspace(-1, 1, side)
    sketch_with(f"sketch_spec(2, {m}, {sigma}, 'gaussian', 0)")
    paper.cursor.execute('SELECT density(k, ARRAY[-1 + 2.0 * i / %s, -1 + 2.0 * j / %s]::float8[]) FROM kept, generate_series(0, %s) i, generate_series(0, %s) j ORDER BY i, j',
                   (side - 1,) * 4)
    return axis, np.array(paper.cursor.fetchall(), dtype=float).reshape(side, side)


def maxima(axis, f):
    """Returns the local maxima of positive height on the grid, highest first, as (points, heights)."""
    inner = f[1:-1, 1:-1]
    shape = f.shape
    top = inner > 0
    for i in range(3):
        for j in range(3):
            if (i, j) != (1, 1):
                top &= inner >= f[i:shape[0] - 2 + i, j:shape[1] - 2 + j]
    i, j = np.nonzero(top)
    order = np.argsort(-inner[i, j])
    return np.stack([axis[i + 1], axis[j + 1]], axis=1)[order], inner[i, j][order]


@paper.part
def correlation():
    """Fig. 2 and 3: the correlation function of the set of Fig. 1, on a grid of 121 x 121 points."""
    load(tables.three_clusters(2, ROWS, 0))
    centers = np.array([[-.5, -.4], [.5, -.3], [0, .55]])
    spurious = {}
    for m in (100, 1000):
        for sigma in (.01, .05, .1, .2, 1.0):
            points, heights = maxima(*field(m, sigma))
            spurious[m, sigma] = (heights > heights[0] / 4).sum()
            nearest = np.linalg.norm(points[:3, None] - centers[None], axis=2)
            hit = len({row.argmin() for row in nearest if row.min() < 2 * .095})
            if sigma == 1.0:
                yield f'Fig. 2, m = {m}, sigma = 1: maxima above half of the highest', (heights > heights[0] / 2).sum(), None
            else:
                yield f'Fig. 2, m = {m}, sigma = {sigma}: clusters at the three highest maxima', hit, None
    for sigma in (.01, .05):
        yield f'Fig. 2, sigma = {sigma}: maxima above a quarter of the highest, m = 100 over m = 1000', spurious[100, sigma] / spurious[1000, sigma], None
    axis, f = field(1000, .1)
    gradient = np.linalg.norm(np.gradient(f, axis[1] - axis[0]), axis=0)
    reweighted = gradient / np.maximum(np.abs(f), 1e-12)
    yield 'Fig. 3(b), share of the square where the gradient is below a tenth of its largest norm', (gradient < gradient.max() / 10).mean(), None
    yield 'Fig. 3(b), median norm of gradient / f over gradient', np.median(reweighted) / np.median(gradient), None
    ends = np.array([decoded(1, 'shift', published=True, starts=1, rounds=1, seed=seed)[0] for seed in range(40)])
    yield 'Fig. 3(a), share of starts that the mean shift takes to a centroid', (np.linalg.norm(ends[:, None] - centers[None], axis=2).min(1) < .095).mean(), None


@paper.part
def residuals():
    """Fig. 4: the fourth atom of three clusters, with points and with Gaussians, m = 1000, sigma 0.1."""
    load(tables.three_clusters(2, ROWS, 0))
    found = {'dirac': [], 'gaussian': []}
    for seed in range(SEEDS):
        sketch_with(f"sketch_spec(2, 1000, 0.1, 'gaussian', {seed})")
        for model, values in found.items():
            paper.cursor.execute(f"SELECT centroid, weight FROM kept, decode(k, 4, 'shift', '{{\"published\": true, \"rounds\": 4, \"model\": \"{model}\", \"seed\": {seed}}}') ORDER BY cluster")
            rows = paper.cursor.fetchall()
            c = np.array([row[0] for row in rows])
            values.append((np.linalg.norm(c[:3] - c[3], axis=1).min(), rows[3][1]))
    apart = .99    # smallest distance of two clusters
    dirac, gaussian = (np.mean(values, axis=0) for values in found.values())
    yield 'Fig. 4(a), Diracs: distance of the fourth atom to a found centroid, over the distance of clusters', dirac[0] / apart, None
    yield 'Fig. 4(b), Gaussians over Diracs: weight of the fourth atom', gaussian[1] / dirac[1], None


@paper.part
def six_dimensions():
    """Fig. 5 and 6: three clusters in six dimensions."""
    x = tables.three_clusters(6, ROWS, 0)
    load(x)
    most = means(x, 3, (200, 1000), [.1, .2, .3], {'Algorithm 2': published('shift', starts=10000)}, 3)
    choices = {f'L = {count}': published('shift', starts=count) for count in (10, 100, 1000)}
    choices.update({'discretized': published('discretized', starts=10000), 'CL-OMPR': published('clompr'), 'auto': ('auto', {})})
    rse = means(x, 3, (200, 1000), WIDE, choices, 6)
    for m in (200, 1000):
        for sigma in (.1, .2, .3):
            yield f'Fig. 5, m = {m}, sigma = {sigma}, Algorithm 2, sketched mean shift, L = 10000', most[m, 'Algorithm 2'][sigma], rse[m, 'auto'][sigma]
        for name in ('discretized', 'CL-OMPR'):
            yield f'Fig. 5, m = {m}, best sigma, {name}', min(rse[m, name].values()), min(rse[m, 'auto'].values())
        yield f'Fig. 6, m = {m}, best sigma, CL-OMPR', min(rse[m, 'CL-OMPR'].values()), min(rse[m, 'auto'].values())
        yield f'Fig. 6, m = {m}: sigmas as good as Lloyd, L = 1000 less L = 10', size(rse[m, 'L = 1000']) - size(rse[m, 'L = 10']), None
        for sigma in WIDE:
            yield f'Fig. 6, m = {m}, sigma = {sigma}: RSE, L = 1000 over L = 10', rse[m, 'L = 1000'][sigma] / rse[m, 'L = 10'][sigma], None
    total = {m: sum(size(rse[m, f'L = {count}']) for count in (10, 100, 1000)) for m in (200, 1000)}
    yield 'Fig. 6: sigmas as good as Lloyd, m = 1000 less m = 200', total[1000] - total[200], None


@paper.part
def models():
    """Fig. 7: points against Gaussians, clusters far apart and near, L = 1000."""
    choices = {'Diracs': published('shift', starts=1000), 'Gaussians': published('shift', starts=1000, model='gaussian')}
    rse = {}
    for near in (False, True):
        x = tables.three_clusters(2, ROWS, 0, near)
        load(x)
        for (m, name), found in means(x, 3, (100, 1000), decoders.SIGMAS, choices, 5).items():
            rse[near, m, name] = found
    for m in (100, 1000):
        yield f'Fig. 7, left, m = {m}: sigmas as good as Lloyd, Gaussians less Diracs', size(rse[False, m, 'Gaussians']) - size(rse[False, m, 'Diracs']), None
        yield f'Fig. 7, m = {m}, Diracs: largest sigma as good as Lloyd, right over left', max(matching(rse[True, m, 'Diracs'])) / max(matching(rse[False, m, 'Diracs'])), None
        yield f'Fig. 7, right, m = {m}: smallest sigma as good as Lloyd, Gaussians over Diracs', min(matching(rse[True, m, 'Gaussians'])) / min(matching(rse[True, m, 'Diracs'])), None


@paper.part
def digits():
    """Fig. 8: spectral features of MNIST."""
    if not paper.args.data:
        return
    x, k = tables.real_sets(paper.args.data)['mnist_spectral']()
    load(x)
    clompr, auto = published('clompr'), ('auto', {})
    choices = {f'L = {count}': published('shift', starts=count) for count in (10, 100, 1000)}
    small = means(x, k, (500,), SPECTRAL, dict(choices, CL=clompr, auto=auto, Gaussians=published('shift', starts=100, model='gaussian')), 3)
    large = means(x, k, (5000,), SPECTRAL, {'L = 100': choices['L = 100'], 'CL': clompr, 'auto': auto}, 2)
    best = {name: min(rse.values()) for (_, name), rse in small.items()}
    yield 'Fig. 8, m = 500, L = 1000, best sigma, Algorithm 2', best['L = 1000'], best['auto']
    yield 'Fig. 8, m = 5000, best sigma, CL-OMPR', min(large[5000, 'CL'].values()), min(large[5000, 'auto'].values())
    lower = [sigma for sigma in SPECTRAL if sigma <= 1.6]
    yield 'Fig. 8, m = 500, sigma <= 0.5: RSE, Algorithm 2 over CL-OMPR', np.mean([small[500, 'L = 1000'][s] for s in lower]) / np.mean([small[500, 'CL'][s] for s in lower]), None
    yield 'Fig. 8, m = 500: sigmas with RSE <= 1.5, L = 1000 less L = 10', size(small[500, 'L = 1000'], 1.5) - size(small[500, 'L = 10'], 1.5), None
    yield 'Fig. 8, L = 100: sigmas with RSE <= 1.5, m = 5000 less m = 500', size(large[5000, 'L = 100'], 1.5) - size(small[500, 'L = 100'], 1.5), None
    yield 'Sect. 5.3, footnote 6: RSE at the best sigma, Gaussians over Diracs', best['Gaussians'] / best['L = 100'], None
    sketch_with(f"sketch_spec(10, 500, 1.3, 'gaussian', 0)")
    seconds = {}
    for name, (decoder, options), repeats in (('CL', clompr, 10), ('L = 10', choices['L = 10'], 10), ('L = 100', choices['L = 100'], 3), ('L = 1000', choices['L = 1000'], 1)):
        before = backend_seconds()
        for seed in range(repeats):
            decoded(k, decoder, seed=seed, **options)
        seconds[name] = (backend_seconds() - before) / repeats
    yield 'Sect. 5.3: time of decoding, Algorithm 2 with L = 10 over CL-OMPR', seconds['L = 10'] / seconds['CL'], None
    yield 'Sect. 5.3: time of Algorithm 2, L = 1000 over L = 100', seconds['L = 1000'] / seconds['L = 100'], None


@paper.part
def dimensions():
    """Fig. 9: the number of starts with a mean RSE below 1.5, two clusters, m = 10 d, 10 sketches."""
    for panel, sigma in (('a', .2), ('b', .3)):
        needed = {}
        for n in (2, 3, 5, 10, 20):
            x = decoders.two_clusters(n)
            load(x)
            best = reference(x, 2)
            rse = {count: [] for count in (1, 10, 100, 1000)}
            for seed in range(10):
                sketch_with(f"sketch_spec({n}, {10 * n}, {sigma}, 'gaussian', {seed})")
                for count in rse:
                    rse[count].append(decode(x, 2, 'shift', best, published=True, starts=count, seed=seed)[0])
            needed[n] = next((count for count in rse if np.mean(rse[count]) < 1.5), 10000)
        yield f'Fig. 9({panel}): L needed, d = 10 over d = 2', needed[10] / needed[2], None
        yield f'Fig. 9({panel}): L needed, d = 20 over d = 2', needed[20] / needed[2], None
