"""Measures false alarms and power of drift() after train(), on generated and real tables.

python3 drift.py [CELL ..] [--trainings 20] [--draws 10] [--workers 1] [--data FOLDER] [--all]
[--once] [--csv FILE]

Connects by PG* variables. Prints a line for each cell; exits 1 if a bound is broken.
CELL is LAW:DIMENSIONS:ROWS:NEW_ROWS[:WAY]. Without cells, the cells listed in this file are run;
--all runs every law at all SIZES, and --data adds halves of real tables. Each training has its own
rows, and is followed by --draws calls of drift with new rows. LAW is one of LAWS, `real/NAME`, or
CHANGE=SIZE, for which the new rows have another law than the training rows.
WAY is one of
    kmeans       the default method
    compressive  the method compressive
    groups       three groups, with one p-value for each
    tenants      ten groups, a hundred apart in every column, with one p-value for each
    live         a live model whose rows are replaced
    sketch       drift of a sketch, which has only the sketch of the new rows
    units        laws of UNITS only: the last column is the unit of a row, in option `unit`
    weights      laws of WEIGHTS only: the last column is the weight of a row, in option `row_weight`
    both         laws of BOTH only: the last two columns are unit and weight
"named" is the share of draws in which the first entry of `columns` is a column that changed.
Good:
    same law: p < .01 in at most 4 % and p < .05 in at most 9 % of the draws of a cell, and in at
        most 1.2 % and 5.5 % of the draws of all cells
    changed law: p < .01 in at least the percentage of POWER, NULL_POWER or UNIT_POWER; a SLIGHT change is never `drifted`
    every draw: the verdict is `slight` or `drifted` exactly if p < .01
A cell that breaks its bound is run again with five times as many trainings, which decide. --once
runs no cell again, so that a cell sometimes exceeds its bound by chance.
"""
import argparse
import csv
import multiprocessing
import os
import sys
import time
import zlib

import numpy as np
import psycopg2
from sklearn.datasets import load_digits

import tables

SIZES = ('10000:5000', '1000:10000', '40000:1000')
FEW = ('300:300', '5000:60', '300:100')
MANY_LEVELS = ('1000:1000', '5000:5000', '1000:10000')
POWER = {'shift=0.2:10:5000:5000': 95, 'shift=0.2:60:5000:5000': 95, 'shift=0.2:300:5000:5000': 95,
         'category=0.05:10:5000:5000': 95, 'category=0.05:60:5000:5000': 95, 'variance=2:10:5000:5000': 95, 'variance=2:60:5000:5000': 95,
         'correlation=0.5:10:5000:5000': 95, 'correlation=0.5:60:5000:5000': 95, 'correlation=0.3:60:5000:5000': 80,
         'correlation=0.3:300:5000:5000': 80, 'share=0.13:10:20000:20000': 95,
         'shift=0.4:10:300:300': 80, 'shift=0.5:10:5000:100': 80, 'shift=0.5:50:300:300': 80}
NULL_POWER = {'null=0.05:2:5000:2000': 95, 'null=0.05:10:5000:2000': 95, 'nulls=0.36:2:5000:2000': 80, 'nulls=0.36:10:5000:2000': 80,
              'nulls=0.36:30:5000:2000': 80}
SLIGHT = 'shift=0.02:10:1000000:1000000'
REAL = {}
GROUPS = {'groups': 3, 'tenants': 10}      # WAY -> number of groups
OPTIONS = {'units': ['unit'], 'weights': ['row_weight'], 'both': ['unit', 'row_weight']}   # WAY -> options that name the last columns
UNIT_CELLS = ('customers2:4:800:800', 'customers5:4:2000:2000', 'customers20:4:8000:8000', 'customers20:20:8000:8000', 'days50:4:5000:3000',
              'customers5:4:2000:500', 'customers20:4:8000:600', 'unequal:4:8000:8000', 'unequal:12:4000:2000', 'constant20:4:8000:8000',
              'customers1:4:1000:1000')
WEIGHT_CELLS = ('uniform_weights:4:5000:3000', 'lognormal_weights:4:5000:3000', 'survey_weights:4:5000:3000', 'tied_weights:4:5000:3000',
                'lognormal_weights:20:10000:5000', 'survey_weights:8:1000:1000')
UNIT_POWER = {'unit_shift=0.5:4:8000:8000:units': 90, 'unit_shift=0.5:4:2000:2000:units': 55}


# ---- laws: functions of (rng, d) that return a generator, a function of the number of rows ----

