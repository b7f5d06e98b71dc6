"""Compares labels by cluster_rules with a decision tree of scikit-learn with as many leaves, on ten
tables. Prints a Markdown table.

python3 rules.py [--data FOLDER] [--k 4,8,16] [--conditions 4] [--rows 20000]

Connects by PG* variables. The tables are five public sets (with --data) with a tenth of their
values NULL, and five planted tables of numbers, categories, flags and dates with NULLs. A row
that meets several conditions gets the cluster of the most precise one. The tree learns from as
many encoded rows as the rules do; both are measured on all rows. "off" is the largest difference
between the reported precision or coverage of a condition and the result of a query with it.
Good: the rules are as accurate as the tree, and off is near 0.
"""
import argparse
import io

import numpy as np
import pandas
import psycopg2
from sklearn.datasets import load_breast_cancer
from sklearn.tree import DecisionTreeClassifier

import tables


def with_holes(frame, share, seed):
    return frame.mask(np.random.default_rng(seed).random(frame.shape) < share)


def numbers(x):
    return pandas.DataFrame(x, columns=[f'c{j}' for j in range(x.shape[1])])


def public(folder, rows):
    load = tables.loader(folder)
    pick = np.random.default_rng(0).permutation
    digits = load.mnist()[0]
    digits = digits[pick(len(digits))[:rows]].reshape(-1, 4, 7, 4, 7).mean((2, 4)).reshape(-1, 16)
    spectral = load.mnist_spectral()[0]
    attacks = load.kddcup99_raw().drop(columns=41)
    attacks.columns = [f'c{j}' for j in range(41)]
    return {'image segmentation': numbers(load.image_segmentation(None)[0]), 'digits': numbers(digits), 'spectral digits': numbers(spectral[pick(len(spectral))[:rows]]),
            'connections': attacks.iloc[pick(len(attacks))[:rows]].reset_index(drop=True), 'breast cancer': numbers(load_breast_cancer().data)}


def kinds(seed, rows):
    """Returns a table of orders of several kinds, which differ in columns of every type, some kinds
    in only a few columns."""
    rng = np.random.default_rng(seed)
    count = (5, 8, 10, 12, 16)[seed]
    kind = rng.choice(count, rows, p=rng.dirichlet(np.full(count, 2.0)))
    frame = pandas.DataFrame({f'n{j}': np.round(rng.normal(size=count)[kind] * 2 + rng.normal(size=rows), 2) for j in range(4)})
    frame['spent'] = np.round(np.exp(rng.normal(size=count)[kind] + rng.normal(size=rows) / 2 + 3), 2)
    for name, levels in ('country', 6), ('plan', 3), ('channel', 12):
        ends = rng.dirichlet(np.full(levels, .3), count).cumsum(1)
        frame[name] = [f"{name}'{v}" for v in (rng.random((rows, 1)) > ends[kind][:, :-1]).sum(1)]
    frame['churned'] = rng.random(rows) < rng.random(count)[kind]
    frame['since'] = pandas.to_datetime('2022-01-01') + pandas.to_timedelta((rng.integers(0, 900, count)[kind] + rng.normal(size=rows) * 60).astype(int), 'D')
    return frame


def copied(cursor, frame):
    kinds_of = {'f': 'double precision', 'i': 'bigint', 'u': 'bigint', 'b': 'boolean', 'M': 'date', 'O': 'text'}
    columns = ', '.join(f'"{c}" {kinds_of[frame[c].dtype.kind]}' for c in frame)
    cursor.execute(f'DROP TABLE IF EXISTS ruled; CREATE TABLE ruled (id serial, {columns})')
    holes = with_holes(frame, .1, 1)
    names = ', '.join(f'"{c}"' for c in frame)
    text = holes.apply(lambda c: c.dt.strftime('%Y-%m-%d') if c.dtype.kind == 'M' else c.map(lambda v: v if v != v or isinstance(v, str) else repr(v) if frame[c.name].dtype.kind == 'f' else str(int(v)) if frame[c.name].dtype.kind in 'iu' else str(v)))
    cursor.copy_expert(f'COPY ruled ({names}) FROM STDIN (FORMAT csv)', io.StringIO(text.to_csv(index=False, header=False)))
    cursor.execute('ANALYZE ruled')


def column(cursor, query):
    cursor.execute(query)
    return np.array([row[0] for row in cursor.fetchall()])


def measured(cursor, frame, k, conditions):
    copied(cursor, frame)
    cursor.execute("SELECT fastclust.train('ruled', 'ruled', %s, %s, options => '{\"quiet\": true}')", (list(frame.columns), k))
    cursor.execute('SELECT cluster, "precision", coverage, condition FROM fastclust.cluster_rules(\'ruled\', %s)', (conditions,))
    rules = cursor.fetchall()
    without = sum(condition is None for *_, condition in rules)
    rules = sorted((r for r in rules if r[3] is not None and r[1] is not None), key=lambda r: -r[1])
    label = column(cursor, "SELECT fastclust.predict('ruled', r) FROM ruled r ORDER BY id")
    x = np.vstack(column(cursor, "SELECT fastclust.encode_row(fastclust.model_encoder('ruled'), r) FROM ruled r ORDER BY id"))
    given = np.full(len(label), -1)
    off = 0
    for cluster, precision, coverage, condition in rules:
        met = column(cursor, f'SELECT ({condition}) IS TRUE FROM ruled ORDER BY id')
        off = max(off, abs(precision - (label[met] == cluster).mean()), abs(coverage - met[label == cluster].mean()))
        given[met & (given < 0)] = cluster
    learned = np.random.default_rng(0).random(len(x)) < .8
    tree = DecisionTreeClassifier(max_leaf_nodes=max(2, len(rules)), random_state=0).fit(x[learned], label[learned])
    return len(rules), without, (given == label).mean(), tree.score(x, label), off


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--k', default='4,8,16')
    parser.add_argument('--conditions', type=int, default=4)
    parser.add_argument('--rows', type=int, default=20000)
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    frames = public(args.data, args.rows) if args.data else {}
    frames |= {f'orders, {i}': kinds(i, args.rows) for i in range(5)}
    print('| table | k | rules | clusters without | labels kept | tree of scikit-learn | off |\n| --- | --- | --- | --- | --- | --- | --- |')
    for k in map(int, args.k.split(',')):
        found = []
        for name, frame in frames.items():
            found.append(measured(cursor, frame, k, args.conditions))
            print(f'| {name} | {k} |' + ' {} | {} | {:.3f} | {:.3f} | {:.4f} |'.format(*found[-1]), flush=True)
        print(f'| mean | {k} | ' + ' | '.join(f'{v:.3f}' for v in np.mean(found, 0)) + ' |', flush=True)


main()
