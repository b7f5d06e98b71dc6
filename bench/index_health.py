"""Compares the loss of recall that index_health predicts with the measured loss, and counts its
false alarms and its time.

python3 index_health.py --data FOLDER [--rows 12000] [--queries 2000] [--clusters 256] [--probes
4] [--days 1000] [--only FAMILY] [--csv FILE]

Connects by PG* variables. FOLDER has a load.py that returns MNIST.
There are two families of rows: digits of MNIST and generated mixtures. For each, a model with
--clusters buckets is trained on rows of the family; its buckets are the index. Each scenario
replaces the rows of the table. The recall of ten neighbours is measured for separate queries with
--probes buckets, by computing all distances with numpy. Its loss since the build is compared with
recall_loss of index_health by Spearman's rank correlation. Days without change are new samples
from the distribution at the build; an alarm is the verdict "drifted".
Good: a correlation near 1, and nearly no alarm on days without change.
"""
import argparse
import csv
import os
import sys
import time

import numpy as np
import psycopg2
import scipy.ndimage
from scipy.stats import spearmanr

import tables

RANDOM = np.random.default_rng(0)
NEW = 1             # class of digits that is absent when the index is built


# ---- digits ----

def pictures(x):
    return x.reshape(-1, 28, 28)


def rotated(x, degrees):
    return scipy.ndimage.rotate(pictures(x), degrees, axes=(1, 2), reshape=False, order=1).reshape(x.shape)


def moved(x, pixels):
    return scipy.ndimage.shift(pictures(x), (0, pixels, pixels), order=1).reshape(x.shape)


def drawn(x, y, shares, count):
    """Returns `count` rows in random order, with the classes in the given shares. No row is
    repeated unless its class has too few rows."""
    shares = np.asarray(shares, float) / np.sum(shares)
    wanted = np.floor(shares * count).astype(int)
    wanted[np.argmax(wanted)] += count - wanted.sum()
    taken = np.concatenate([RANDOM.choice(np.flatnonzero(y == c), n, replace=n > (y == c).sum()) for c, n in enumerate(wanted) if n > 0])
    return x[RANDOM.permutation(taken)]


def some_of(x, part, change):
    return np.where((RANDOM.random(len(x)) < part)[:, None], change(x), x)


