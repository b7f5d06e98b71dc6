"""Counts false alarms and detections of change_points over generated years.

python3 change_points.py [LAW:DIMENSIONS ..] [--runs 100] [--rows 1000] [--windows]

Connects by PG* variables. LAW is one of drift.LAWS. Prints a line for each law; exits 1 if a
bound is broken.
A year has 365 days with --rows rows each. The sketch of a day is merged from sketches of a hundred
rows each, drawn from a pool of 400,000 rows without repetition within the year.
--windows tests drift with the option `since` instead. A model is trained on three months of 4,000
rows, and checks nine more months of the same law, once against the training rows and once against
a baseline.
Good:
    false alarms in at most 5 % of the years, allowing for chance
    a column that shifts by 0.3 standard deviations on a day between 30 and 350 is found within
        three days in 95 % of the years; so is, in `orders` (three columns of numbers and two of
        texts with five categories), a category whose share grows by 0.1
    with --windows, the verdict is `drifted` in at most 5 % of the months without a change, and in
        95 % of the last months if one column shifted by 0.3 standard deviations
"""
import argparse
import sys

import numpy as np
import psycopg2

import tables
from drift import LAWS

BLOCK = 250
LAW_LIST = ['normal:10', 'mixture:10', 't3:10', 'normal:2', 'onehot:20', 'pareto:10', 'mixture:60', 'normal:60', 'orders:13']


def orders(rng, _):
    shares = rng.dirichlet(np.full(5, 2.), 2)
    return lambda n: np.hstack([rng.standard_normal((n, 3)), *(np.eye(5)[rng.choice(5, n, p=share)] for share in shares)]).astype(np.float32)


LAWS['orders'] = orders


def shift(x, rng):
    x = x.copy()
    x[:, 0] += .3 * x[:, 0].std()
    return x


def share(x, rng):
    x = x.copy()
    x[rng.random(len(x)) < .1 / (1 - x[:, 3].mean()), 3:8] = np.eye(5)[0]
    return x


def values(cursor, query, *arguments):
    cursor.execute(query, arguments)
    return cursor.fetchall()


def make_pool(connection, x, changes, rng):
    """Creates the sketch specification from the first 5000 rows, and the table of blocks: the
    sketch of each block of rows without a change and after each change. Returns the number of
    blocks."""
    cursor = connection.cursor()
    tables.copy_rows(connection, 'pool', x[:5000])
    cursor.execute("SELECT train('change points', 'pool', 'x', 2, options => '{\"quiet\": true, \"seed\": 1}')")
    cursor.execute('DROP TABLE IF EXISTS blocks; CREATE TABLE blocks (change integer, block integer, s fastclust.sketch)')
    for i, change in enumerate([lambda x, _: x, *changes]):
        tables.copy_rows(connection, 'pool', change(x, rng))
        cursor.execute("INSERT INTO blocks SELECT %s, id / %s, sketch_agg(x, model_spec('change points')) FROM pool GROUP BY 2", (i, BLOCK))
    cursor.execute('CREATE INDEX ON blocks (change, block); ANALYZE blocks')
    return len(x) // BLOCK


def year(cursor, rng, blocks, rows, change, first):
    """Returns the changes that change_points finds in a year whose rows change on day `first`."""
    each = rows // BLOCK
    chosen = rng.permutation(blocks)[:365 * each]
    cursor.execute('DROP TABLE IF EXISTS year; CREATE TEMP TABLE year AS SELECT day, merge_agg(b.s) AS s FROM '
                   '(SELECT (i - 1) / %s AS day, block FROM unnest(%s::integer[]) WITH ORDINALITY u(block, i)) c '
                   'JOIN blocks b ON b.block = c.block AND b.change = CASE WHEN c.day >= %s THEN %s ELSE 0 END GROUP BY day', (each, chosen.tolist(), first, change))
    return values(cursor, "SELECT changed_at::date - date '2025-01-01', found_at::date - date '2025-01-01' "
                          "FROM change_points('SELECT date ''2025-01-01'' + day::integer, s FROM year')")


def judge(connection, law, runs, rows):
    name, d = law.split(':')
    rng = np.random.default_rng(runs)
    cursor = connection.cursor()
    changes = [shift, share] if name == 'orders' else [shift]
    blocks = make_pool(connection, LAWS[name](rng, int(d))(max(400000, 365 * rows)), changes, rng)
    alarms = sum(len(year(cursor, rng, blocks, rows, 0, 365)) > 0 for _ in range(runs))
    good = alarms <= .05 * runs + 2 * np.sqrt(.05 * .95 * runs)
    print(f'{law:12s} false alarms in {alarms} of {runs} years', end='', flush=True)
    for i, change in enumerate(changes, 1):
        found, exact = 0, 0
        for _ in range(runs):
            day = int(rng.integers(30, 350))
            at = [c for c in year(cursor, rng, blocks, rows, i, day) if day <= c[1] < day + 3]
            found += len(at) > 0
            exact += len(at) > 0 and at[0][0] == day
        print(f'; a {change.__name__} within three days in {found}, dated to the day in {exact}', end='', flush=True)
        good = good and found >= .95 * runs - 2 * np.sqrt(.05 * .95 * runs)
    print(flush=True)
    return good


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
        cursor.execute("UPDATE fastclust_internal.version_groups SET options = options - 'where' WHERE model_id = (SELECT id FROM fastclust_internal.stored_models WHERE model = 'windows')")
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
