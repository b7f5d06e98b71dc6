"""Compares the time of train() in two builds.

python3 train.py OLD NEW [--rounds 9] [--only NAME;..] [--slow] [--cpu]

OLD and NEW are the PGHOST of a server of each build (tools/server.sh; PG_CONFIG selects the
build); the other PG* variables are common to both. Each round trains every table on both servers,
in alternating order. A line has the minimum seconds of OLD and of NEW over all rounds, their ratio
NEW / OLD, and the same ratio of the objectives; the last line is the geometric mean. --slow adds
60,000 x 256 with k = 1024. --cpu counts CPU seconds without parallel workers, for a machine with
other work.
Good: ratios of at most 1 for a change that should make train() faster.
"""
import argparse
import time

import numpy as np
import psycopg2

import tables
from speed import backend_cpu


def numbers(rows, d=10):
    return tables.ckm_mixture(10, d, rows, 1).astype(float)


def texts(rows):
    return np.char.add('v', tables.category_law(60, np.random.default_rng(1), told=.6)(rows)[0].astype(str))


def columns_of_both(connection, rows):
    """Creates the table mixed, with five columns of numbers and five of texts."""
    tables.copy_columns(connection, 'numbers', numbers(rows, 5))
    codes = texts(rows)
    tables.copy_columns(connection, 'texts', codes[:, np.arange(5) % codes.shape[1]])
    names = ', '.join([f'n.c{j} AS n{j}' for j in range(5)] + [f't.c{j} AS t{j}' for j in range(5)])
    with connection.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS mixed; CREATE UNLOGGED TABLE mixed AS SELECT n.id, {names} FROM numbers n JOIN texts t USING (id); ANALYZE mixed')


def vectors(table, make):
    return lambda connection: tables.copy_rows(connection, table, make())


def grouped(connection):
    tables.copy_rows(connection, 'grouped', tables.ckm_mixture(5, 4, 200000, 1))
    with connection.cursor() as cursor:
        cursor.execute('ALTER TABLE grouped ADD part int GENERATED ALWAYS AS (id % 1000) STORED; ANALYZE grouped (part)')


# name: (function that creates the table, relation, features, k, options)
CASES = {
    '1,000,000 x 10': (vectors('wide10', lambda: tables.ckm_mixture(10, 10, 1000000, 1)), 'wide10', 'x', 10, '{}'),
    'ten numbers': (lambda c: tables.copy_columns(c, 'ten', numbers(300000)), 'ten', [f'c{j}' for j in range(10)], 10, '{}'),
    'five numbers, five texts': (lambda c: columns_of_both(c, 300000), 'mixed', [f'{t}{j}' for t in 'nt' for j in range(5)], 10, '{}'),
    '1000 groups': (grouped, 'grouped', 'x', 5, '{"group_by": "part"}'),
    'd = 60': (vectors('wide60', lambda: tables.ckm_mixture(10, 60, 100000, 1)), 'wide60', 'x', 10, '{}'),
    'd = 300': (vectors('wide300', lambda: tables.separated(10, 300, 30000, 1)[0]), 'wide300', 'x', 10, '{}'),
    'd = 1000': (vectors('wide1000', lambda: tables.separated(10, 1000, 10000, 1)[0]), 'wide1000', 'x', 10, '{}'),
}
SLOW = {'60,000 x 256, k = 1024': (vectors('wide256', lambda: tables.separated(2000, 256, 60000, 1)[0]), 'wide256', 'x', 1024, '{}')}


def seconds(connection, clock, relation, features, k, options):
    """Returns the seconds of one training and its objective."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(drop_model(model)) FROM models WHERE model = 'timed'")
        begun = clock()
        cursor.execute("SELECT train('timed', %s, %s, %s, options => %s)", (relation, features, k, options))
        taken = clock() - begun
        cursor.execute("SELECT sum(objective * n) / sum(n) FROM model_versions WHERE model = 'timed'")
        return taken, cursor.fetchone()[0]


def connect(host):
    connection = psycopg2.connect(host=host)
    connection.autocommit = True
    connection.cursor().execute('SET search_path = public, fastclust; SET client_min_messages = error')
    return connection


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('old')
    parser.add_argument('new')
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--only')
    parser.add_argument('--slow', action='store_true')
    parser.add_argument('--cpu', action='store_true')
    args = parser.parse_args()
    builds = [connect(args.old), connect(args.new)]
    clocks = [backend_cpu(connection.cursor()) if args.cpu else time.perf_counter for connection in builds]
    if args.cpu:
        for connection in builds:
            connection.cursor().execute('SET max_parallel_workers_per_gather = 0')
    ratios = []
    print(f"{'table':26s}{'old':>9s}{'new':>9s}{'new/old':>9s}{'objective':>11s}", flush=True)
    for name, (make, *what) in (CASES | (SLOW if args.slow else {})).items():
        if args.only and name not in args.only.split(';'):
            continue
        for connection in builds:
            make(connection)
            connection.cursor().execute(f'VACUUM {what[0]}')
        least, objective = [np.inf, np.inf], [0, 0]
        for r in range(args.rounds):
            for i in (0, 1) if r % 2 == 0 else (1, 0):
                taken, objective[i] = seconds(builds[i], clocks[i], *what)
                least[i] = min(least[i], taken)
        ratios.append(least[1] / least[0])
        print(f'{name:26s}{least[0]:9.3f}{least[1]:9.3f}{ratios[-1]:9.3f}{objective[1] / objective[0]:11.5f}', flush=True)
    print(f'geometric mean {np.exp(np.mean(np.log(ratios))):.3f}')


if __name__ == '__main__':
    main()
