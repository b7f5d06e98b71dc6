"""Counts how often choose_k finds the planted number of clusters, and how often it reports no
clusters in a single cloud of rows, as a Markdown table.

python3 number.py [--rows 5000] [--seeds 10] [--max-k 50] [--dimensions 2,10,20] [--k
3,5,10,20,30] [--nulls | --planted [--only NAME]] [--csv FILE]

Connects by PG* variables. Centres are placed one by one, each `gap` standard deviations from an
earlier one and no nearer to any other.
--planted prints two tables. The first is for families of topics: how often choose_k finds the
number of families, and the same number with max_k 50, 100 and 200. The second counts verdicts
`clear`, and how many of them have the planted number, for
    clusters of equal sizes, 6 standard deviations apart, as they are and standardised
    clusters of sizes 1:3 to 1:100 with up to 100 columns of noise, as they are and standardised
    kinds that differ in flags and categories
    small tables with texts: the table of docs/customers.md, texts that depend on the kind but are
        NULL at random, and random texts
    wide tables of rounded numbers with NULLs, some of few rows
--nulls counts how often choose_k finds the same number for a table with NULLs (with_nulls of
tables.py) as for the same table without them.
Good: the planted number in nearly all tables, and never `clear` with a wrong one.
"""
import argparse
import csv
import io

import numpy as np
import pandas
import psycopg2

import tables

CLOUDS = {
    'uniform': lambda rng, shape: rng.uniform(size=shape),
    'normal': lambda rng, shape: rng.standard_normal(shape),
    'exponential': lambda rng, shape: rng.exponential(size=shape),
    "Student's t, 3": lambda rng, shape: rng.standard_t(3, shape),
}


def chain(k, d, gap, rng):
    centres = [np.zeros(d)]
    while len(centres) < k:
        step = rng.standard_normal(d)
        centre = centres[rng.integers(len(centres))] + gap * step / np.linalg.norm(step)
        if min(np.linalg.norm(centre - other) for other in centres) >= 0.999 * gap:
            centres.append(centre)
    return np.array(centres)


def planted(k, d, gap, rows, seed):
    rng = np.random.default_rng(seed)
    centres = chain(k, d, gap, rng)
    label = rng.integers(0, k, rows)
    return (centres[label] + rng.standard_normal((rows, d))).astype(np.float32), label


def families(seed, d, rows, gap=8, apart=3):
    """Returns rows of families of topics and the number of families. Topics are `gap` standard
    deviations apart; topics of different families are at least 3 times as far apart."""
    rng = np.random.default_rng(seed)
    count, topics = ((20, 8), (5, 10), (12, 6), (4, 30))[seed % 4]
    inner = [centres - centres.mean(0) for centres in (chain(topics, d, gap, rng) for _ in range(count))]
    radius = max(np.linalg.norm(centres, axis=1).max() for centres in inner)
    centres = np.concatenate([centre + topic for centre, topic in zip(chain(count, d, 2 * radius + apart * gap, rng), inner)])
    return (centres[rng.integers(0, len(centres), rows)] + rng.standard_normal((rows, d))).astype(np.float32), count


