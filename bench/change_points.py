"""Calibration and power of change_points, and of drift with a window: one line a law; exit 1 when a bound is broken.

python3 change_points.py [LAW:DIMENSIONS ..] [--runs 100] [--rows 1000] [--windows]; it connects by PG*.  LAW is one of drift.LAWS.
A year has 365 days of so many rows, merged from sketches of a hundred rows that are drawn from a pool of 400 000, without repetition within the year.
    false alarms: in at most 5 % of the years, or what chance makes of 5 %
    found: a shift of one column by 0.3 deviations, from a day between 30 and 350 on, within three days in 95 % of the years
--windows: a model of three months of 4000 rows, and nine more months of one law, each judged by `since` against the training rows and against a baseline:
`drifted` in at most 5 % of the months; and with one column of the last month moved by 0.3: in 95 %
"""
import argparse
import sys

import numpy as np
import psycopg2

import tables
from drift import LAWS

BLOCK = 100
LAW_LIST = ['normal:10', 'mixture:10', 't3:10', 'normal:2', 'onehot:20', 'pareto:10', 'mixture:60']


def values(cursor, query, *arguments):
    cursor.execute(query, arguments)
    return cursor.fetchall()


def make_pool(connection, x):
    """A spec of the first 5000 rows; sketches of blocks of the rows, and of the same rows with column 1 moved by 0.3 deviations."""
    cursor = connection.cursor()
    tables.copy_rows(connection, 'pool', x[:5000])
    cursor.execute("SELECT train('change points', 'pool', 'x', 2, options => '{\"quiet\": true, \"seed\": 1}')")
    cursor.execute('DROP TABLE IF EXISTS blocks; CREATE TABLE blocks (moved boolean, block integer, s fastclust.sketch)')
    for moved in (False, True):
        if moved:
            x = x.copy()
            x[:, 0] += .3 * x[:, 0].std()
        tables.copy_rows(connection, 'pool', x)
        cursor.execute("INSERT INTO blocks SELECT %s, id / %s, sketch_agg(x, model_spec('change points')) FROM pool GROUP BY 2", (moved, BLOCK))
    cursor.execute('CREATE INDEX ON blocks (moved, block); ANALYZE blocks')
    return len(x) // BLOCK


def year(cursor, rng, blocks, rows, changed):
    """changed: the first day of the moved column, or 365."""
    each = rows // BLOCK
    chosen = rng.permutation(blocks)[:365 * each]
    cursor.execute('DROP TABLE IF EXISTS year; CREATE TEMP TABLE year AS SELECT day, merge_agg(b.s) AS s FROM '
                   '(SELECT (i - 1) / %s AS day, block FROM unnest(%s::integer[]) WITH ORDINALITY u(block, i)) c '
                   'JOIN blocks b ON b.block = c.block AND b.moved = (c.day >= %s) GROUP BY day', (each, chosen.tolist(), changed))
    return values(cursor, "SELECT changed_at::date - date '2025-01-01', found_at::date - date '2025-01-01' "
                          "FROM change_points('SELECT date ''2025-01-01'' + day::integer, s FROM year')")


def judge(connection, law, runs, rows):
    name, d = law.split(':')
    rng = np.random.default_rng(runs)
    cursor = connection.cursor()
    blocks = make_pool(connection, LAWS[name](rng, int(d))(max(400000, 365 * rows)))
    alarms, found, exact = 0, 0, 0
    for _ in range(runs):
        alarms += len(year(cursor, rng, blocks, rows, 365)) > 0
        day = int(rng.integers(30, 350))
        changes = [c for c in year(cursor, rng, blocks, rows, day) if day <= c[1] < day + 3]
        found += len(changes) > 0
        exact += len(changes) > 0 and changes[0][0] == day
    print(f'{law:12s} false alarms in {alarms} of {runs} years; a shift of 0.3 within three days in {found}, dated to the day in {exact}', flush=True)
    return alarms <= .05 * runs + 2 * np.sqrt(.05 * .95 * runs) and found >= .95 * runs - 2 * np.sqrt(.05 * .95 * runs)


def judge_windows(connection, law, runs):
    name, d = law.split(':')
    rng = np.random.default_rng(runs)
    cursor = connection.cursor()
    drifted, months, moved = np.zeros(2), 0, np.zeros(2)
    for _ in range(runs):
        x = LAWS[name](rng, int(d))(13 * 4000)
        x[12 * 4000:, 0] += .3 * x[:, 0].std()
        tables.copy_rows(connection, 'pool', x)
        cursor.execute("ALTER TABLE pool ADD month integer; UPDATE pool SET month = id / 4000; ANALYZE pool")
        cursor.execute("SELECT train('windows', 'pool', 'x', 5, options => '{\"quiet\": true, \"where\": \"month < 3\"}')")
        cursor.execute("UPDATE fastclust_internal.stored_versions SET options = options - 'where' WHERE model = 'windows'")
        for month in range(3, 13):
            recent = f'{{"where": "month = {month}"}}', f'{{"where": "month = {month}", "baseline": {{"where": "month < {month}"}}}}'
            verdicts = np.array([values(cursor, "SELECT verdict FROM drift('windows', since => %s::jsonb)", r)[0][0] == 'drifted' for r in recent])
            if month < 12:
                drifted, months = drifted + verdicts, months + 1
            else:
                moved += verdicts
        cursor.execute("SELECT drop_model('windows')")
    print(f'{law:12s} months of one law drifted: {drifted[0]:.0f}, with a baseline {drifted[1]:.0f} of {months}; '
          f'one column moved: {moved[0]:.0f}, {moved[1]:.0f} of {runs}', flush=True)
    return max(drifted) <= .05 * months and min(moved) >= .95 * runs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('laws', nargs='*')
    parser.add_argument('--runs', type=int, default=100)
    parser.add_argument('--rows', type=int, default=1000)
    parser.add_argument('--windows', action='store_true')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    connection.cursor().execute('SET client_min_messages = error; DROP SCHEMA IF EXISTS change_points CASCADE; CREATE SCHEMA change_points;'
                                'SET search_path = change_points, fastclust')
    laws = arguments.laws or LAW_LIST
    broken = [law for law in laws if not (judge_windows(connection, law, arguments.runs) if arguments.windows
                                          else judge(connection, law, arguments.runs, arguments.rows))]
    print(f"broken: {', '.join(broken) or 'none'}")
    sys.exit(bool(broken))


if __name__ == '__main__':
    main()
