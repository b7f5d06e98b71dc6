"""Compares the objective of QK-means over its iterations with k-means, and draws the centroids as
images.

tools/with-server.sh bash -c 'psql -d postgres -c "CREATE EXTENSION fastclust" &&
PGDATABASE=postgres python3 bench/quickmeans.py --data FOLDER --docs docs'
quickmeans.py --data FOLDER [--docs DOCS] [--rows N] [--csv CSV]

FOLDER has a load.py whose mnist() returns (images, labels). Everything runs in the server of the
PG* variables, which has the extension. All runs cluster MNIST with k = 30 from the same start
(Giffon et al. 2019, Fig. 1). Writes the objectives to CSV, by default the recorded run in
bench/results, and draws quick-means-objective.svg and quick-means-centroids.svg in DOCS.
pictures.py draws the first one again without a run.
Good: the objective approaches that of k-means, and never rises.
"""
import argparse
import csv
import io
import json
import sys

import matplotlib
import numpy as np
import psycopg2

matplotlib.use('Agg')
import matplotlib.pyplot as plt

import pictures

K = 30
ITERATIONS = 10
# label and options
RUNS = [('4 factors, sparsity 2', {'sparsity': 2}), ('4 factors, sparsity 3', {'sparsity': 3}), ('4 factors, sparsity 5', {'sparsity': 5}),
        ('2 factors, sparsity 2', {'sparsity': 2, 'factors': 2, 'budget': 2427}),
        ('2 factors, sparsity 3', {'sparsity': 3, 'factors': 2, 'budget': 3252}),
        ('2 factors, sparsity 5', {'sparsity': 5, 'factors': 2, 'budget': 4820})]


def load_table(cursor, name, rows):
    text = io.StringIO()
    for i, row in enumerate(rows):
        text.write(f"{i}\t{{{','.join(map(str, row))}}}\n")
    text.seek(0)
    cursor.execute(f'DROP TABLE IF EXISTS {name}; CREATE TABLE {name} (id int, x real[]); ALTER TABLE {name} ALTER x SET STORAGE EXTERNAL')
    cursor.copy_expert(f'COPY {name} FROM STDIN', text)
    cursor.execute(f'ANALYZE {name}')


def centroids(cursor, operator):
    cursor.execute('SELECT centroid FROM fastclust.centroids(%s::fastclust.fastop) ORDER BY cluster', [operator])
    return np.array([r[0] for r in cursor.fetchall()])


def kmeans(cursor, start):
    """Returns the objectives of the start and of each Lloyd step, each computed by one scan, and
    the last centroids."""
    cursor.execute('SELECT fastclust.fastop_agg(c ORDER BY o) FROM (SELECT o, (SELECT array_agg(v::float8) FROM json_array_elements_text(r) v) AS c '
                   'FROM json_array_elements(%s::json) WITH ORDINALITY u(r, o)) s', [json.dumps(start.tolist())])
    operator = cursor.fetchone()[0]
    objectives = []
    for _ in range(ITERATIONS + 1):
        last = operator
        cursor.execute('SELECT (s).next, (s).sse FROM (SELECT fastclust.lloyd_step_agg(%s::fastclust.fastop, x) AS s FROM images) q', [operator])
        operator, sse = cursor.fetchone()
        objectives.append(sse)
    return objectives, centroids(cursor, last)


def qkmeans(cursor, start, options):
    return qkmeans_from(cursor, len(start), dict(options, init=start.tolist(), tolerance=0))


def qkmeans_from(cursor, k, options):
    """Returns for each iteration (iteration, objective, objective of the means, values, seconds,
    operator, number of empty clusters)."""
    cursor.execute("SELECT iteration, objective, objective_of_means, nonzeros, seconds, op, empty FROM fastclust.qkmeans_log('images', 'x', %s, %s) ORDER BY iteration",
                   [k, json.dumps(dict(options, iterations=ITERATIONS))])
    return cursor.fetchall()


def objectives(cursor, images, docs, results):
    rng = np.random.default_rng(0)
    start = images[rng.choice(len(images), K, replace=False)].astype(float)
    base, plain = kmeans(cursor, start)
    recorded = [('k-means', plain.size, i, sse) for i, sse in enumerate(base)]
    images_of = [('k-means', plain)]
    print(f'| {len(images)} images, k = {K} | values | objective / k-means | means of its labels / k-means |\n| --- | --- | --- | --- |')
    for label, options in RUNS:
        steps = qkmeans(cursor, start, options)
        rises = [b[1] / a[1] - 1 for a, b in zip(steps, steps[1:])]
        if max(rises) > 1e-6:
            sys.exit(f'{label}: the objective rose by {max(rises)}')
        recorded += [(label, steps[-1][3], s[0], s[1]) for s in steps]
        images_of.append((label, centroids(cursor, steps[-1][5])))
        print(f'| {label} | {steps[-1][3]} | {steps[-1][1] / base[-1]:.3f} | {steps[-1][2] / base[-1]:.3f} |', flush=True)
    with open(results, 'w', newline='') as file:
        csv.writer(file, lineterminator='\n').writerows([('run', 'values', 'iteration', 'objective'), *recorded])
    with plt.rc_context(pictures.STYLE):
        pictures.quick_means(results, docs)
    show_centroids(images_of, docs)


def show_centroids(images_of, docs):
    chosen = [p for p in images_of if p[0] in ('k-means', '4 factors, sparsity 2', '4 factors, sparsity 5', '2 factors, sparsity 2')]
    figure, axes = plt.subplots(len(chosen), 1, figsize=(9, 1.35 * len(chosen)))
    for axis, (label, rows) in zip(axes, chosen):
        mosaic = np.hstack([r.reshape(28, 28) for r in rows[:15]])
        mosaic = np.vstack([mosaic, np.hstack([r.reshape(28, 28) for r in rows[15:30]])])
        axis.imshow(mosaic, cmap='gray_r', vmin=0, vmax=255, interpolation='nearest')
        axis.set_ylabel(label, fontsize=7)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.tight_layout()
    pictures.save(figure, f'{docs}/quick-means-centroids.svg')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--docs', default='docs')
    parser.add_argument('--rows', type=int, default=60000)
    parser.add_argument('--csv', default=f'{pictures.RESULTS}/quick_means_objective.csv')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    sys.path.insert(0, arguments.data)
    import load
    images = load.mnist()[0][:arguments.rows]
    load_table(cursor, 'images', images)
    objectives(cursor, images, arguments.docs, arguments.csv)


if __name__ == '__main__':
    main()