def equal(seed):
    k = (3, 5, 10, 20, 30)[seed % 5]
    return planted(k, (2, 10, 20)[seed // 5 % 3], 6, 5000, seed)[0], k


def unequal(seed):
    """Returns rows of clusters with sizes from 1:3 to 1:100, some with columns of noise, and the
    number of clusters."""
    rng = np.random.default_rng(seed)
    k, d, ratio, noise = (3, 5, 8, 12)[seed % 4], (2, 4, 10)[seed // 4 % 3], (3, 10, 30, 100)[seed // 12 % 4], (0, 10, 100)[seed % 3]
    weights = np.geomspace(1, ratio, k)
    centres = chain(k, d, (6, 8)[seed % 2], rng)
    label = rng.choice(k, 10000, p=rng.permutation(weights / weights.sum()))
    x = centres[label] + rng.standard_normal((10000, d))
    return np.hstack([x, rng.standard_normal((10000, noise))]).astype(np.float32), k


def standardised(draw):
    def drawn(seed):
        x, k = draw(seed)
        return (x - x.mean(0)) / x.std(0), k
    return drawn


def customers(seed):
    """Returns the table of docs/customers.md with 300 to 20,000 rows and NULLs in up to 20 % of a
    text, and its number of kinds."""
    rng = np.random.default_rng(seed)
    rows, share = (300, 1000, 3000, 20000)[seed % 4], (.04, .1, .2)[seed // 4 % 3]
    kind = np.searchsorted([.3, .6, .8], rng.uniform(size=rows), side='right')
    chance = rng.uniform(size=(8, rows))
    return pandas.DataFrame({
        'age': np.where(chance[0] > .06, np.array([24, 41, 63, 35])[kind] + np.round(12 * (chance[1] + chance[2] - 1)), np.nan),
        'spent': np.round(np.exp(np.array([2.5, 4.5, 3.5, 6])[kind] + rng.triangular(-1, 0, 1, rows)), 2),
        'country': np.where(chance[3] < .8, np.array(['DE', 'FR', 'US', 'DE'])[kind], 'CN'),
        'plan': np.where(chance[4] > share, np.array(['free', 'pro', 'free', 'team'])[kind], None),
        'newsletter': chance[5] < np.array([.1, .8, .4, .9])[kind],
        'since': pandas.Timestamp('2021-01-01') + pandas.to_timedelta(np.array([1200, 500, 100, 700])[kind] + (200 * chance[6]).astype(int), 'D')}), 4


def texts(seed, tells):
    """Returns columns of numbers of k kinds 7 standard deviations apart, with a text, and k. If
    `tells`, the text depends on the kind, with NULLs and wrong kinds at random; otherwise it is
    random."""
    rng = np.random.default_rng(seed)
    rows, k, d, levels = (300, 600, 1000, 5000)[seed % 4], 3 + seed % 4, 2 + seed % 3, (2, 3, 5)[seed // 2 % 3]
    x, label = planted(k, d, 7, rows, seed)
    told = np.where(rng.uniform(size=rows) < .2 * (seed % 2), rng.integers(0, k, rows), label)
    text = np.char.add('text ', (told if tells else rng.choice(levels, rows, p=rng.dirichlet(np.full(levels, 3.)))).astype(str)).astype(object)
    if tells:
        text[rng.uniform(size=rows) < (.02, .05, .1, .2)[seed // 4 % 4]] = None
    return pandas.DataFrame(x.astype(float), columns=[f'c{j}' for j in range(d)]).assign(text=text), k


def kinds(seed):
    """Returns rows of four kinds that differ only in flags and categories, scaled like an encoder's
    coordinates, and 4."""
    rng = np.random.default_rng(seed)
    k, rows, columns = 4, 5000, []
    label = rng.integers(0, k, rows)
    for _ in range((8, 4, 12)[seed % 3]):
        flag = (rng.uniform(size=rows) < rng.uniform(size=k)[label]).astype(float)
        columns.append((flag - flag.mean()) / max(flag.std(), 1e-9))
    for _ in range((0, 3, 4)[seed % 3]):
        ends = rng.dirichlet(np.full(5, .5), k).cumsum(1)
        one = np.eye(5)[np.minimum((rng.uniform(size=(rows, 1)) > ends[label]).sum(1), 4)]
        columns.extend(((one - one.mean(0)) / np.sqrt(((one - one.mean(0)) ** 2).sum(1).mean())).T)
    return np.array(columns).T.astype(np.float32), k


def wide(seed):
    """Returns 30, 100 or 3000 rows of 60 or 300 rounded columns with 20 % NULLs, in three or four
    clusters about 20 deviations apart, and their number."""
    rng = np.random.default_rng(seed)
    rows, d, k = (30, 100, 3000)[seed % 3], (60, 300)[seed // 3 % 2], 3 + seed // 6 % 2
    x = (rng.standard_normal((k, d)) * 20 / np.sqrt(2 * d))[np.arange(rows) % k] + rng.standard_normal((rows, d))
    return pandas.DataFrame(np.where(rng.uniform(size=x.shape) < .2, np.nan, np.round(x, 1)), columns=[f'c{j}' for j in range(d)]), k


def copy_frame(connection, frame):
    types = {'f': 'double precision', 'b': 'boolean', 'M': 'date', 'O': 'text'}
    with connection.cursor() as cursor:
        cursor.execute('DROP TABLE IF EXISTS number; CREATE UNLOGGED TABLE number (' + ', '.join(f'{c} {types[frame[c].dtype.kind]}' for c in frame) + ')')
        cursor.copy_expert('COPY number FROM STDIN (FORMAT csv)', io.StringIO(frame.to_csv(index=False, header=False)))
        cursor.execute('ANALYZE number')


def choose(connection, x, max_k, seed, columns=False):
    """Returns (k, verdict) of choose_k for an array, as a column of vectors or as columns, or for a
    data frame."""
    if isinstance(x, pandas.DataFrame):
        copy_frame(connection, x)
    else:
        (tables.copy_columns if columns else tables.copy_rows)(connection, 'number', x)
    names = list(x) if isinstance(x, pandas.DataFrame) else [f'c{j}' for j in range(x.shape[1])] if columns else 'x'
    with connection.cursor() as cursor:
        cursor.execute("SELECT k, verdict FROM fastclust.choose_k('number', %s, %s, jsonb_build_object('seed', %s)) WHERE verdict IS NOT NULL",
                       (names, max_k, seed))
        return cursor.fetchone()


def with_planted(connection, arguments):
    """Prints how often the number of families is found with each max_k, and how often a number has
    the verdict `clear` and is the planted one."""
    print('| rows | same k for max_k 50, 100, 200 | planted k |\n| --- | --- | --- |')
    for d in map(int, arguments.dimensions.split(',') if arguments.only in (None, 'families') else ()):
        same = right = 0
        for seed in range(arguments.seeds):
            x, k = families(seed, d, 20000)
            found = {choose(connection, x, max_k, seed) for max_k in (50, 100, 200)}
            same += len({n for n, _ in found}) == 1
            right += {n for n, _ in found} == {k}
        print(f'| families of topics, {d} dimensions | {same} | {right} of {arguments.seeds} |', flush=True)
    print('\n| rows | clear | clear and the planted k |\n| --- | --- | --- |')
    for name, draw in (('equal sizes', equal), ('equal sizes, standardised', standardised(equal)), ('unequal sizes, noise', unequal),
                       ('unequal sizes, noise, standardised', standardised(unequal)), ('flags and categories', kinds), ('customers', customers),
                       ('a text with NULLs', lambda seed: texts(seed, True)), ('a text of chance', lambda seed: texts(seed, False)),
                       ('wide, with NULLs', wide)):
        if arguments.only not in (None, name):
            continue
        found = [(choose(connection, x, arguments.max_k, seed), k) for seed in range(arguments.seeds) for x, k in [draw(seed)]]
        clear = [(n, k) for (n, verdict), k in found if verdict == 'clear']
        print(f'| {name} | {len(clear)} of {len(found)} | {sum(n == k for n, k in clear)} |', flush=True)


def with_nulls(connection, arguments):
    """Prints, for each kind of NULLs, how often k is the same with and without them, and how often
    each is the planted number."""
    print('| NULLs | same k without NULLs | planted k | planted k without NULLs |\n| --- | --- | --- | --- |')
    for how, share in [('random', .05), ('random', .15), ('random', .3), ('cluster', .15), ('cluster', .3), ('block', .3), ('told', 0)]:
        found = []
        for seed in range(arguments.seeds):
            rng = np.random.default_rng(seed)
            k, d = 3 + seed % 6, (4, 10)[seed % 2]
            x, classes = planted(k, d, 8, arguments.rows, seed)
            holes = tables.with_nulls(x.astype(float), classes, share, how, rng)
            found.append((k, *(choose(connection, rows, arguments.max_k, seed, True)[0] for rows in (x.astype(float), holes))))
        k, without, chosen = np.array(found).T
        print(f'| by {how}, {share:.0%} | {(chosen == without).sum()} | {(chosen == k).sum()} | {(without == k).sum()} of {len(k)} |', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rows', type=int, default=5000)
    parser.add_argument('--seeds', type=int, default=10)
    parser.add_argument('--max-k', type=int, default=50)
    parser.add_argument('--dimensions', default='2,10,20')
    parser.add_argument('--k', default='3,5,10,20,30')
    parser.add_argument('--nulls', action='store_true')
    parser.add_argument('--planted', action='store_true')
    parser.add_argument('--only')
    parser.add_argument('--csv')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    if args.nulls:
        with_nulls(connection, args)
        return
    if args.planted:
        with_planted(connection, args)
        return
    results = []
    for d in map(int, args.dimensions.split(',')):
        for gap in (8, 4):
            for k in map(int, args.k.split(',')):
                found = [choose(connection, planted(k, d, gap, args.rows, seed)[0], args.max_k, seed) for seed in range(args.seeds)]
                clear = [n for n, verdict in found if verdict == 'clear']
                results.append((d, f'{k} clusters, {gap} deviations apart', sum(n == k for n in clear), sum(abs(n - k) <= 1 for n in clear), 0))
        for name, draw in CLOUDS.items():
            found = [choose(connection, draw(np.random.default_rng(seed), (args.rows, d)).astype(np.float32), args.max_k, seed)
                     for seed in range(args.seeds)]
            results.append((d, f'one cloud, {name}', 0, 0, sum(verdict != 'clear' for _, verdict in found)))
    print_table(results)
    if args.csv:
        with open(args.csv, 'w', newline='') as file:
            csv.writer(file).writerows([('dimensions', 'rows', 'right', 'within one', 'no clear k'), *results])


def print_table(results):
    """Prints one column for each dimension: how often k is right or within one, or how often the
    verdict is not `clear` for a single cloud."""
    dimensions = list(dict.fromkeys(r[0] for r in results))
    print('| rows |' + ''.join(f' {d} dimensions |' for d in dimensions) + '\n| --- |' + ' --- |' * len(dimensions))
    for law in dict.fromkeys(r[1] for r in results):
        cells = [f'{none} no clear k' if 'cloud' in law else f'{right} right, {near} within one'
                 for _, name, right, near, none in results if name == law]
        print(f'| {law} | ' + ' | '.join(cells) + ' |', flush=True)


main()
