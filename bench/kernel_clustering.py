"""Measures quality, memory and time of kernel clustering, for Table 1 and Figures 1 to 3 of the
paper.

python3 kernel_clustering.py [--data FOLDER] [--seeds N] [--only PART,..] [--out FOLDER] [--docs
FOLDER]

Connects by PG* variables. Parts: rings, table, columns, segmentation (needs --data), memory,
time. CSV files go to --out, pictures to --docs.
The paper is Pourkamali-Anaraki, Becker, A randomized approach to efficient kernel clustering,
2016. The error is ||K - Y Y'||_F / ||K||_F in double precision, with K = F F' from the explicit
features F of the kernel <x, y>^2. Accuracy is the share of rows whose cluster and class correspond
in the best matching of clusters and classes.
Good: the error of the exact decomposition and the accuracy of the paper, with less memory than
Nystrom needs for the same error.
"""
import argparse
import csv
import os
import re
import time

import matplotlib
import numpy as np
import psycopg2
from scipy.optimize import linear_sum_assignment

import pictures
import tables

matplotlib.use('Agg')
import matplotlib.pyplot as plt

KERNEL = 'polynomial_kernel(2)'
BLUE, DARK, GREY, LIGHT = '#1f5f8b', '#0b2f4a', '#999999', '#7aa6c2'


def one_pass(rank, oversampling, seed):
    return f'''kernel_projection_agg(id, x, {KERNEL}, {rank}, '{{"oversampling": {oversampling}, "seed": {seed}}}')'''


def nystroem(rank, columns, seed):
    return f'''kernel_projection_agg(id, x, {KERNEL}, {rank}, '{{"method": "nystroem", "columns": {columns}, "seed": {seed}}}')'''


def cholesky(rank, columns, seed):
    return f'''kernel_projection_agg(id, x, {KERNEL}, {rank}, '{{"method": "pivoted_cholesky", "columns": {columns}, "seed": {seed}}}')'''


def exact(rank):
    return f'''kernel_projection_agg(id, x, {KERNEL}, {rank}, '{{"method": "exact"}}')'''


def disc_and_ring(n, seed):
    """Returns rows and classes of a disc of radius 0.2 and a ring of radius 1 with standard
    deviation 0.05, half of the rows in each."""
    rng = np.random.default_rng(seed)
    half = n // 2
    radius = np.concatenate([0.2 * np.sqrt(rng.random(half)), 1 + 0.05 * rng.standard_normal(n - half)])
    angle = 2 * np.pi * rng.random(n)
    return np.c_[radius * np.cos(angle), radius * np.sin(angle)].astype(np.float32), (np.arange(n) >= half).astype(int)


def square_features(x):
    """Returns the features F with F F' = <x, y>^2."""
    x = x.astype(np.float64)
    i, j = np.triu_indices(x.shape[1])
    return x[:, i] * x[:, j] * np.where(i == j, 1.0, np.sqrt(2.0))


def relative_error(features, y):
    joint = np.c_[features, y]
    gram = joint.T @ joint
    d = features.shape[1]
    square = (gram[:d, :d] ** 2).sum()
    return np.sqrt(max(square - 2 * (gram[:d, d:] ** 2).sum() + (gram[d:, d:] ** 2).sum(), 0) / square)


def accuracy(classes, clusters):
    table = np.zeros((classes.max() + 1, clusters.max() + 1))
    np.add.at(table, (classes, clusters), 1)
    rows, columns = linear_sum_assignment(-table)
    return table[rows, columns].sum() / len(classes)


def embed(cursor, call):
    """Returns the coordinates of the table points in the embedding of a call, ordered by id."""
    cursor.execute(f'DROP TABLE IF EXISTS projected; CREATE TEMP TABLE projected AS SELECT {call} AS p FROM points')
    cursor.execute("SELECT string_agg(array_to_string(y, ' '), ' ' ORDER BY id), max(array_length(y, 1)) FROM projected, embedding_of(p)")
    text, rank = cursor.fetchone()
    return np.array(text.split(' '), dtype=np.float64).reshape(-1, rank)


def cluster(cursor, k):
    """Returns the k-means cluster of each row of the last embedding, ordered by id."""
    cursor.execute(f"""WITH m AS (SELECT kmeans_agg(y, {k}, '{{"n_init": 20}}') AS op FROM projected, embedding_of(p))
        SELECT string_agg(assign(op, y)::text, ' ' ORDER BY id) FROM m, projected, embedding_of(p)""")
    return np.array(cursor.fetchone()[0].split(' '), dtype=int)


