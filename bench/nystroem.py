"""Measures the error and time of Nystrom features from three kinds of landmarks.

nystroem.py --data FOLDER [--docs DOCS] [--out OUT]

FOLDER has a load.py that returns MNIST. Prints a table, and writes nystroem.csv in OUT and
nystroem.svg in DOCS.
The landmarks are uniformly chosen training rows, centroids of k-means, or centroids of QK-means,
which are a product of sparse factors (Giffon et al. 2019, section 4.4 and supplement F).
Everything runs in SQL: nystroem(landmarks, rbf_kernel(gamma)) with gamma = 1 / mean ||x - y||^2,
then kernel_features of test rows. With K~ the matrix of their inner products and K the kernel
matrix, the error is ||K - K~||_F / ||K||_F. The time is that of kernel_features for one row,
without reading the row.
Good: QK-means has nearly the error of k-means in less time.
"""
import argparse
import csv
import json
import os
import time

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import psycopg2

import pictures
import tables

ITERATIONS = 10
# name, options of qkmeans_agg (None if the landmarks are not from QK-means), colour, line
KINDS = [('uniform rows', None, '#bbbbbb', 'o-'), ('k-means', None, 'black', 'o-'),
         ('QK-means, log2 factors, sparsity 3', {'sparsity': 3}, '#d98032', 's:'),
         ('QK-means left alone', {}, '#5a9e5a', 's-'),
         ('QK-means, 2 factors, sparsity 15', {'factors': 2, 'sparsity': 15}, '#7aa6c2', 's-'),
         ('QK-means, 2 factors, sparsity 30', {'factors': 2, 'sparsity': 30}, '#1f5f8b', 's-')]


def kernel_matrix(x, gamma):
    squares = (x ** 2).sum(1)
    return np.exp(-gamma * np.maximum(squares[:, None] + squares[None] - 2 * x @ x.T, 0))


def mean_distance(x):
    """Returns the mean of ||x_i - x_j||^2 over all pairs."""
    return 2 * ((x ** 2).sum(1).mean() - (x.mean(0) ** 2).sum())


def make_landmarks(cursor, name, options, k, seed, rows):
    cursor.execute('DELETE FROM maps WHERE kind = %s', [name])
    if name == 'uniform rows':
        chosen = np.random.default_rng(seed).choice(rows, k, replace=False).tolist()
        cursor.execute('INSERT INTO maps SELECT %s, fastop_agg(x ORDER BY id) FROM train WHERE id = ANY(%s)', [name, chosen])
    else:
        options = dict({'n_init': 1} if options is None else options, seed=seed, iterations=ITERATIONS)
        aggregate = 'kmeans_agg' if name == 'k-means' else 'qkmeans_agg'
        cursor.execute(f'INSERT INTO maps SELECT %s, {aggregate}(x, %s, %s) FROM train', [name, k, json.dumps(options)])


def features(cursor, name, gamma):
    cursor.execute('UPDATE maps SET map = nystroem(op, rbf_kernel(%s)) WHERE kind = %s', [gamma, name])
    cursor.execute('SELECT kernel_features(map, x) FROM test, maps WHERE kind = %s ORDER BY id', [name])
    return np.array([row[0] for row in cursor.fetchall()])


def microseconds(cursor, rows):
    """Returns kind -> microseconds of kernel_features for a row, without reading the row: the
    minimum of 15 rounds, in which the kinds take turns."""
    reading, taken = np.inf, {name: np.inf for name, *_ in KINDS}
    for _ in range(15):
        for name in taken:
            begun = time.perf_counter()
            cursor.execute('SELECT sum(fastclust_internal.clusters(op) + x[784]) FROM test, maps WHERE kind = %s', [name])
            between = time.perf_counter()
            cursor.execute('SELECT count(kernel_features(map, x)) FROM test, maps WHERE kind = %s', [name])
            taken[name] = min(taken[name], time.perf_counter() - between)
            reading = min(reading, between - begun)
    return {name: (seconds - reading) / rows * 1e6 for name, seconds in taken.items()}


