"""Compares the quality of models of mixed columns, trained by column names, with one-hot columns
and standardisation by hand with scikit-learn.

python3 encoding.py --data FOLDER [--k 5,10,23] [--seeds 5] [--rows N]

Connects by PG* variables. A cell is the median over the seeds of the adjusted Rand index with
respect to the classes. The second table is for rows with NULLs at random: it has the share of
complete rows that get the same label from this model and from a model of complete rows alone.
Good: an index as high as by hand, and a share near 1.
"""
import argparse
import io

import numpy as np
import pandas as pd
import psycopg2
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import tables


def customers(rows, seed):
    """Returns five kinds of customers with age, spending, country, plan, start date and newsletter,
    and their kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 5, rows)
    country = np.array(['DE', 'FR', 'US', 'CN', 'BR'])
    return pd.DataFrame({
        'age': rng.normal(np.array([25, 40, 65, 33, 50])[kind], 5),
        'spending': np.exp(rng.normal(np.array([2, 4, 3, 6, 4])[kind], 0.5)),
        'country': np.where(rng.random(rows) < .8, country[kind], country[rng.integers(0, 5, rows)]),
        'plan': np.array(['free', 'pro', 'team'])[np.where(rng.random(rows) < .9, kind % 3, rng.integers(0, 3, rows))],
        'since': pd.Timestamp('2015-01-01') + pd.to_timedelta((rng.normal(kind * 300, 60, rows)).round(), unit='D'),
        'newsletter': rng.random(rows) < np.array([.1, .9, .5, .8, .2])[kind]}), kind


def machines(rows, seed):
    """Returns machines in four states with six sensors of different units and a category that
    follows the state in 70 % of the rows, and their states."""
    rng = np.random.default_rng(seed)
    kind = rng.choice(4, rows, p=[.6, .2, .15, .05])
    centers = rng.normal(0, 3, (4, 6))
    x = (rng.normal(size=(rows, 6)) + centers[kind]) * np.array([1, 10, 1e3, .01, 1, 1e6])
    frame = pd.DataFrame(x, columns=[f's{i}' for i in range(6)])
    frame['mode'] = np.array(['run', 'idle', 'heat'])[np.where(rng.random(rows) < .7, np.minimum(kind, 2), rng.integers(0, 3, rows))]
    return frame, kind


def visits(rows, seed):
    """Returns six kinds of visits that differ in four categories and in their duration, and their
    kinds."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 6, rows)
    frame = pd.DataFrame({name: [f'{name}{v}' for v in np.where(rng.random(rows) < .75, (kind * step) % size, rng.integers(0, size, rows))]
                          for name, size, step in [('page', 6, 1), ('source', 7, 2), ('device', 5, 3), ('campaign', 12, 5)]})
    frame['seconds'] = rng.exponential(30 + 60 * kind)
    return frame, kind


def kddcup99(folder):
    raw = tables.loader(folder).kddcup99_raw()
    frame = raw.drop(columns=41)
    frame.columns = [f'c{i}' for i in range(41)]
    return frame, raw[41].astype('category').cat.codes.values


SQL_TYPES = {'i': 'bigint', 'f': 'double precision', 'b': 'boolean', 'O': 'text', 'M': 'date'}


def copy_frame(connection, frame, like=None):
    """Copies a data frame into the table mixed, with the column types of `like` if given."""
    cursor = connection.cursor()
    columns = ', '.join(f'{c} {SQL_TYPES[(frame if like is None else like)[c].dtype.kind]}' for c in frame)
    cursor.execute(f'DROP TABLE IF EXISTS mixed; CREATE TABLE mixed (id bigint, {columns})')
    out = io.StringIO()
    frame.to_csv(out, header=False)
    out.seek(0)
    cursor.copy_expert('COPY mixed FROM STDIN WITH (FORMAT csv)', out)
    cursor.execute('VACUUM ANALYZE mixed')


def labels(cursor, model):
    cursor.execute('SELECT predict(%s, m) FROM mixed m ORDER BY id', (model,))
    return np.array(cursor.fetchall())[:, 0]


def by_hand(frame):
    frame = frame.copy()
    for c in frame.select_dtypes('datetime'):
        frame[c] = frame[c].astype('int64') / 8.64e13
    x = pd.get_dummies(frame).astype(np.float64)
    return StandardScaler().fit_transform(x.loc[:, x.std() > 0])


def train(cursor, columns, k, seed, model='bench'):
    cursor.execute('SELECT train(%s, %s, %s::name[], %s, options => %s)', (model, 'mixed', list(columns), k, f'{{"seed": {seed}, "quiet": true}}'))


def compare(cursor, name, frame, classes, ks, seeds):
    x = by_hand(frame)
    for k in ks:
        ours, theirs = [], []
        for seed in range(seeds):
            train(cursor, frame.columns, k, seed)
            ours.append(adjusted_rand_score(classes, labels(cursor, 'bench')))
            theirs.append(adjusted_rand_score(classes, KMeans(k, n_init=1, random_state=seed).fit(x).labels_))
        print(f'{name:12s}{k:5d}{np.median(ours):10.3f}{np.median(theirs):10.3f}', flush=True)


def compare_nulls(connection, name, frame, k):
    cursor = connection.cursor()
    rng = np.random.default_rng(1)
    copy_frame(connection, frame)
    train(cursor, frame.columns, k, 0, 'complete')
    complete = labels(cursor, 'complete')
    for share in (0, .05, .3):
        copy_frame(connection, frame.mask(rng.random(frame.shape) < share), like=frame)
        cursor.execute("SELECT count(drop_model(model)) FROM models WHERE model = 'holes'")
        train(cursor, frame.columns, k, 0, 'holes')
        copy_frame(connection, frame)
        table = pd.crosstab(complete, labels(cursor, 'holes')).values
        print(f'{name:12s}{share:6.0%} NULL {table.max(axis=1).sum() / len(frame):8.3f}', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--k', default='5,10,23')
    parser.add_argument('--seeds', type=int, default=5)
    parser.add_argument('--rows', type=int, default=100000)
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning')
    sets = {'customers': (customers(args.rows, 1), [5]), 'machines': (machines(args.rows, 2), [4]), 'visits': (visits(args.rows, 3), [6])}
    if args.data:
        sets['kddcup99'] = (kddcup99(args.data), [int(k) for k in args.k.split(',')])
    print(f"{'data':12s}{'k':>5s}{'columns':>10s}{'by hand':>10s}")
    for name, ((frame, classes), ks) in sets.items():
        copy_frame(connection, frame)
        compare(cursor, name, frame, classes, ks, args.seeds)
    for name in ('customers', 'machines', 'visits'):
        (frame, _), ks = sets[name]
        compare_nulls(connection, name, frame, ks[0])


if __name__ == '__main__':
    main()