def write(path, header, rows):
    with open(path, 'w') as file:
        out = csv.writer(file, lineterminator='\n')
        out.writerow(header)
        out.writerows(rows)


def judged(cursor, call, features, classes):
    """Returns the error of the kernel matrix and the accuracy of the projection that a call makes
    of the table points."""
    y = embed(cursor, call)
    return relative_error(features, y), accuracy(classes, cluster(cursor, classes.max() + 1))


def table_of(connection, seed):
    """Returns Table 1 for one sample: method -> (error, accuracy)."""
    cursor = connection.cursor()
    x, classes = disc_and_ring(4000, seed)
    tables.copy_rows(connection, 'points', x)
    calls = {'exact': exact(2), "one pass, r' = 12": one_pass(2, 10, seed),
             'nystroem, 20 columns': nystroem(2, 20, seed), 'nystroem, 100 columns': nystroem(2, 100, seed),
             'pivoted cholesky, 20 columns': cholesky(2, 20, seed)}
    results = {name: judged(cursor, call, square_features(x), classes) for name, call in calls.items()}
    cursor.execute("SELECT string_agg(assign((SELECT kmeans_agg(x, 2) FROM points), x)::text, ' ' ORDER BY id) FROM points")
    results['k-means without a kernel'] = np.nan, accuracy(classes, np.array(cursor.fetchone()[0].split(' '), dtype=int))
    return results


def table(connection, args):
    """Writes and prints Table 1: error and accuracy, averaged over the samples."""
    samples = [table_of(connection, seed) for seed in range(args.seeds)]
    results = {name: [sample[name] for sample in samples] for name in samples[0]}
    rows = [[name, *np.mean(r, 0).round(4), *np.std(r, 0).round(4), np.min(r, 0)[1].round(4)] for name, r in results.items()]
    rows = [['' if v != v else v for v in row] for row in rows]
    write(f'{args.out}/kernel_table.csv', ['method', 'error', 'accuracy', 'error sd', 'accuracy sd', 'accuracy min'], rows)
    for row in rows:
        print('table 1:', *row, flush=True)


def mapped_samples(connection, args):
    """Draws Figures 1 and 2: the rows, and their images under four methods."""
    cursor = connection.cursor()
    x, classes = disc_and_ring(4000, 0)
    tables.copy_rows(connection, 'points', x)
    cursor.execute('SELECT centroid FROM (SELECT kmeans_agg(x, 2) AS op FROM points) m, centroids(op)')
    centroids = np.array([row[0] for row in cursor.fetchall()])
    panels = [('rows', x)]
    for name, call in (('exact', exact(2)), ("one pass, r' = 12", one_pass(2, 10, 0)),
                       ('Nyström, 20 columns', nystroem(2, 20, 3)), ('Nyström, 100 columns', nystroem(2, 100, 3))):
        panels.append((name, embed(cursor, call)))
    with plt.rc_context(pictures.STYLE):
        draw_rings(panels, classes, centroids, f'{args.docs}/kernel-rings.svg')


def draw_rings(panels, classes, centroids, path):
    """Draws the rows with their centroids, and the coordinates of the rows by each method on the
    same scale."""
    shown = np.random.default_rng(0).choice(len(classes), 700, replace=False)
    figure = plt.figure(figsize=(pictures.WIDTH, 7.6))
    grid = figure.add_gridspec(2, 4, height_ratios=(1, 1), hspace=.42, wspace=.12, left=.12, right=.985, bottom=.09, top=.94)
    rows = figure.add_subplot(grid[0, :2])
    methods = [figure.add_subplot(grid[1, i]) for i in range(4)]
    for axis, (name, y) in zip((rows, *methods), panels):
        for which, colour, label in ((0, BLUE, 'rows of the disc'), (1, pictures.ORANGE, 'rows of the ring')):
            some = shown[classes[shown] == which]
            axis.plot(y[some, 0], y[some, 1], 'o', ms=2.6, mew=0, color=colour, label=label)
        axis.set_title(name.replace(', ', ',\n'))
        axis.set_aspect('equal')
        axis.grid(False)
        axis.spines[['top', 'right']].set_visible(True)
    rows.plot(centroids[:, 0], centroids[:, 1], 'x', color='black', ms=10, mew=2.5, ls='', label='centroids of k-means')
    rows.set_xlabel('column 1')
    rows.set_ylabel('column 2')
    rows.legend(loc='center left', bbox_to_anchor=(1.08, .5), markerscale=2)
    for axis in methods:
        axis.set_xlim(-.15, 1.3)
        axis.set_ylim(-1.05, 1.15)
        axis.set_xticks((0, 1))
        axis.set_yticks((-1, 0, 1))
        axis.set_xlabel('coordinate 1')
        axis.tick_params(labelleft=axis is methods[0])
    methods[0].set_ylabel('coordinate 2')
    pictures.save(figure, path)


