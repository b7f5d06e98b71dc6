"""Compares drift() with simpler detectors, on rows that have changed and on rows that have not.

tools/with-server.sh python3 bench/drift_detectors.py [--trainings 10] [--draws 10]

Connects by PG* variables. Prints the table of docs/evidence.md: the share of draws, in percent,
in which each detector raises an alarm. Detectors:
    always       an alarm for every draw
    PSI          the population stability index of a column, by deciles, is above 0.1
    KS           the Kolmogorov-Smirnov test of a column has p < 0.01
    KS / d       the same with p < 0.01 / number of columns (Bonferroni)
    drift        p < 0.01
    drifted      p < 0.01 and an effect of 0.1 or more: the verdict `drifted`
The columns are normal. Each training has its own rows, and each draw its own new rows.
Good: without a change, drift alarms in at most 4 % of the draws of a case; it finds every change
    of the list but the slight one in at least 95 %, and never calls the slight one `drifted`.
"""
import argparse
import io
import sys

import numpy as np
import psycopg2
from scipy.stats import ks_2samp

# name, columns, training rows, new rows, change of the new rows
CASES = [('no change', 10, 5000, 5000, None),
         ('no change', 60, 5000, 5000, None),
         ('one column shifted by 0.2 deviations', 60, 5000, 5000, 'shift'),
         ('variance of one column doubled', 60, 5000, 5000, 'variance'),
         ('three correlations of 0.5', 60, 5000, 5000, 'correlation'),
         ('one column shifted by 0.02 deviations', 10, 100000, 100000, 'slight')]


def draw(rng, n, d, change):
    x = rng.standard_normal((n, d))
    if change in ('shift', 'slight'):
        x[:, 0] += 0.2 if change == 'shift' else 0.02
    elif change == 'variance':
        x[:, 0] *= 2 ** .5
    elif change == 'correlation':
        for i in (0, 2, 4):
            x[:, i + 1] = 0.5 * x[:, i] + 0.75 ** .5 * x[:, i + 1]
    return x.astype(np.float32)


def stability_index(old, new):
    """Returns the population stability index of new values, by the deciles of the old ones."""
    inner = np.quantile(old, np.arange(0.1, 0.95, 0.1))
    shares = [np.maximum(np.bincount(np.searchsorted(inner, x), minlength=10) / len(x), 1e-6) for x in (old, new)]
    return ((shares[1] - shares[0]) * np.log(shares[1] / shares[0])).sum()


def copy(cursor, table, x):
    cursor.execute(f'DROP TABLE IF EXISTS {table}; CREATE UNLOGGED TABLE {table} (x real[])')
    cursor.copy_expert(f'COPY {table} FROM STDIN', io.StringIO(''.join('{%s}\n' % ','.join(map(repr, row)) for row in x.tolist())))
    cursor.execute(f'ANALYZE {table}')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--trainings', type=int, default=10)
    parser.add_argument('--draws', type=int, default=10)
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; SET client_min_messages = error')
    print('| change | columns | rows | draws | always | PSI | KS | KS / d | `drift` | `drifted` |\n' + '| --- ' * 10 + '|')
    good = True
    for number, (name, d, n, m, change) in enumerate(CASES):
        alarms = []
        trainings = max(1, arguments.trainings // (5 if n > 10000 else 1))
        for training in range(trainings):
            rng = np.random.default_rng([number, training])
            old = draw(rng, n, d, None)
            copy(cursor, 'old_rows', old)
            cursor.execute("SELECT train('detectors', 'old_rows', 'x', 5, options => '{\"quiet\": true, \"fresh\": true}')")
            for _ in range(arguments.draws):
                new = draw(rng, m, d, change)
                copy(cursor, 'new_rows', new)
                cursor.execute("SELECT p_value < 0.01, verdict = 'drifted' FROM drift('detectors', 'new_rows')")
                found, drifted = cursor.fetchone()
                p = min(ks_2samp(old[:, j], new[:, j]).pvalue for j in range(d))
                index = max(stability_index(old[:, j], new[:, j]) for j in range(d))
                alarms.append((True, index > 0.1, p < 0.01, p < 0.01 / d, found, drifted))
        shares = 100 * np.mean(alarms, axis=0)
        print(f'| {name} | {d} | {n:,} | {len(alarms)} | ' + ' | '.join('%.3g' % share for share in shares) + ' |', flush=True)
        if change is None and shares[4] > 4 or change not in (None, 'slight') and shares[4] < 95 or change == 'slight' and shares[5] > 0:
            print(f'{name}: broken bound')
            good = False
    cursor.execute("SELECT drop_model('detectors'); DROP TABLE old_rows, new_rows")
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