def mixture(rng, d):
    centres, shares = 2 * rng.standard_normal((10, d), dtype=np.float32), rng.dirichlet(np.full(10, 3.))
    return lambda n: centres[rng.choice(10, n, p=shares)] + rng.standard_normal((n, d), dtype=np.float32)


def factors(rng, d):
    loadings = rng.standard_normal((3, d), dtype=np.float32)
    return lambda n: rng.standard_normal((n, 3), dtype=np.float32) @ loadings + rng.standard_normal((n, d), dtype=np.float32)


def categories(rng, d, texts=False):
    draw = tables.category_law(d, rng)
    return (lambda n: np.char.add('v', draw(n)[0].astype(str))) if texts else lambda n: tables.one_hot(*draw(n)[:2])


def with_nulls(rng, share):
    """Returns a function of rows that makes them doubles, which become columns, with a share of
    NULLs, as NaN; share has a number or a number for each column."""
    return lambda x: np.where(rng.random(x.shape) < share, np.nan, x.astype(np.float64))


def nulls(share):
    def law(rng, d):
        draw, holes = LAWS['mixture'](rng, d), with_nulls(rng, share)
        return lambda n: holes(draw(n))
    return law


LAWS = {
    'nulls0.1': nulls(.001),
    'nulls5': nulls(.05),
    'nulls30': nulls(.3),
    'normal': lambda rng, d: lambda n: rng.standard_normal((n, d), dtype=np.float32),
    'uniform': lambda rng, d: lambda n: rng.random((n, d), dtype=np.float32),
    't3': lambda rng, d: lambda n: rng.standard_t(3, (n, d)).astype(np.float32),
    'pareto': lambda rng, d: lambda n: rng.pareto(1.2, (n, d)).astype(np.float32),
    'mixture': mixture,
    'factors': factors,
    'zeros': lambda rng, d: lambda n: np.where(rng.random((n, d)) < .9, 0, rng.exponential(1, (n, d))).astype(np.float32),
    'onehot': categories,
    'texts': lambda rng, d: categories(rng, d, True),
    'even': lambda rng, d: lambda n: np.char.add('v', rng.integers(0, d, (n, 1)).astype(str)),     # one column of d texts
    'sparse': lambda rng, d: lambda n: np.where(rng.random((n, d)) < .99, 0, rng.exponential(1, (n, d))).astype(np.float32),
}


# ---- laws of rows in units: columns, and the unit as the last column ----

def in_units(sizes, level=1., noise=1.):
    """Returns a law of rows with levels of their units: columns are normal, rounded, skewed and
    with NULLs, in turn. sizes(rng, n): sizes of units of n rows or more."""
    def law(rng, d):
        def draw(n, shift=0.):
            size = sizes(rng, n)
            unit = np.repeat(np.arange(len(size)), size)[:n]
            levels = level * rng.standard_normal((len(size), d))
            levels[:, 0] += shift * level
            x = levels[unit] + noise * rng.standard_normal((n, d))
            x[:, 1::4] = np.round(x[:, 1::4])
            x[:, 2::4] = np.exp(x[:, 2::4])
            x[:, 3::4] = np.where(rng.standard_normal((len(size), d))[unit][:, 3::4] + noise * rng.standard_normal((n, d))[:, 3::4] > 1.5, np.nan, x[:, 3::4])
            return np.column_stack([x, unit + rng.integers(1 << 40)])
        return draw
    return law


