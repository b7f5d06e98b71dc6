"""Compares the quality and time of the metric cosine with brute force, and with scikit-learn on
rows of length 1.

python3 cosine.py [--data FOLDER] [--rows N] [--only NAME,..] [--k K,..] [--starts 10] [--out
FOLDER]

Connects by PG* variables. FOLDER keeps the results of scikit-learn, so that a second run is
quick.
"SSE" is the SSE of train, divided by the SSE of the best start of KMeans on normalised rows; both
are computed with centroids of length 1. "kmeans_agg" is the same ratio for kmeans_agg. "labels" is
the share of rows with the label that brute force in double precision gives; rows whose two nearest
centroids differ by less than 1e-7 are left out. "CPU" is the CPU seconds of train in the server,
with all its workers, and of one start of KMeans.
Good: SSE near 1 or below, and labels of 1.
"""
import argparse
import json
import os
import time

import numpy as np
import psycopg2
from sklearn.cluster import KMeans

import tables


def news(rows=11000, topics=20, words=1500, seed=0):
    """Returns rows like 20 Newsgroups by tf-idf: word frequencies follow Zipf's law, each topic
    prefers words of its own, and the texts have unequal lengths."""
    rng = np.random.default_rng(seed)
    common = 1 / np.arange(1, words + 1)
    common /= common.sum()
    own = np.zeros((topics, words))
    for t in range(topics):
        chosen = rng.choice(words, 120, replace=False)
        own[t, chosen] = rng.dirichlet(np.full(120, .3))
    topic = rng.choice(topics, rows, p=rng.dirichlet(np.full(topics, 8)))
    share = rng.beta(2, 3, rows)
    length = np.exp(rng.normal(4.3, .8, rows)).astype(int) + 5
    counts = np.array([rng.multinomial(n, (1 - s) * common + s * own[t]) for n, s, t in zip(length, share, topic)], dtype=np.float32)
    idf = np.log(rows / (1 + (counts > 0).sum(0)))
    return (np.log1p(counts) * np.maximum(idf, 0)).astype(np.float32)


def directions(rows, d=64, topics=30, seed=0):
    """Returns rows of topics of unequal sizes and spreads on the sphere, scaled to random lengths
    that are independent of the topic."""
    rng = np.random.default_rng(seed)
    p = np.arange(1, topics + 1) ** -1.0
    topic = rng.choice(topics, rows, p=p / p.sum())
    spread = rng.uniform(.5, 1.5, topics)
    x = rng.standard_normal((topics, d))[topic] + spread[topic, None] * rng.standard_normal((rows, d))
    return (x * rng.lognormal(0, 1, (rows, 1))).astype(np.float32)


def data_sets(folder, rows):
    if folder:
        yield 'mnist', lambda: tables.real_sets(folder)['mnist']()[0][:rows]
    yield 'news', news
    yield 'directions', lambda: directions(min(rows, 50000))


def unit_rows(x):
    x = x.astype(np.float64)
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def on_sphere(unit, centroids):
    """Returns the SSE, the label of each row, and the margin by which the nearest centroid beats
    the second nearest."""
    c = unit_rows(centroids)
    total, labels, margins = 0.0, [], []
    for i in range(0, len(unit), 20000):
        cosine = unit[i:i + 20000] @ c.T
        two = np.partition(cosine, -2, axis=1)[:, -2:] if len(c) > 1 else np.repeat(cosine, 2, axis=1) - [1, 0]
        total += (2 - 2 * two[:, 1]).sum()
        labels.append(cosine.argmax(1))
        margins.append(two[:, 1] - two[:, 0])
    return total, np.concatenate(labels), np.concatenate(margins)


def reference(unit, k, starts, cache):
    """Returns the minimum SSE on the sphere over all starts of KMeans, and the CPU seconds of one
    start."""
    if str(k) not in cache:
        begun = time.process_time()
        rows = unit.astype(np.float32)
        best = min(on_sphere(unit, KMeans(k, n_init=1, random_state=i).fit(rows).cluster_centers_)[0] for i in range(starts))
        cache[str(k)] = [best, (time.process_time() - begun) / starts]
    return cache[str(k)]


def server_cpu(cursor):
    """Returns the CPU seconds of the backend and of its workers that have ended."""
    fields = open(f'/proc/{cursor.connection.info.backend_pid}/stat').read().rsplit(') ', 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf('SC_CLK_TCK')


def centroids(cursor, query):
    cursor.execute(query)
    return np.array([row[0] for row in cursor.fetchall()])


def train(cursor, k):
    cursor.execute('SELECT count(drop_model(model)) FROM models')
    begun = server_cpu(cursor)
    cursor.execute("""SELECT train('bench', 'points', 'x', %s, options => '{"metric": "cosine"}')""", (k,))
    seconds = server_cpu(cursor) - begun
    cursor.execute("SELECT predict('bench', x) FROM points ORDER BY id")
    labels = np.array([row[0] for row in cursor.fetchall()])
    return centroids(cursor, "SELECT c.centroid FROM centroids(model_operator('bench')) c ORDER BY c.cluster"), labels, seconds


def in_memory(cursor, k):
    return centroids(cursor, f"""SELECT c.centroid FROM (SELECT kmeans_agg(x, {k}, '{{"metric": "cosine"}}') AS op FROM points) q,
                                 centroids(q.op) c ORDER BY c.cluster""")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--rows', type=int, default=70000)
    parser.add_argument('--only')
    parser.add_argument('--k', default='10,50,200')
    parser.add_argument('--starts', type=int, default=10)
    parser.add_argument('--memory', action='store_true', help='kmeans_agg over all rows as well')
    parser.add_argument('--out', default='build/bench/cosine')
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("SET search_path = public, fastclust; SET client_min_messages = warning; SET max_parallel_workers_per_gather = 0")
    print(f"{'data':12s}{'rows':>8s}{'d':>6s}{'k':>5s}{'SSE':>9s}{'kmeans_agg':>12s}{'labels':>10s}{'CPU':>8s}{'a start':>9s}", flush=True)
    for name, make in data_sets(args.data, args.rows):
        if args.only and name not in args.only.split(','):
            continue
        x = np.ascontiguousarray(make(), dtype=np.float32)
        x = x[(x != 0).any(1)]
        unit = unit_rows(x)
        tables.copy_rows(connection, 'points', x)
        path = os.path.join(args.out, f'{name}_{len(x)}_{args.starts}.json')
        cache = json.load(open(path)) if os.path.exists(path) else {}
        for k in map(int, args.k.split(',')):
            best, one_start = reference(unit, k, args.starts, cache)
            json.dump(cache, open(path, 'w'))
            c, labels, seconds = train(cursor, k)
            sse, expected, margins = on_sphere(unit, c)
            clear = margins > 1e-7
            memory = f'{on_sphere(unit, in_memory(cursor, k))[0] / best:12.4f}' if args.memory else f"{'':12s}"
            print(f'{name:12s}{len(x):8d}{x.shape[1]:6d}{k:5d}{sse / best:9.4f}{memory}'
                  f'{(labels == expected)[clear].mean():10.6f}{seconds:8.1f}{one_start:9.1f}', flush=True)


if __name__ == '__main__':
    main()