def measure(cursor, args, test, gamma):
    """Prints and returns rows of (landmarks, kind, values, mean error, its standard deviation,
    error relative to k-means, microseconds for a row)."""
    kernel = kernel_matrix(test, gamma)
    size = np.linalg.norm(kernel)
    results = []
    for k in args.landmarks:
        errors = {}
        for name, options, _, _ in KINDS:
            errors[name] = []
            for seed in range(args.seeds):
                make_landmarks(cursor, name, options, k, seed, args.rows)
                y = features(cursor, name, gamma)
                errors[name].append(np.linalg.norm(kernel - y @ y.T) / size)
        cursor.execute('VACUUM FULL maps')
        times = microseconds(cursor, len(test))
        cursor.execute("SELECT kind, (fastclust.describe(op) ->> 'nonzeros')::bigint FROM maps")
        values = dict(cursor.fetchall())
        for name in errors:
            results.append([k, name, values[name], np.mean(errors[name]), np.std(errors[name]), np.mean(errors[name]) / np.mean(errors['k-means']), times[name]])
            print('| %d | %s | %d | %.4f | %.4f | %.2f | %.1f |' % tuple(results[-1]), flush=True)
    return results


def draw(results, docs):
    figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
    for name, _, colour, line in KINDS:
        mine = [r for r in results if r[1] == name]
        axes[0].errorbar([r[0] for r in mine], [r[3] for r in mine], yerr=[r[4] for r in mine], fmt=line, color=colour, ms=4, label=name)
        axes[1].plot([r[6] for r in mine], [r[3] for r in mine], line, color=colour, ms=4)
    for axis, label in zip(axes, ('landmarks', 'microseconds a row')):
        axis.set_xscale('log')
        axis.set_yscale('log')
        axis.set_xlabel(label)
        axis.xaxis.set_major_formatter('{x:g}')
        axis.spines[['top', 'right']].set_visible(False)
    ticks = sorted({r[0] for r in results})
    axes[0].set_xticks(ticks, [str(k) for k in ticks])
    axes[0].minorticks_off()
    axes[0].set_yticks([0.02, 0.03, 0.05, 0.1], ['0.02', '0.03', '0.05', '0.1'])
    axes[0].set_ylabel('relative error of the kernel matrix')
    axes[1].set_xticks([2, 5, 10, 20, 50], ['2', '5', '10', '20', '50'])
    axes[1].minorticks_off()
    figure.legend(*axes[0].get_legend_handles_labels(), frameon=False, fontsize=8, ncol=3, loc='lower center')
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    pictures.save(figure, f'{docs}/nystroem.svg')


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--rows', type=int, default=20000)
    parser.add_argument('--test', type=int, default=2000)
    parser.add_argument('--seeds', type=int, default=5)
    parser.add_argument('--landmarks', type=lambda text: [int(k) for k in text.split(',')], default=[30, 64, 128])
    parser.add_argument('--out', default=here + '/../build/bench')
    parser.add_argument('--docs', default=here + '/../docs')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    images = tables.loader(args.data).mnist()[0]
    test = images[60000:60000 + args.test].astype(np.float64)
    train = images[np.random.default_rng(0).permutation(60000)[:args.rows]].astype(np.float32)
    gamma = 1 / mean_distance(train.astype(np.float64))
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; SET max_parallel_workers_per_gather = 0')
    tables.copy_rows(connection, 'train', train)
    tables.copy_rows(connection, 'test', test.astype(np.float32))
    cursor.execute('DROP TABLE IF EXISTS maps; CREATE TABLE maps (kind text, op fastop, map kernel_map)')
    print(f'{args.rows} training rows, {args.test} test rows, {args.seeds} seeds, gamma = {gamma:.3g}')
    print('| landmarks | | values | error | sd | error / k-means | us a row |\n| --- | --- | --- | --- | --- | --- | --- |')
    results = measure(cursor, args, test, gamma)
    with open(f'{args.out}/nystroem.csv', 'w') as file:
        out = csv.writer(file, lineterminator='\n')
        out.writerow(['landmarks', 'kind', 'values', 'error', 'sd', 'of k-means', 'microseconds'])
        out.writerows(results)
    draw(results, args.docs)


if __name__ == '__main__':
    main()