def columns(connection, args):
    """Writes and prints the mean error of uniform Nystrom over its number of columns, with the
    errors of one pass and of the exact decomposition."""
    cursor = connection.cursor()
    grid = [20, 50, 100, 200, 300, 400, 600, 1000]
    errors = {m: [] for m in grid}
    ours, best = [], []
    for seed in range(min(args.seeds, 30)):
        x, _ = disc_and_ring(4000, seed)
        features = square_features(x)
        tables.copy_rows(connection, 'points', x)
        best.append(relative_error(features, features @ np.linalg.eigh(features.T @ features)[1][:, 1:]))
        ours.append(relative_error(features, embed(cursor, one_pass(2, 10, seed))))
        for m in grid:
            errors[m].append(relative_error(features, embed(cursor, nystroem(2, m, seed))))
    rows = [['exact', '', np.mean(best).round(4)], ['one pass', 12, np.mean(ours).round(4)]]
    rows += [['nystroem', m, np.mean(errors[m]).round(4)] for m in grid]
    write(f'{args.out}/kernel_columns.csv', ['method', 'columns', 'error'], rows)
    needed = next((m for m in grid if np.mean(errors[m]) <= np.mean(best) + 0.01), grid[-1])
    for row in rows:
        print('columns:', *row, flush=True)
    print('columns: Nystrom is within 0.01 of exact from', needed, 'columns on', flush=True)


def segmentation(connection, args):
    """Measures and draws Figure 3: image segmentation, 2310 x 19 on the unit sphere, 7 classes."""
    if not args.data:
        print('segmentation: needs --data', flush=True)
        return
    cursor = connection.cursor()
    x, classes = tables.labelled_set(args.data, 'image_segmentation', 'l2')
    features = square_features(x)
    tables.copy_rows(connection, 'points', x.astype(np.float32))
    grid = [7, 10, 15, 20, 25, 30, 35, 40, 45, 50]
    results = {'one pass': []}
    results.update({m: [] for m in grid})
    best = judged(cursor, exact(2), features, classes)
    full = judged(cursor, exact(190), features, classes)
    for seed in range(args.seeds):
        results['one pass'].append(judged(cursor, one_pass(2, 5, seed), features, classes))
        for m in grid:
            results[m].append(judged(cursor, nystroem(2, m, seed), features, classes))
    means = {name: np.mean(r, 0) for name, r in results.items()}
    rows = [['exact, rank 2', '', *np.round(best, 4)], ['exact, full rank', '', *np.round(full, 4)],
            ['one pass', 7, *means['one pass'].round(4)]] + [['nystroem', m, *means[m].round(4)] for m in grid]
    write(f'{args.out}/kernel_segmentation.csv', ['method', 'columns', 'error', 'accuracy'], rows)
    for row in rows:
        print('image segmentation:', *row, flush=True)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    for which, (axis, label) in enumerate(zip(axes, ('error of the kernel matrix', 'clustering accuracy'))):
        axis.plot(grid, [means[m][which] for m in grid], 'o-', color=GREY, label='Nyström')
        axis.axhline(means['one pass'][which], color=BLUE, label="one pass, r' = 7")
        axis.axhline(best[which], color=DARK, ls='--', label='exact, rank 2')
        if which == 1:
            axis.axhline(full[which], color=LIGHT, ls=':', label='full kernel k-means')
        axis.set_xlabel('columns of Nyström')
        axis.set_ylabel(label)
        axis.spines[['top', 'right']].set_visible(False)
        axis.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    pictures.save(figure, f'{args.docs}/kernel-segmentation.svg')


def over_rows(path, lines, sizes, axis_label, rows_label='rows'):
    """Draws lines [(name, xs, ys, style, colour)] over the number of rows, with both axes
    logarithmic."""
    figure, axis = plt.subplots(figsize=(6, 4))
    for name, xs, ys, style, colour in lines:
        axis.loglog(xs, ys, style, color=colour, label=name, ms=4)
    axis.set_xlabel(rows_label)
    axis.set_ylabel(axis_label)
    axis.set_xticks(sizes, [str(n) for n in sizes])
    axis.minorticks_off()
    axis.spines[['top', 'right']].set_visible(False)
    axis.legend(frameon=False, fontsize=8, loc='lower center', bbox_to_anchor=(.5, 1), ncols=3)
    figure.tight_layout()
    pictures.save(figure, path)


