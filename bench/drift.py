"""Calibration, power and cost of drift().

python3 drift.py [--trainings 20] [--draws 10] [--rows 10000] [--only LAW] [--csv FILE] connects by PG* variables (schema
fastclust installed).  For each training a sample of a law trains a model; drift() judges further samples of the law (draws),
and one more that is moved by 0.1, 0.25 and 0.5 standard deviations of one of its features.
    unchanged: draws with p > 0.01, p < 0.05 and p < 0.5 (uniform p-values: 99, 5 and 50 %), the deviation of mmd2 / null_sd
    (1 when calibrated), the largest effect, draws with the verdict drifted
    moved: samples with p < 0.01, with the verdict drifted, and the median effect

python3 drift.py --cost: what a model loses that is not retrained.  One feature moves by 0 to 1 deviations: effect and
verdict, how much larger the mean squared distance is than after retraining by k-means, and the share of labels that
retraining changes.  Not moved: what retraining on another sample of the law changes.
"""
import argparse
import csv
import sys

import numpy as np
import psycopg2

import tables

SHIFTS = (0.1, 0.25, 0.5)
QUIET = '{"quiet": true, "keep": 1}'
LAWS = {
    'mixture 10,10': (10, lambda n, s: tables.ckm_mixture(10, 10, n, s)),
    'mixture 3,2': (3, lambda n, s: tables.ckm_mixture(3, 2, n, s)),
    'narrow 20,2': (20, lambda n, s: tables.ckm_mixture(20, 2, n, s, spread=200)),
    'one Gaussian, d = 10': (5, lambda n, s: np.random.default_rng(s).standard_normal((n, 10), dtype=np.float32)),
    'exponential, d = 10': (5, lambda n, s: np.random.default_rng(s).exponential(size=(n, 10)).astype(np.float32)),
    'integers 0 to 3, d = 4': (4, lambda n, s: np.random.default_rng(s).integers(0, 4, (n, 4)).astype(np.float32)),
}


def samples(law, rows, count, seed):
    """So many samples of one law: it is drawn once, as another seed may mean another law."""
    x = law(count * rows, seed)
    return np.split(x[np.random.default_rng(seed + 1000).permutation(len(x))], count)


def move(x, feature, shift):
    moved = x.copy()
    moved[:, feature] += shift * moved[:, feature].std()
    return moved


def drift(connection, x):
    tables.copy_rows(connection, 'judged', x)
    with connection.cursor() as cursor:
        cursor.execute("SELECT mmd2 / null_sd, p_value, effect, verdict FROM fastclust.drift('m', 'judged')")
        return cursor.fetchone()


def train(connection, x, k, method):
    tables.copy_rows(connection, 'trained', x)
    with connection.cursor() as cursor:
        cursor.execute("SELECT fastclust.train('m', 'trained', 'x', %s, %s, %s)", (k, method, QUIET))


def calibrate(connection, k, law, arguments):
    """Results of all draws, and for each shift of all moved samples."""
    unchanged, moved = [], {shift: [] for shift in SHIFTS}
    for seed in range(arguments.trainings):
        first, *others = samples(law, arguments.rows, 1 + arguments.draws, seed)
        train(connection, first, k, 'compressive')
        unchanged += [drift(connection, x) for x in others]
        for shift in SHIFTS:
            moved[shift].append(drift(connection, move(others[0], seed % first.shape[1], shift)))
        connection.commit()
    return unchanged, moved


def calibration(connection, out, arguments):
    out.writerow(['law', 'rows', 'draws', 'p > 0.01', 'p < 0.05', 'p < 0.5', 'deviation', 'largest effect', 'drifted', 'trainings'] +
                 [f'moved by {shift}: {what}' for shift in SHIFTS for what in ('p < 0.01', 'drifted', 'effect')])
    for name, (k, law) in chosen(arguments):
        unchanged, moved = calibrate(connection, k, law, arguments)
        ratio, p, effect = (np.array([u[i] for u in unchanged]) for i in range(3))
        row = [name, arguments.rows, len(p), (p > 0.01).sum(), (p < 0.05).sum(), (p < 0.5).sum(), round(float(np.sqrt((ratio ** 2).mean())), 3),
               round(effect.max(), 4), sum(u[3] == 'drifted' for u in unchanged), arguments.trainings]
        for shift in SHIFTS:
            row += [sum(m[1] < 0.01 for m in moved[shift]), sum(m[3] == 'drifted' for m in moved[shift]),
                    round(float(np.median([m[2] for m in moved[shift]])), 3)]
        out.writerow(row)
        sys.stdout.flush()


def cost(connection, out, arguments):
    out.writerow(['law', 'rows', 'shift', 'effect', 'verdict', 'larger mean squared distance', 'labels changed'])
    for name, (k, law) in chosen(arguments):
        first, second = samples(law, arguments.rows, 2, 1)
        for shift in (0, 0.05, 0.1, 0.2, 0.3, 0.5, 1):
            train(connection, first, k, 'kmeans')
            _, _, effect, verdict = drift(connection, move(second, 0, shift))
            with connection.cursor() as cursor:
                cursor.execute("SELECT fastclust.retrain('m', %s)", (QUIET[:-1] + ', "relation": "public.judged"}',))
                cursor.execute("""SELECT fastclust.sse_agg(o.operator, x) / fastclust.sse_agg(n.operator, x) - 1,
                                         avg((fastclust.assign(o.operator, x) <> fastclust.assign(n.operator, x))::int)
                                    FROM judged, fastclust.models m, fastclust.model_versions o, fastclust.model_versions n
                                   WHERE m.model = 'm' AND n.model_id = m.id AND n.version = m.version AND o.model_id = m.id AND o.version = m.version - 1""")
                larger, changed = cursor.fetchone()
            out.writerow([name, arguments.rows, shift, round(effect, 3), verdict, f'{100 * larger:.2f} %', f'{100 * float(changed):.2f} %'])
            connection.commit()
        sys.stdout.flush()


def chosen(arguments):
    return [(name, law) for name, law in LAWS.items() if arguments.only in name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--trainings', type=int, default=20)
    parser.add_argument('--draws', type=int, default=10)
    parser.add_argument('--rows', type=int, default=10000)
    parser.add_argument('--only', default='')
    parser.add_argument('--cost', action='store_true')
    parser.add_argument('--csv')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    out = csv.writer(open(arguments.csv, 'w', buffering=1) if arguments.csv else sys.stdout)
    (cost if arguments.cost else calibration)(connection, out, arguments)


if __name__ == '__main__':
    main()
