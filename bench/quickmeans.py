"""Compares the objective of QK-means over its iterations with k-means, and draws the centroids as
images.

tools/with-server.sh bash -c 'psql -d postgres -c "CREATE EXTENSION fastclust" &&
PGDATABASE=postgres python3 bench/quickmeans.py --data FOLDER --docs docs'
quickmeans.py --data FOLDER [--docs DOCS] [--rows N]

FOLDER has a load.py whose mnist() returns (images, labels). Everything runs in the server of the
PG* variables, which has the extension. All runs cluster MNIST with k = 30 from the same start
(Giffon et al. 2019, Fig. 1). Writes quick-means-objective.svg and quick-means-centroids.svg in
DOCS.
Good: the objective approaches that of k-means, and never rises.
"""
import argparse
import io
import json
import sys

import matplotlib
import numpy as np
import psycopg2

matplotlib.use('Agg')
import matplotlib.pyplot as plt

plt.rcParams['svg.hashsalt'] = 'fastclust'
K = 30
ITERATIONS = 10
# label, options, colour, line
RUNS = [('sparsity 2', {'sparsity': 2}, '#d98032', ':'), ('sparsity 3', {'sparsity': 3}, '#5a9e5a', ':'), ('sparsity 5', {'sparsity': 5}, '#1f5f8b', ':'),
        ('2 factors, sparsity 2', {'sparsity': 2, 'factors': 2, 'budget': 2427}, '#d98032', '-'),
        ('2 factors, sparsity 3', {'sparsity': 3, 'factors': 2, 'budget': 3252}, '#5a9e5a', '-'),
        ('2 factors, sparsity 5', {'sparsity': 5, 'factors': 2, 'budget': 4820}, '#1f5f8b', '-')]


def save(figure, path):
    figure.savefig(path, metadata={'Date': None})


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


def objectives(cursor, images, docs):
    rng = np.random.default_rng(0)
    start = images[rng.choice(len(images), K, replace=False)].astype(float)
    base, plain = kmeans(cursor, start)
    figure, axis = plt.subplots(figsize=(8, 4.2))
    axis.plot(range(ITERATIONS + 1), base, color='black', label=f'k-means, {plain.size} values')
    pictures = [('k-means', plain)]
    print(f'| {len(images)} images, k = {K} | values | objective / k-means | means of its labels / k-means |\n| --- | --- | --- | --- |')
    for label, options, colour, line in RUNS:
        steps = qkmeans(cursor, start, options)
        rises = [b[1] / a[1] - 1 for a, b in zip(steps, steps[1:])]
        if max(rises) > 1e-6:
            sys.exit(f'{label}: the objective rose by {max(rises)}')
        axis.plot([s[0] for s in steps], [s[1] for s in steps], color=colour, linestyle=line, label=f'{label}, {steps[-1][3]}')
        pictures.append((label, centroids(cursor, steps[-1][5])))
        print(f'| {label} | {steps[-1][3]} | {steps[-1][1] / base[-1]:.3f} | {steps[-1][2] / base[-1]:.3f} |', flush=True)
    axis.set_ylim(base[-1] * 0.97, base[-1] * 1.35)
    axis.set_xlabel('iterations')
    axis.set_ylabel('sum of squared distances')
    axis.legend(frameon=False, fontsize=8)
    axis.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    save(figure, f'{docs}/quick-means-objective.svg')
    show_centroids(pictures, docs)


def show_centroids(pictures, docs):
    chosen = [p for p in pictures if p[0] in ('k-means', 'sparsity 2', 'sparsity 5', '2 factors, sparsity 2')]
    figure, axes = plt.subplots(len(chosen), 1, figsize=(9, 1.35 * len(chosen)))
    for axis, (label, rows) in zip(axes, chosen):
        mosaic = np.hstack([r.reshape(28, 28) for r in rows[:15]])
        mosaic = np.vstack([mosaic, np.hstack([r.reshape(28, 28) for r in rows[15:30]])])
        axis.imshow(mosaic, cmap='gray_r', vmin=0, vmax=255, interpolation='nearest')
        axis.set_ylabel(label, fontsize=7)
        axis.set_xticks([])
        axis.set_yticks([])
    figure.tight_layout()
    save(figure, f'{docs}/quick-means-centroids.svg')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--docs', default='docs')
    parser.add_argument('--rows', type=int, default=60000)
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    sys.path.insert(0, arguments.data)
    import load
    images = load.mnist()[0][:arguments.rows]
    load_table(cursor, 'images', images)
    objectives(cursor, images, arguments.docs)


if __name__ == '__main__':
    main()