def of_size(m):
    return lambda rng, n: np.full(n // m + 1, m)


UNITS = {
    **{f'customers{m}': in_units(of_size(m)) for m in (1, 2, 5, 20)},
    'days50': in_units(of_size(50), level=.5),
    'constant20': in_units(of_size(20), noise=0.),
    'unequal': in_units(lambda rng, n: np.ceil(5 * rng.lognormal(0, 1, n)).astype(int)),
}


# ---- laws of rows with weights: as of one row for each unit, and the weight as the last column ----

def weighted(weigh, law=UNITS['customers1'], kept=-1):
    """Returns a law with weights weigh(rng, rows), after `kept` of the columns of another law."""
    def make(rng, d):
        draw = law(rng, d)

        def rows(n):
            x = draw(n)
            return np.column_stack([x[:, :kept], weigh(rng, x)])
        return rows
    return make


WEIGHTS = {
    'uniform_weights': weighted(lambda rng, x: rng.uniform(0, 1, len(x)) + 1e-3),
    'lognormal_weights': weighted(lambda rng, x: rng.lognormal(0, 1, len(x))),
    'survey_weights': weighted(lambda rng, x: rng.integers(1, 201, len(x))),
    'tied_weights': weighted(lambda rng, x: np.exp(x[:, 0] / 2 + rng.standard_normal(len(x)) / 2)),
}
BOTH = {
    'weighted_customers5': weighted(lambda rng, x: rng.lognormal(0, 1, len(x)), UNITS['customers5'], None),
    'weighted_customers20': weighted(lambda rng, x: np.exp(x[:, 0] / 3), UNITS['customers20'], None),
}
LAWS.update(UNITS | WEIGHTS | BOTH)


# ---- changes: generators of training rows and of new rows, and the columns that change ----

def changed(change, rng, d, size):
    columns = rng.choice(d, min(d, 3), replace=False)
    one = columns[:1]
    normal = LAWS['normal'](rng, d)

    def column(values, before=None):
        """Returns generators of normal rows in which one column is computed: by values(x) in the
        new rows and by before(x), if given, in the training rows."""
        def draw(make, n):
            x = normal(n)
            x[:, one[0]] = make(x[:, one[0]])
            return x
        return (lambda n: draw(before, n)) if before else normal, lambda n: draw(values, n), one

    if change == 'shift':
        return column(lambda x: x + size)
    if change == 'variance':
        return column(lambda x: x * np.sqrt(size))
    if change == 'unit_shift':      # the levels of units of 20 rows, by `size` of their deviations
        rows = UNITS['customers20'](rng, d)
        return rows, lambda n: rows(n, size), one * 0
    if change in ('null', 'nulls'):     # one column, among others with no or 30 % NULLs, gets a share `size` of NULLs
        before = np.full(d, 0. if change == 'null' else .3)
        after = np.where(np.arange(d) == one[0], size, before)
        return lambda n: with_nulls(rng, before)(normal(n)), lambda n: with_nulls(rng, after)(normal(n)), one
    if change == 'category':
        return column(lambda x: rng.random(len(x)) < size, lambda x: rng.random(len(x)) < .002)
    if change == 'correlation':
        root = np.linalg.cholesky(np.full((3, 3), size) + (1 - size) * np.eye(3)).T.astype(np.float32)

        def correlated(n):
            x = normal(n)
            x[:, columns] = x[:, columns] @ root
            return x
        return normal, correlated, columns
    if change == 'share':
        centres, after = 2 * rng.standard_normal((10, d), dtype=np.float32), np.array([size] + 9 * [(1 - size) / 9])
        return lambda n: centres[rng.integers(0, 10, n)] + normal(n), lambda n: centres[rng.choice(10, n, p=after)] + normal(n), range(d)
    sys.exit(f'drift: no law or change {change}')


def rows_of(text, seed, draws):
    """Returns the training rows, a list of draws of new rows, and the columns that change: () if
    the law is the same."""
    law, d, n1, n2 = text.split(':')[:4]
    d, n1, n2 = int(d), int(n1), int(n2)
    rng = np.random.default_rng([zlib.crc32(text.encode()), seed])
    name, _, size = law.partition('=')
    if size:
        before, after, columns = changed(name, rng, d, float(size))
        return before(n1), [after(n2) for _ in range(draws)], columns
    if law.startswith('real/'):
        x = REAL[law[5:]]
        x = x[rng.permutation(len(x))[:n1 + draws * n2]]
    else:
        x = LAWS[law](rng, d)(n1 + draws * n2)
    return x[:n1], np.split(x[n1:], draws), ()


def in_columns(x):
    """Returns whether the rows are columns of a table, of texts or with NULLs, and not vectors."""
    return x.dtype.kind == 'U' or x.dtype == np.float64


# ---- a training and its draws ----

class Session:
    """A connection with its own schema and model, so that parallel processes do not conflict."""

    def __init__(self):
        self.name = f'drift_{os.getpid()}'
        self.connection = psycopg2.connect('')
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.cursor.execute(f'SET client_min_messages = error; DROP SCHEMA IF EXISTS {self.name} CASCADE; CREATE SCHEMA {self.name};'
                            f'SET search_path = {self.name}, fastclust')

    def ask(self, query, *values):
        self.cursor.execute(query, values)
        return self.cursor.fetchall()

    def copy(self, table, x, way):
        if in_columns(x):
            tables.copy_columns(self.connection, table, x)
        else:
            tables.copy_rows(self.connection, table, x + 100 * (np.arange(1, len(x) + 1)[:, None] % 10) if way == 'tenants' else x)
        if way in GROUPS:
            self.cursor.execute(f'ALTER TABLE {table} ADD part int GENERATED ALWAYS AS (id % {GROUPS[way]}) STORED')

    def train(self, x, way, seed):
        self.ask('SELECT count(drop_model(model)) FROM models WHERE model = %s', self.name)
        self.copy('trained', x, way)
        extra = OPTIONS.get(way, [])
        d = x.shape[1] - len(extra)
        features = [f'c{j}' for j in range(d)] if in_columns(x) else 'x'
        more = ', "group_by": "part"' if way in GROUPS else ', "live": true' if way == 'live' else ''
        more += ''.join(f', "{option}": "c{d + i}"' for i, option in enumerate(extra))
        if way == 'live':
            self.cursor.execute('ALTER TABLE trained SET LOGGED')
        self.ask('SELECT train(%s, %s, %s, %s, %s, %s)', self.name, 'trained', features, 2 if in_columns(x) and d == 1 else 5, 'compressive' if way == 'compressive' else 'kmeans',
                 f'{{"quiet": true, "seed": {seed}{more}}}')

    def drift(self, y, way):
        """Returns (p-value, effect, verdict, first column) for each group, or one such tuple
        without groups."""
        self.copy('judged', y, way)
        what = "SELECT p_value, effect, verdict, coalesce(to_jsonb(columns) -> 0 ->> 'name', '') FROM"
        if way in GROUPS:
            return self.ask(f"{what} drift(%s, 'judged', by => 'group')", self.name)
        if way == 'sketch':
            row = 'x' if not in_columns(y) else 'encode_row((SELECT model_encoder(%s)), j, scaled => false)'
            return self.ask(f'{what} drift(%s, sketch => (SELECT sketch_agg({row}, model_spec(%s)) FROM judged j))',
                            *([self.name] * (2 + row.count('%s'))))
        if way == 'live':
            self.cursor.execute('TRUNCATE trained; INSERT INTO trained TABLE judged')
            return self.ask(f'{what} drift(%s)', self.name)
        return self.ask(f"{what} drift(%s, 'judged')", self.name)


def measure(text, trainings, draws):
    """Returns (p-value, effect, verdict, whether the first column is one that changed) for all
    draws."""
    way = (text.split(':') + ['kmeans'])[4]
    results = []
    for seed in range(trainings):
        x, drawn, columns = rows_of(text, seed, draws)
        session.train(x, way, seed)
        names = {f'x[{j + 1}]' if not in_columns(x) else f'c{j}' if way in OPTIONS else f'c{j} is NULL' for j in columns}
        results += [(p, effect, verdict, any(one in name for one in names)) for y in drawn for p, effect, verdict, name in session.drift(y, way)]
    return results


# ---- bounds ----

def amount(text, arguments):
    """Returns the number of trainings and the number of draws for each: three and one from a
    million rows on, half as many draws for a changed law, and for a real table too small for all
    draws, five times as many trainings with one draw each."""
    law, _, n1, n2 = text.split(':')[:4]
    if int(n1) + int(n2) >= 1000000:
        return 3, 1
    if law.startswith('real/') and int(n1) + arguments.draws * int(n2) > len(REAL[law[5:]]):
        return 5 * arguments.trainings, 1
    return (arguments.trainings, arguments.draws) if '=' not in law else (arguments.trainings, max(arguments.draws // 2, 1))


def figures(results):
    p, effect = (np.array([r[i] for r in results], dtype=float) for i in (0, 1))
    said = [r[2] for r in results]
    return {'p < .01': (p < .01).mean(), 'p < .05': (p < .05).mean(), 'p < .5': (p < .5).mean(), 'drifted': said.count('drifted') / len(said),
            'effect': np.median(effect), 'largest': effect.max(), 'named': np.mean([r[3] for r in results]), 'draws': len(results),
            'contradictions': sum((a < .01) != (v in ('slight', 'drifted')) for a, v in zip(p, said))}


def kept(text, f):
    """Returns whether the figures of a cell keep its bounds."""
    if text == SLIGHT:
        return f['p < .01'] == 1 and f['drifted'] == 0
    if '=' in text:
        return 100 * f['p < .01'] >= (POWER | NULL_POWER | UNIT_POWER).get(text, 0)
    return f['p < .01'] <= .04 and f['p < .05'] <= .09


def run(job):
    """Runs a cell. Returns its name, its first figures, the figures that decide, whether they keep
    its bounds, and the seconds taken."""
    text, arguments = job
    begun = time.time()
    trainings, draws = amount(text, arguments)
    first = last = figures(measure(text, trainings, draws))
    if not kept(text, first) and text != SLIGHT and not arguments.once:
        last = figures(measure(text, 5 * trainings, draws))
    return text, first, last, kept(text, last) and last['contradictions'] == 0, time.time() - begun


def cells(arguments):
    def sized(names, dimensions):
        for i, law in enumerate(names):
            for j, d in enumerate(dimensions):
                yield from (f'{law}:{d}:{size}' for size in (SIZES if arguments.all else [SIZES[(i + j) % 3]]))
    yield from sized(('normal', 'uniform', 't3', 'pareto', 'mixture'), (2, 10, 24, 60, 100, 300))
    yield from sized(('onehot', 'texts'), (20, 60, 100, 300))
    yield from sized(('factors', 'zeros'), (40,))
    yield from sized(('nulls0.1', 'nulls5', 'nulls30'), (2, 10, 24))
    for i, law in enumerate(('normal', 't3', 'pareto', 'mixture', 'zeros')):
        yield from (f'{law}:{d}:{FEW[(i + j) % 3]}' for j, d in enumerate((10, 60)))
    for i, levels in enumerate((33, 40, 60, 100, 200, 1000, 3000)):
        yield f'even:{levels}:{MANY_LEVELS[i % 3]}'
    yield from (f'sparse:{d}:{size}' for d, size in ((100, '1000:1000'), (384, '1000:1000'), (384, '10000:5000'), (1000, '1000:1000')))
    for i, way in enumerate(('compressive', 'groups', 'live', 'sketch')):
        for j, cell in enumerate(('mixture:10', 't3:60', 'onehot:100')):
            yield f'{cell}:{SIZES[(i + j) % 2]}:{way}'
    for name, x in REAL.items():
        n1, n2 = (10000, 5000) if len(x) >= 15000 else (len(x) // 2, len(x) // 2)
        yield f'real/{name}:{x.shape[1]}:{n1}:{n2}'
    yield from (f'{cell}:units' for cell in UNIT_CELLS)
    yield from (f'{cell}:weights' for cell in WEIGHT_CELLS)
    yield from ('weighted_customers5:4:2000:2000:both', 'weighted_customers20:4:8000:4000:both')
    yield from POWER
    yield from NULL_POWER
    yield from UNIT_POWER
    yield from (f'{cell}:sketch' for cell in POWER)
    yield SLIGHT


def start_session():
    global session
    session = Session()


def calibration(arguments):
    jobs = [(text, arguments) for text in arguments.cells or cells(arguments)]
    out = csv.writer(open(arguments.csv, 'w', buffering=1)) if arguments.csv else None
    pooled, broken = [], []
    with multiprocessing.Pool(arguments.workers, start_session) as pool:
        for text, first, f, good, seconds in pool.imap(run, jobs):
            again = '' if f is first else f" at first {100 * first['p < .01']:.1f} {100 * first['p < .05']:.1f} %"
            print(f"{text:36s} p<.01 {100 * f['p < .01']:5.1f} <.05 {100 * f['p < .05']:5.1f} <.5 {100 * f['p < .5']:5.1f} % of {f['draws']:4d}  drifted "
                  f"{100 * f['drifted']:5.1f} %  effect {f['effect']:.3f} to {f['largest']:.3f}"
                  f"{'  named ' + format(100 * f['named'], '.0f') + ' %' if '=' in text else ''}  {seconds:.0f} s{again}"
                  f"{'' if good else '  BROKEN'}{' contradictions ' + str(f['contradictions']) if f['contradictions'] else ''}", flush=True)
            if out:
                out.writerow([text, good, *(round(float(v), 4) for v in f.values())])
            if '=' not in text:
                pooled.append((first['p < .01'], first['p < .05']))
            if not good:
                broken.append(text)
    if pooled:
        one, five = 100 * np.mean(pooled, axis=0)
        print(f'same law, {len(pooled)} cells: p < .01 in {one:.2f} %, p < .05 in {five:.2f} %')
        if len(pooled) >= 20 and (one > 1.2 or five > 5.5):
            broken.append('pooled')
    print(f"broken: {', '.join(broken) or 'none'}")
    sys.exit(bool(broken))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('cells', nargs='*')
    parser.add_argument('--trainings', type=int, default=20)
    parser.add_argument('--draws', type=int, default=10)
    parser.add_argument('--workers', type=int, default=1)
    parser.add_argument('--data')
    parser.add_argument('--all', action='store_true')
    parser.add_argument('--once', action='store_true')
    parser.add_argument('--csv')
    arguments = parser.parse_args()
    REAL['digits'] = load_digits().data.astype(np.float32)
    if arguments.data:
        REAL.update((name, load()[0]) for name, load in tables.real_sets(arguments.data).items())
        REAL['kddcup99'] = tables.loader(arguments.data).kddcup99()[0]
    calibration(arguments)


if __name__ == '__main__':
    main()
