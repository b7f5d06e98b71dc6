"""Compares the quality of train with option row_weight with the best of ten starts of scikit-learn
that have the same weights (sample_weight).

tools/with-server.sh python3 bench/weights.py [--data FOLDER] [--rows 100000] [--starts 10]

Ten tables: generated ones, small real ones of scikit-learn, and with FOLDER, which has a load.py,
spectral features of MNIST, image segmentation and KDD Cup 99. The weights are
    lognormal   independent of the rows
    survey      whole numbers from 1 to 20 that depend on a quarter of the rows
    population  a power law, as of towns: few rows have most of the weight
    one side    large where the first coordinate is large
"SSE" is the weighted sum of squared distances to the model's centroids, over that of the best
start. "sizes" is the largest difference between the weight of a cluster in model_clusters and the
weight of the rows that `predict` labels, as a share of the total.
Good: an SSE of at most 1.01.
"""
import argparse
import json

import numpy as np
import psycopg2
from sklearn import datasets
from sklearn.cluster import KMeans

import defaults
import tables
from quality import centroids_of

LAWS = {
    'lognormal': lambda x, rng: rng.lognormal(0, 1, len(x)),
    'survey': lambda x, rng: np.where(rng.random(len(x)) < .25, rng.integers(10, 21, len(x)), rng.integers(1, 4, len(x))),
    'population': lambda x, rng: np.minimum(rng.pareto(1.1, len(x)) + 1, 1e4),
    'one side': lambda x, rng: 1 + 50 * (x[:, 0] > np.quantile(x[:, 0], .9)),
}


def ten_tables(rows, folder):
    """Returns name -> (function that returns the rows, numbers of clusters)."""
    made = {
        'mixture': (lambda: tables.ckm_mixture(10, 10, rows, 0), (10,)),
        'overlapping': (lambda: tables.ckm_mixture(20, 10, rows, 2, spread=.3), (5, 20)),
        'power law of sizes': (lambda: defaults.power_law(rows, 10, 4), (20, 60)),
        'heavy tails': (lambda: defaults.pareto(rows, 5, 5), (5, 20)),
        'survey answers': (lambda: defaults.survey(min(rows, 20000), 20, 4, 1).x, (4,)),
        'digits': (lambda: datasets.load_digits().data, (10,)),
        'breast cancer': (lambda: standardised(datasets.load_breast_cancer().data), (2, 8)),
    }
    if folder:
        load = tables.loader(folder)
        made['MNIST spectral'] = (lambda: load.mnist_spectral()[0], (10, 30))
        made['image segmentation'] = (lambda: load.image_segmentation()[0], (7, 20))
        made['KDD Cup 99'] = (lambda: load.kddcup99(prep='zlog')[0][:rows], (10,))
    return made


def standardised(x):
    return (x - x.mean(0)) / x.std(0)


def nearest(x, centroids):
    """Returns the nearest centroid of each row, and its squared distance."""
    labels, squares = [], []
    for i in range(0, len(x), 100000):
        part = x[i:i + 100000].astype(np.float64)
        distances = (centroids ** 2).sum(1) - 2 * part @ centroids.T
        labels.append(distances.argmin(1))
        squares.append(((part ** 2).sum(1) + distances.min(1)).clip(0))
    return np.concatenate(labels), np.concatenate(squares)


def load(connection, x, weights):
    tables.copy_rows(connection, 'points', x)
    tables.copy_columns(connection, 'weights', weights[:, None])
    with connection.cursor() as cursor:
        cursor.execute('DROP TABLE IF EXISTS weighted; CREATE UNLOGGED TABLE weighted AS SELECT p.id, p.x, w.c0 AS w FROM points p JOIN weights w USING (id)')
        cursor.execute('ANALYZE weighted')


def measure(cursor, name, x, k, law, weights, starts):
    cursor.execute("SELECT count(drop_model(model)) FROM models WHERE model = 'bench'")
    cursor.execute("SELECT train('bench', 'weighted', 'x', %s, options => %s)", (k, json.dumps({'row_weight': 'w', 'quiet': True})))
    centroids = centroids_of(cursor, "SELECT c.centroid FROM model_versions v, centroids(v.operator) c WHERE v.model = 'bench' ORDER BY c.cluster")
    labels, squares = nearest(x, centroids)
    best = min(KMeans(k, n_init=1, random_state=i).fit(x, sample_weight=weights).inertia_ for i in range(starts))
    cursor.execute("SELECT weight FROM model_clusters WHERE model = 'bench' ORDER BY cluster")
    stored = np.array(cursor.fetchall(), dtype=float)[:, 0]
    true = np.bincount(labels, weights, len(centroids))
    ratio = (weights * squares).sum() / best
    print(f'{name:20s}{k:5d}  {law:12s}{ratio:9.4f}{np.abs(stored - true).max() / weights.sum():9.4f}', flush=True)
    return ratio


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', help='folder with a load.py')
    parser.add_argument('--rows', type=int, default=100_000)
    parser.add_argument('--starts', type=int, default=10)
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; SET client_min_messages = error')
    print(f"{'table':20s}{'k':>5s}  {'weights':12s}{'SSE':>9s}{'sizes':>9s}")
    ratios = []
    for name, (make, numbers) in ten_tables(arguments.rows, arguments.data).items():
        x = np.ascontiguousarray(make(), dtype=np.float32)
        for law, draw in LAWS.items():
            weights = np.asarray(draw(x, np.random.default_rng(1)), dtype=np.float64)
            load(connection, x, weights)
            ratios += [measure(cursor, name, x, k, law, weights, arguments.starts) for k in numbers]
    print(f'SSE mean {np.mean(ratios):.4f}, worst {max(ratios):.4f}, above 1.01 in {sum(r > 1.01 for r in ratios)} of {len(ratios)}')


if __name__ == '__main__':
    main()
