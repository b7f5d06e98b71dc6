"""Compares one statement that turns embeddings into topics with an export to Python and
MiniBatchKMeans of scikit-learn.

python3 topics.py [--rows 200000] [--dim 384] [--topics 40] [--workers 2]

Connects by PG* variables. The planted topics are directions, with sizes by a power law and unequal
spreads. The statement is train(..., k => NULL, options => '{"metric": "cosine"}'). The export is
COPY of the table to Python, scaling to length 1, and MiniBatchKMeans with the number of topics
given. Seconds are wall time, and CPU time including that of the server. NMI is the normalised
mutual information with the planted topics.
Good: a higher NMI in less time, without the number of topics.
"""
import argparse
import io
import os
import time

import numpy as np
import psycopg2
from sklearn.cluster import MiniBatchKMeans
from sklearn.metrics import normalized_mutual_info_score

import tables
from cosine import server_cpu, unit_rows


def planted(rows, d, topics, seed=0):
    """Returns rows of unequal lengths around `topics` directions, and the topic of each row.
    Cosines within a topic are .4 to .8 on average."""
    rng = np.random.default_rng(seed)
    p = np.arange(1, topics + 1) ** -1.0
    topic = rng.choice(topics, rows, p=p / p.sum())
    centers = rng.standard_normal((topics, d)).astype(np.float32)
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    spread = rng.uniform(.7, 1.5, topics).astype(np.float32)
    x = rng.standard_normal((rows, d), dtype=np.float32)
    x *= (spread[topic] / np.sqrt(d))[:, None]
    x += centers[topic]
    return x * rng.lognormal(0, .3, (rows, 1)).astype(np.float32), topic


def fetched(cursor, d):
    """Returns the rows of the table, fetched in the usual way by COPY in text format."""
    out = io.StringIO()
    cursor.copy_expert('COPY (SELECT x FROM points ORDER BY id) TO STDOUT', out)
    return np.fromstring(out.getvalue().replace('}\n{', ',').strip('{}\n'), sep=',', dtype=np.float32).reshape(-1, d)


def ours(cursor):
    wall, cpu = time.perf_counter(), server_cpu(cursor)
    cursor.execute("""SELECT train('topics', 'points', 'x', k => NULL, options => '{"metric": "cosine"}')""")
    seconds = time.perf_counter() - wall, server_cpu(cursor) - cpu
    cursor.execute("SELECT fastclust_internal.clusters(model_operator('topics'))")
    k = cursor.fetchone()[0]
    cursor.execute("SELECT predict('topics', x) FROM points ORDER BY id")
    return seconds, k, np.array([row[0] for row in cursor.fetchall()])


def theirs(cursor, d, topics):
    wall, cpu, own = time.perf_counter(), server_cpu(cursor), time.process_time()
    x = unit_rows(fetched(cursor, d)).astype(np.float32)
    labels = MiniBatchKMeans(topics, random_state=0, n_init=3).fit(x).labels_
    return (time.perf_counter() - wall, server_cpu(cursor) - cpu + time.process_time() - own), topics, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rows', type=int, default=200000)
    parser.add_argument('--dim', type=int, default=384)
    parser.add_argument('--topics', type=int, default=40)
    parser.add_argument('--workers', type=int, default=2)
    parser.add_argument('--seeds', type=int, default=1)
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute(f'SET search_path = public, fastclust; SET client_min_messages = {os.environ.get("MESSAGES", "warning")}; '
                   f'SET max_parallel_workers_per_gather = {args.workers}')
    print(f"{'seed':>4s}{'':24s}{'k':>4s}{'NMI':>8s}{'seconds':>9s}{'CPU':>8s}", flush=True)
    for seed in range(args.seeds):
        x, topic = planted(args.rows, args.dim, args.topics, seed)
        tables.copy_rows(connection, 'points', x)
        cursor.execute('VACUUM ANALYZE points')
        cursor.execute('SELECT count(drop_model(model)) FROM models')
        for name, (seconds, k, labels) in (('train, k => NULL', ours(cursor)), ('COPY + MiniBatchKMeans', theirs(cursor, args.dim, args.topics))):
            print(f'{seed:4d}{"  " + name:24s}{k:4d}{normalized_mutual_info_score(topic, labels):8.4f}{seconds[0]:9.2f}{seconds[1]:8.2f}', flush=True)
        for notice in connection.notices:
            print(notice.strip())


if __name__ == '__main__':
    main()