def peak_of(call, n):
    """Returns the peak resident memory in kB that a call over n rows adds to a fresh backend, after
    calls over 200 rows."""
    connection = psycopg2.connect('')
    cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET max_parallel_workers_per_gather = 0')
    status = "SELECT pg_read_file('/proc/' || pg_backend_pid() || '/status')"

    def peak():
        cursor.execute(status)
        return int(re.search(r'VmHWM:\s+(\d+)', cursor.fetchone()[0]).group(1))
    for warm in (one_pass(2, 10, 0), nystroem(2, 100, 0)):
        cursor.execute(f'SELECT {warm} IS NULL FROM points WHERE id < 200')
    before = peak()
    cursor.execute(f'SELECT {call} IS NULL FROM points WHERE id < {n}')
    after = peak()
    connection.close()
    return after - before


def memory(connection, args):
    """Measures and draws the peak memory over n, of one pass and of Nystrom with enough columns for
    the same error."""
    sizes = [5000, 10000, 20000, 40000]
    x, _ = disc_and_ring(sizes[-1], 0)
    tables.copy_rows(connection, 'points', x[np.random.default_rng(0).permutation(len(x))])
    calls = {"one pass, r' = 12": one_pass(2, 10, 0), "one pass, r' = 20": one_pass(10, 10, 0),
             'Nyström, 400 columns': nystroem(2, 400, 0)}
    rows = [[name, n, peak_of(call, n)] for name, call in calls.items() for n in sizes]
    write(f'{args.out}/kernel_memory.csv', ['method', 'rows', 'kB'], rows)
    for row in rows:
        print('memory:', *row, flush=True)
    lines = [(name, sizes, [r[2] / 1024 for r in rows if r[0] == name], 'o-', colour) for name, colour in zip(calls, (BLUE, LIGHT, GREY))]
    lines.append(('the kernel matrix', sizes, [8 * n * n / 2 ** 20 for n in sizes], ':', DARK))
    over_rows(f'{args.docs}/kernel-memory.svg', lines, sizes, 'peak memory, MB')


def timing(connection, args):
    """Measures and draws the seconds over n, in 19 dimensions without parallel workers."""
    rng = np.random.default_rng(0)
    sizes = [1000, 2000, 4000, 8000, 16000, 32000]
    tables.copy_rows(connection, 'points', rng.standard_normal((sizes[-1], 19)).astype(np.float32))
    cursor = connection.cursor()
    cursor.execute('SET max_parallel_workers_per_gather = 0')
    calls = {"one pass, r' = 20": (one_pass(10, 10, 0), 1 << 30), "one pass, r' = 20, rbf": (one_pass(10, 10, 0).replace(KERNEL, 'rbf_kernel(0.02)'), 1 << 30),
             'Nyström, 400 columns': (nystroem(10, 400, 0), 1 << 30), 'pivoted Cholesky, 100 columns': (cholesky(10, 100, 0), 1 << 30),
             'exact': (exact(10), 4000)}
    rows = []
    for name, (call, most) in calls.items():
        for n in sizes:
            if n > most:
                continue
            best = np.inf
            for _ in range(3 if n <= 8000 else 2):
                start = time.perf_counter()
                cursor.execute(f'SELECT {call} IS NULL FROM points WHERE id < {n}')
                best = min(best, time.perf_counter() - start)
            rows.append([name, n, round(best, 5)])
            print('time:', *rows[-1], flush=True)
    write(f'{args.out}/kernel_time.csv', ['method', 'rows', 'seconds'], rows)
    lines = [(name, [r[1] for r in rows if r[0] == name], [r[2] for r in rows if r[0] == name], 'o-', colour)
             for name, colour in zip(calls, (BLUE, LIGHT, GREY, '#c96a2b', DARK))]
    over_rows(f'{args.docs}/kernel-time.svg', lines, sizes, 'seconds', 'rows (19 dimensions)')


def main():
    parts = {'rings': mapped_samples, 'table': table, 'columns': columns, 'segmentation': segmentation, 'memory': memory, 'time': timing}
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--seeds', type=int, default=100)
    parser.add_argument('--only')
    parser.add_argument('--out', default=here + '/../build/bench')
    parser.add_argument('--docs', default=here + '/../docs')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    connection = psycopg2.connect('')
    connection.autocommit = True
    connection.cursor().execute('SET search_path = public, fastclust; SET client_min_messages = warning')
    for name in args.only.split(',') if args.only else parts:
        parts[name](connection, args)


if __name__ == '__main__':
    main()