def digits(args):
    """Returns the rows of the build, {scenario: rows that replace them}, and a function that draws
    rows from the distribution at the build."""
    x, y = tables.loader(args.data).mnist()
    x, y = np.ascontiguousarray(x, np.float32), np.asarray(y).astype(int)
    order = RANDOM.permutation(len(x))
    first, other = order[:len(x) // 2], order[len(x) // 2:]
    law = np.where(np.arange(10) == NEW, 0, 1.0)
    count = args.rows + args.queries

    def now(shares=law):
        return drawn(x[other], y[other], shares, count)

    def with_new(part):
        return np.where(np.arange(10) == NEW, part, (1 - part) / 9)

    shrunk, two = law.copy(), 0.02 * law
    shrunk[[0, 3, 5, 6, 9]], two[[4, 9]] = 0.1, 1
    scenarios = {'no change': now(), 'a new class, 10 %': now(with_new(0.1)), 'a new class, 40 %': now(with_new(0.4)), 'five classes shrink': now(shrunk),
                 'rotated by 15 degrees': rotated(now(), 15), 'rotated by 45 degrees': rotated(now(), 45),
                 '30 % rotated by 90': some_of(now(), 0.3, lambda a: rotated(a, 90)),
                 'noise of 50': now() + 50 * RANDOM.standard_normal((count, 784)), 'noise of 100': now() + 100 * RANDOM.standard_normal((count, 784)),
                 'moved by two pixels': moved(now(), 2)}
    return drawn(x[first], y[first], law, count), scenarios, lambda n: drawn(x[other], y[other], law, n)


# ---- generated rows ----

def mixtures(args):
    """Returns the same as digits, for a mixture of 40 clusters in 64 dimensions, each near a plane
    of 10 dimensions."""
    d, clusters, plane = 64, 40, 10
    means = 4 * RANDOM.standard_normal((clusters + 8, d))
    axes = RANDOM.standard_normal((clusters + 8, plane, d)) / np.sqrt(plane)
    law = np.concatenate([1 / np.arange(1, clusters + 1), np.zeros(8)])
    count = args.rows + args.queries

    def now(shares=law, n=count):
        label = RANDOM.choice(len(law), n, p=np.asarray(shares) / np.sum(shares))
        return means[label] + 2 * np.einsum('np,npd->nd', RANDOM.standard_normal((n, plane)), axes[label]) + 0.3 * RANDOM.standard_normal((n, d))

    turn = np.linalg.qr(RANDOM.standard_normal((d, d)))[0]
    fresh = law.copy()
    fresh[clusters:] = law.sum() / 8
    small = np.where(np.arange(len(law)) < 10, 0.1, 1) * law
    direction = 4 * RANDOM.standard_normal(d)
    scenarios = {'no change': now(), 'new clusters, half of the rows': now(fresh), 'ten clusters shrink': now(small), 'turned': now() @ turn,
                 'half turned': some_of(now(), 0.5, lambda a: a @ turn), 'noise of 0.5': now() + 0.5 * RANDOM.standard_normal((count, d)),
                 'noise of 1.5': now() + 1.5 * RANDOM.standard_normal((count, d)), 'noise of 3': now() + 3 * RANDOM.standard_normal((count, d)),
                 'moved': now() + direction, 'a fifth moved': some_of(now(), 0.2, lambda a: a + direction), 'half as large': 0.5 * now()}
    return now(), scenarios, lambda n: now(n=n)


# ---- measuring ----

def nearest(x, queries, n):
    """Returns the indexes of the n nearest rows of each query."""
    found, norms = [], (x ** 2).sum(1)
    for part in np.array_split(queries, max(1, len(queries) // 250)):
        distance = norms[None] - 2 * part @ x.T
        found.append(np.argpartition(distance, n, 1)[:, :n])
    return np.concatenate(found)


def measured_recall(rows, centroids, args):
    rows = np.asarray(rows, np.float32)
    stored, queries = rows[:args.rows], rows[args.rows:]
    label = nearest(centroids, stored, 1)[:, 0]
    probed = nearest(centroids, queries, args.probes)
    return (label[nearest(stored, queries, 10)][:, :, None] == probed[:, None, :]).any(2).mean()


def cpu_seconds(pid):
    """Returns the CPU seconds of a process so far, or NaN if the server is on another machine."""
    try:
        with open(f'/proc/{pid}/stat') as file:
            fields = file.read().rsplit(')', 1)[1].split()
    except OSError:
        return float('nan')
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def ask(cursor, table):
    """Calls index_health with the sketch of a table. Returns its row, and the wall and CPU seconds
    taken."""
    cursor.execute("CREATE TEMPORARY TABLE stored_now AS SELECT sketch_agg(x, (SELECT model_spec('cells'))) AS s FROM " + table)
    pid = cursor.connection.info.backend_pid
    start, used = time.perf_counter(), cpu_seconds(pid)
    cursor.execute("SELECT recall_at_build, recall_now, recall_loss, worn_share, read_share, p_value, verdict FROM index_health(%s, 'x', present => (SELECT s FROM stored_now))",
                   (table,))
    row = cursor.fetchone()
    seconds = time.perf_counter() - start, cpu_seconds(pid) - used
    cursor.execute('DROP TABLE stored_now')
    return row, seconds


def false_alarms(connection, cursor, law, args, rows=500):
    """Counts days of `rows` rows each whose verdict is `drifted`, and days whose p-value is below
    0.01. drift with a sketch gives the same verdict as index_health."""
    alarms, low = 0, 0
    for _ in range(0, args.days, 50):
        tables.copy_rows(connection, 'days', law(50 * rows))
        cursor.execute("""SELECT count(*) FILTER (WHERE h.verdict = 'drifted'), count(*) FILTER (WHERE h.p_value < 0.01)
                            FROM (SELECT sketch_agg(x, (SELECT model_spec('cells'))) AS s FROM days GROUP BY id / %s) d,
                                 LATERAL drift('cells', sketch => d.s) h""", (rows,))
        more, few = cursor.fetchone()
        alarms, low = alarms + more, low + few
    return alarms, low


def family(connection, cursor, name, made, args, out):
    build, scenarios, law = made(args)
    tables.copy_rows(connection, 'items', build[:args.rows])
    cursor.execute('ANALYZE items')
    cursor.execute("SELECT train('cells', 'items', 'x', %s, options => %s)", (args.clusters, '{"quiet": true, "probes": %d}' % args.probes))
    cursor.execute("SELECT array_agg(c.centroid ORDER BY c.cluster) FROM centroids(model_operator('cells')) c")
    centroids = np.array(cursor.fetchone()[0], np.float32)
    alarms = false_alarms(connection, cursor, law, args)
    built = measured_recall(build, centroids, args)
    losses = []
    for scenario, rows in scenarios.items():
        tables.copy_rows(connection, 'items', rows[:args.rows])
        cursor.execute('ANALYZE items')
        recall = measured_recall(rows, centroids, args)
        row, seconds = ask(cursor, 'items')
        losses.append((built - recall, row[2]))
        out.writerow([name, scenario, f'{built:.4f}', f'{recall:.4f}', f'{built - recall:+.4f}', f'{row[2]:+.4f}', f'{row[3]:.3f}', f'{row[4]:.4f}', f'{row[5]:.3g}', row[6],
                      f'{seconds[0]:.2f}', f'{seconds[1]:.2f}'])
        sys.stdout.flush()
    measured, predicted = np.array(losses).T
    print(f'{name}: Spearman {spearmanr(measured, predicted)[0]:.3f} of {len(losses)} scenarios, mean error {np.abs(measured - predicted).mean():.4f}; '
          f'{alarms[0]} alarms in {args.days} days ({alarms[1]} with p < 0.01)', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--rows', type=int, default=12000)
    parser.add_argument('--queries', type=int, default=2000)
    parser.add_argument('--clusters', type=int, default=256)
    parser.add_argument('--probes', type=int, default=4)
    parser.add_argument('--days', type=int, default=1000)
    parser.add_argument('--only', default='')
    parser.add_argument('--csv')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust')
    cursor.execute('SET search_path = fastclust, public; SET client_min_messages = warning')
    out = csv.writer(open(args.csv, 'w', buffering=1) if args.csv else sys.stdout)
    out.writerow(['family', 'scenario', 'recall at build', 'recall now', 'loss', 'predicted', 'worn', 'read', 'p', 'verdict', 'seconds', 'CPU seconds'])
    for name, made in (('digits', digits), ('mixtures', mixtures)):
        if args.only in name:
            family(connection, cursor, name, made, args, out)


if __name__ == '__main__':
    main()
