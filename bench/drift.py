"""Calibration and power of drift().

python3 drift.py [--seeds 100] [--rows 100000] [--csv FILE] connects by PG* variables (schema fastclust installed).
For each seed a sample of a law trains a model; drift() judges a second sample of the law, and the second sample moved
by half of the standard deviation of one of its features.  Columns: seeds with p > 0.01, with p < 0.05 and p < 0.5 (uniform
p-values: 99, 5 and 50 %), moved samples with p < 0.01, and the deviation of mmd2 / null_sd (1 when calibrated).
"""
import argparse
import csv
import sys

import numpy as np
import psycopg2

import tables


def halves(law, rows, seed):
    """Two samples of one law."""
    x = law(2 * rows, seed)
    order = np.random.default_rng(seed + 1000).permutation(len(x))
    return x[order[:rows]], x[order[rows:]]


LAWS = {
    'mixture 10,10': (10, lambda n, s: tables.ckm_mixture(10, 10, n, s)),
    'mixture 3,2': (3, lambda n, s: tables.ckm_mixture(3, 2, n, s)),
    'one Gaussian, d = 10': (5, lambda n, s: np.random.default_rng(s).standard_normal((n, 10), dtype=np.float32)),
    'exponential, d = 10': (5, lambda n, s: np.random.default_rng(s).exponential(size=(n, 10)).astype(np.float32)),
    'integers 0 to 3, d = 4': (4, lambda n, s: np.random.default_rng(s).integers(0, 4, (n, 4)).astype(np.float32)),
}


def drift(cursor, table):
    cursor.execute("SELECT mmd2, null_sd, p_value FROM fastclust.drift('m', %s)", (table,))
    return cursor.fetchone()


def run(connection, k, law, rows, seed):
    cursor = connection.cursor()
    first, second = halves(law, rows, seed)
    moved = second.copy()
    moved[:, seed % moved.shape[1]] += 0.5 * moved[:, seed % moved.shape[1]].std()
    for name, x in (('first', first), ('second', second), ('moved', moved)):
        tables.copy_rows(connection, name, x)
    cursor.execute("SELECT fastclust.train('m', 'first', 'x', %s, 'compressive', %s)", (k, '{"quiet": true, "keep": 0}'))
    result = drift(cursor, 'second'), drift(cursor, 'moved')
    connection.commit()
    return result


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seeds', type=int, default=100)
    parser.add_argument('--rows', type=int, default=100000)
    parser.add_argument('--only', default='')
    parser.add_argument('--csv')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    out = csv.writer(open(arguments.csv, 'w') if arguments.csv else sys.stdout)
    out.writerow(['law', 'rows', 'seeds', 'p > 0.01', 'p < 0.05', 'p < 0.5', 'moved, p < 0.01', 'deviation'])
    for name, (k, law) in LAWS.items():
        if arguments.only and arguments.only not in name:
            continue
        pairs = [run(connection, k, law, arguments.rows, seed) for seed in range(arguments.seeds)]
        p = np.array([same[2] for same, _ in pairs])
        ratio = np.array([same[0] / same[1] for same, _ in pairs])
        out.writerow([name, arguments.rows, len(pairs), (p > 0.01).sum(), (p < 0.05).sum(), (p < 0.5).sum(),
                      sum(moved[2] < 0.01 for _, moved in pairs), round(float(np.sqrt((ratio ** 2).mean())), 3)])
        sys.stdout.flush()


if __name__ == '__main__':
    main()
