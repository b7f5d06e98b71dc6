"""Compares SSE and CPU time of k-means in memory with the best of 10 and of 20 starts of
scikit-learn, for each set and k.

python3 kmeans.py PROGRAM [--data FOLDER] [--rows N] [--seeds N] [--k 5,10,..] [--only NAME,..]
[--csv FILE]

PROGRAM is built from bench/kmeans.c. scikit-learn 1.2 runs k-means++ with tol 1e-4 on one thread,
and does not use weights for the seeding. Ratios compare the median over the seeds; `worst`
compares the worst seed. Both times are CPU time of the clustering alone.
Good: a ratio of at most 1 to the best of 10 starts, in less time.
"""
import argparse
import csv
import os
import statistics
import subprocess
import tempfile
import time
import warnings

os.environ['OPENBLAS_NUM_THREADS'] = os.environ['OMP_NUM_THREADS'] = '1'

import numpy as np
from sklearn.cluster import KMeans

import tables

GRID = [(3, 2), (10, 2), (10, 5), (10, 10), (10, 20), (30, 2), (30, 10)]
STARTS = 20


def heavy_tailed_coreset(rows):
    """Returns rows of 20 clusters with weights from 1 to 10^4; 3 % of the rows are far from all
    clusters and have weight 1."""
    rng = np.random.default_rng(5)
    x = tables.ckm_mixture(20, 8, rows, 3)
    far = rng.random(rows) < .03
    x[far] *= (1 + rng.pareto(1.2, int(far.sum())))[:, None].astype(np.float32)
    weights = np.exp(rng.uniform(0, np.log(1e4), rows))
    weights[far] = 1
    return x, weights


def data_sets(rows, folder):
    """Yields (name, rows, weights or None) of each set."""
    rng = np.random.default_rng(5)
    for k, n in GRID:
        yield f'mixture {k}, {n}', tables.ckm_mixture(k, n, rows, 1), None
    yield '10, 10 anisotropic', tables.ckm_mixture(10, 10, rows, 1, anisotropy=3.0), None
    yield '10, 10 unbalanced', tables.unbalanced(10, 10, rows, 1), None
    yield '10, 10 with 1 % outliers', tables.with_outliers(10, 10, rows, 1)[0], None
    yield 'Pareto 1.5 in 5 dimensions', (rng.pareto(1.5, (rows, 5)) * np.sign(rng.standard_normal((rows, 5)))).astype(np.float32), None
    yield 'weighted, heavy tails', *heavy_tailed_coreset(rows)
    yield 'weighted duplicates', rng.integers(0, 6, (rows, 4)).astype(np.float32), np.where(rng.random(rows) < .5, 1., 10.)
    if folder:
        load = tables.loader(folder)
        yield 'image segmentation', load.image_segmentation(None)[0].astype(np.float32), None
        yield 'image segmentation, z-scores', load.image_segmentation()[0].astype(np.float32), None
        yield 'MNIST spectral features', load.mnist_spectral()[0].astype(np.float32)[::2], None
        yield 'KDD99', load.kddcup99()[0].astype(np.float32)[::10], None
        yield 'MNIST', load.mnist()[0].astype(np.float32)[::10], None


def sse(x, weights, model):
    total = 0.0
    for i in range(0, len(x), 20000):
        square = ((x[i:i + 20000].astype(np.float64) - model.cluster_centers_[model.labels_[i:i + 20000]]) ** 2).sum(1)
        total += float((square if weights is None else square * weights[i:i + 20000]).sum())
    return total


def reference(x, weights, k):
    """Returns the SSEs and the CPU seconds of STARTS starts of scikit-learn."""
    result = []
    for seed in range(STARTS):
        start = time.process_time()
        model = KMeans(k, n_init=1, random_state=seed).fit(x, sample_weight=weights)
        result.append((time.process_time() - start, sse(x, weights, model)))
    return [r[1] for r in result], [r[0] for r in result]


def ours(program, files, shape, k, seeds):
    """Returns the SSEs and the CPU seconds of PROGRAM for each seed."""
    lines = subprocess.run([program, files[0], str(shape[0]), str(shape[1]), str(k), str(seeds), files[1]],
                           check=True, capture_output=True, text=True).stdout.split('\n')
    return zip(*[[float(v) for v in line.split()[:2]] for line in lines if line])


def cells(args):
    with tempfile.TemporaryDirectory() as folder:
        files = [os.path.join(folder, 'x'), '-']
        for name, x, weights in data_sets(args.rows, args.data):
            if args.only and name not in args.only.split(';'):
                continue
            x.tofile(files[0])
            files[1] = '-' if weights is None else os.path.join(folder, 'weights')
            if weights is not None:
                weights.astype(np.float64).tofile(files[1])
            for k in map(int, args.k.split(',')):
                best, seconds = reference(x, weights, k)
                found, spent = ours(args.program, files, x.shape, k, args.seeds)
                median, time_taken = statistics.median(found), statistics.median(spent)
                yield (name, k, median / min(best[:10]), median / min(best), max(found) / min(best),
                       time_taken / sum(seconds[:10]), time_taken / sum(seconds), time_taken)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('program')
    parser.add_argument('--data')
    parser.add_argument('--rows', type=int, default=20000)
    parser.add_argument('--seeds', type=int, default=5)
    parser.add_argument('--k', default='5,10,20,50,100')
    parser.add_argument('--only')
    parser.add_argument('--csv')
    args = parser.parse_args()
    warnings.filterwarnings('ignore')
    columns = ['SSE / 10', 'SSE / 20', 'worst', 'time / 10', 'time / 20', 'seconds']
    print(f"{'data':30s}{'k':>5s}" + ''.join(f'{c:>11s}' for c in columns), flush=True)
    out = csv.writer(open(args.csv, 'w')) if args.csv else None
    if out:
        out.writerow(['data', 'k'] + columns)
    for name, k, *values in cells(args):
        print(f'{name:30s}{k:5d}' + ''.join(f'{v:11.4f}' for v in values), flush=True)
        if out:
            out.writerow([name, k] + [f'{v:.4f}' for v in values])


if __name__ == '__main__':
    main()
