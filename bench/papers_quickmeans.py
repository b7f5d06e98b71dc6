"""Figures of the paper QuicK-means; see papers.py.

Run as a program, it draws Fig. 1 beside ours, from the rows of papers.csv and one more run:
papers_quickmeans.py --data FOLDER [--docs DOCS]
"""
import argparse
import json
import os
import time

import numpy as np
from sklearn.neighbors import BallTree
from sklearn.svm import LinearSVC

import assignment
import nystroem
import rows
import tables
from paper_parts import Paper

paper = Paper('QuicK-means')
ITERATIONS = 10
RUNS = (1, 2, 3, 4, 0)  # seeds of the runs on MNIST; five, as in the paper
CLASSES = 100           # classes of the blobs whose rows train and test the SVM
SVM_ROWS = 20000
QUERIES = 1000
SAMPLE = 5000           # rows of a kernel matrix
# Fig. 1a of the paper, read from the picture: objectives / 1e11 of iterations 0, 1, 2, 3, 6, 9
FIGURE = {'k-means': (2.25, 1.41, 1.36, 1.34, 1.31, 1.306), 'sparsity 2': (2.25, 1.54, 1.49, 1.465, 1.435, 1.421),
          'sparsity 3': (2.21, 1.51, 1.455, 1.43, 1.40, 1.392), 'sparsity 5': (2.24, 1.46, 1.405, 1.38, 1.355, 1.345)}


def value(query, *values):
    paper.cursor.execute(query, values)
    return paper.cursor.fetchone()[0]


# ---- data ----

def load_rows(name, train, test):
    """Creates the tables of training and test rows, and forgets the operators of other rows."""
    tables.copy_rows(paper.cursor.connection, name, train.astype(np.float32))
    tables.copy_rows(paper.cursor.connection, 'asked', test.astype(np.float32))
    paper.cursor.execute('DROP TABLE IF EXISTS bench_rows, ops; CREATE TABLE bench_rows AS SELECT id, x FROM asked WHERE id < 100;'
                         'CREATE TABLE ops (name text PRIMARY KEY, op fastop, map kernel_map)')


def mnist():
    x, y = tables.loader(paper.args.data).mnist()
    asked = slice(60000, None, 10000 // QUERIES)    # the first half of the test rows is harder
    load_rows('digits', x[:60000], x[asked])
    return x[:60000].astype(np.float32), y[:60000], x[asked].astype(np.float32), y[asked]


# ---- training ----

def keep(name, query, *values):
    paper.cursor.execute('DELETE FROM ops WHERE name = %s', (name,))
    paper.cursor.execute(f'INSERT INTO ops (name, op) SELECT %s, ({query})', (name, *values))


def start_of(x, k, seed):
    return x[np.random.default_rng(seed).choice(len(x), k, replace=False)]


def keep_centroids(name, start):
    keep(name, 'SELECT fastop_agg(c ORDER BY o) FROM (SELECT o, (SELECT array_agg(v::float8) FROM json_array_elements_text(r) v) AS c '
         'FROM json_array_elements(%s::json) WITH ORDINALITY u(r, o)) s', json.dumps(start.tolist()))


def kmeans(table, start):
    """Keeps the operator of k-means from the start as 'k-means'. Returns the objectives of the
    iterations."""
    keep_centroids('k-means', start)
    objectives = []
    for _ in range(ITERATIONS):
        paper.cursor.execute(f"UPDATE ops SET op = (s).next FROM (SELECT lloyd_step_agg((SELECT op FROM ops WHERE name = 'k-means'), x) AS s FROM {table}) q "
                             "WHERE name = 'k-means' RETURNING (s).sse")
        objectives.append(paper.cursor.fetchone()[0])
    return objectives


def learn(name, table, k, **options):
    """Keeps the operator of QK-means. Returns the objectives of the iterations."""
    paper.cursor.execute(f"DROP TABLE IF EXISTS log; CREATE TABLE log AS SELECT iteration, objective, op, empty FROM qkmeans_log('{table}', 'x', %s, %s)",
                         (k, json.dumps(options)))
    keep(name, 'SELECT op FROM log ORDER BY iteration DESC LIMIT 1')
    paper.cursor.execute('SELECT objective FROM log ORDER BY iteration')
    return [row[0] for row in paper.cursor.fetchall()]


def learn_all(table, x, k, seed, sparsity=2, iterations=ITERATIONS):
    """Keeps k-means and QK-means as published from the same uniform rows, and QK-means by default."""
    start = start_of(x, k, seed)
    kmeans(table, start)
    learn('published', table, k, published=True, sparsity=sparsity, init=start.tolist(), seed=seed, iterations=iterations)
    learn('default', table, k, seed=seed)


def values_of(name):
    return value("SELECT (describe(op) ->> 'nonzeros')::bigint FROM ops WHERE name = %s", name)


# ---- what an operator is used for ----

def labels(name, table):
    paper.cursor.execute(f'SELECT assign((SELECT op FROM ops WHERE name = %s), x) FROM {table} ORDER BY id', (name,))
    return np.array([row[0] for row in paper.cursor.fetchall()])


def seconds_a_row(expression, copies=20):
    """Returns CPU seconds of an expression for a row, without reading the row."""
    read = rows.seconds(paper.cursor, 'count(x)', copies, 3)
    return (rows.seconds(paper.cursor, f'count({expression})', copies, 3) - read) / copies / 100


def assign_seconds(name):
    return seconds_a_row(f"assign((SELECT op FROM ops WHERE name = '{name}'), x)")


def feature_seconds(name):
    return seconds_a_row(f"kernel_features((SELECT map FROM ops WHERE name = '{name}'), x)")


def search(name, table, x, y, queries, classes):
    """Returns (accuracy, CPU seconds) of the search for the nearest row in the bucket of each query:
    the server finds the buckets, and numpy searches them."""
    of_row = labels(name, table)
    before = rows.backend_seconds(paper.cursor)
    of_query = labels(name, 'asked')
    taken = rows.backend_seconds(paper.cursor) - before
    buckets = {bucket: np.flatnonzero(of_row == bucket) for bucket in np.unique(of_row)}
    held = {bucket: (x[found], (x[found] ** 2).sum(1)) for bucket, found in buckets.items()}
    right = 0
    before = time.process_time()
    for query, bucket, wanted in zip(queries, of_query, classes):
        if bucket in buckets:
            points, squares = held[bucket]
            right += y[buckets[bucket][np.argmin(squares - 2 * points @ query)]] == wanted
    return right / len(queries), taken + time.process_time() - before


def make_map(name, gamma):
    paper.cursor.execute('UPDATE ops SET map = nystroem(op, rbf_kernel(%s)) WHERE name = %s', (gamma, name))


def features(name, table, where='true'):
    return tables.read_vectors(paper.cursor.connection, f"SELECT kernel_features((SELECT map FROM ops WHERE name = '{name}'), x)::real[] FROM {table} WHERE {where} ORDER BY id")


def error_of(name, table, kernel):
    y = features(name, table, f'id < {SAMPLE}').astype(float)
    return np.linalg.norm(kernel - y @ y.T) / np.linalg.norm(kernel)


def svm(name, table, y, classes, limit):
    """Returns the accuracy of a linear SVM on the features, trained on the first SVM_ROWS rows of
    the classes below the limit."""
    some, asked = np.flatnonzero(y < limit)[:SVM_ROWS], classes < limit
    train, test = features(name, table), features(name, 'asked')
    return LinearSVC(dual=False, random_state=0).fit(train[some], y[some]).score(test[asked], classes[asked])


NAMES = ('k-means', 'published', 'default')


def uniform_error(table, n, k, draws, seed, kernel, gamma):
    """Returns the mean error with landmarks drawn uniformly from n rows."""
    errors = []
    for draw in range(draws):
        chosen = np.random.default_rng(1000 * (draws * seed + draw) + k).choice(n, k, replace=False)
        keep('uniform', f'SELECT fastop_agg(x ORDER BY id) FROM {table} WHERE id = ANY(%s)', chosen.tolist())
        make_map('uniform', gamma)
        errors.append(error_of('uniform', table, kernel))
    return np.mean(errors)


def judge(table, k, seed, data, kernel, gamma, limit, draws=1):
    """Returns what -> name -> figure of Table 2 and supplement F for the kept operators."""
    x, y, queries, classes = data
    found = {name: search(name, table, x, y, queries, classes) for name in NAMES}
    for name in NAMES:
        make_map(name, gamma)
    return {'1NN accuracy': {name: f[0] for name, f in found.items()}, '1NN runtime': {name: f[1] for name, f in found.items()},
            'error': dict({name: error_of(name, table, kernel) for name in NAMES}, uniform=uniform_error(table, len(x), k, draws, seed, kernel, gamma)),
            'Nyström + SVM accuracy': {name: svm(name, table, y, classes, limit) for name in NAMES}}


def used(table, place, k, runs, runtimes):
    """Yields the means of the runs, and the times of the operators that are kept."""
    mean = {what: {name: np.mean([run[what][name] for run in runs]) for name in runs[0][what]} for what in runs[0]}
    assigned = {name: assign_seconds(name) for name in NAMES}
    inferred = {name: feature_seconds(name) for name in NAMES}
    for what, results in (('vector assignation time', assigned), ('Nyström inference time', inferred), ('1NN runtime', mean['1NN runtime']))[:3 if runtimes else 2]:
        yield f'Table 2, {place}, {what}, QK-means', results['published'] / results['k-means'], results['default'] / results['k-means']
    for what in ('1NN accuracy', 'Nyström + SVM accuracy'):
        yield f'Table 2, {place}, {what}, K-means', mean[what]['k-means'], None
        yield f'Table 2, {place}, {what}, QK-means', mean[what]['published'], mean[what]['default']
    yield f'Suppl. F, {place}, error, K-means', mean['error']['k-means'], None
    yield f'Suppl. F, {place}, error, QK-means sparsity 2', mean['error']['published'], mean['error']['default']
    yield f'Suppl. F, {place}, error, uniform sampling', mean['error']['uniform'], None
    base[table, k] = assigned['k-means'], inferred['k-means'], mean['1NN runtime']['k-means']


base = {}       # (table, k): seconds of k-means


def growth(table, place, first, others, runtimes):
    """Yields the times of k-means for other K, divided by those for the first K."""
    for k in others:
        for i, what in enumerate(('vector assignation time', 'Nyström inference time', '1NN runtime')[:3 if runtimes else 2]):
            yield f'Table 2, {place} K={k}, {what}, K-means', base[table, k][i] / base[table, first][i], None


def statistics(place, d, y, classes):
    """Yields the figures of Table 3."""
    for what, number in (('dimensions', d), ('classes', len(np.unique(y))), ('training rows', len(y)), ('test rows', len(classes))):
        yield f'Table 3, {place}, {what}', number, None


# ---- parts ----

@paper.part
def blobs():
    """Table 2 and supplement F on blobs."""
    from sklearn.datasets import make_blobs
    x, y = make_blobs(n_samples=30000, n_features=2000, centers=1000, cluster_std=12, random_state=0)
    x = x.astype(np.float32)
    queries, classes, x, y = x[-QUERIES:], y[-QUERIES:], x[:-QUERIES], y[:-QUERIES]
    load_rows('blobs', x, queries)
    gamma = 1 / nystroem.mean_distance(x.astype(float))
    kernel = nystroem.kernel_matrix(x[:SAMPLE].astype(float), gamma)
    yield from statistics('Blobs', 2000, y, classes)
    for k in (128, 256, 512):
        learn_all('blobs', x, k, 0, iterations=ITERATIONS if k < 512 else 3)
        yield f'Table 2, Blobs K={k}, number of parameters, K-means', values_of('k-means'), None
        yield f'Table 2, Blobs K={k}, number of parameters, QK-means', values_of('published'), values_of('default')
        yield from used('blobs', f'Blobs K={k}', k, [judge('blobs', k, 0, (x, y, queries, classes), kernel, gamma, CLASSES)], True)
        if k == 128:
            tree = BallTree(x)
            before = time.process_time()
            for query in queries[:50]:
                tree.query(query[None])
            yield 'Table 2, Blobs, 1NN runtime, Ball-tree', (time.process_time() - before) / 50 * len(queries) / base['blobs', 128][2], None
    yield from growth('blobs', 'Blobs', 128, (256, 512), True)


@paper.part
def digits():
    """Table 2 and supplement F on MNIST."""
    x, y, queries, classes = mnist()
    yield from statistics('MNIST', x.shape[1], y, tables.loader(paper.args.data).mnist()[1][60000:])
    gamma = 1 / nystroem.mean_distance(x.astype(float))
    kernel = nystroem.kernel_matrix(x[:SAMPLE].astype(float), gamma)
    for k in (10, 16, 30):
        runs = []
        for seed in RUNS:
            learn_all('digits', x, k, seed)
            runs.append(judge('digits', k, seed, (x, y, queries, classes), kernel, gamma, 10, draws=5))
        yield from used('digits', f'MNIST K={k}', k, runs, False)
        if k == 30:
            yield 'Suppl. F, MNIST K=30, number of parameters, sparsity 2', values_of('published'), values_of('default')
            learn_all('digits', x, 32, 0)
        yield f'Table 2, MNIST K={k}, number of parameters, K-means', values_of('k-means'), None
        yield f'Table 2, MNIST K={k}, number of parameters, QK-means', values_of('published'), values_of('default')
    yield from growth('digits', 'MNIST', 10, (16, 30), False)
    squares = (x ** 2).sum(1)
    exact = np.array([np.argmin(squares - 2 * x @ query) for query in queries])
    yield 'Table 2, MNIST, 1NN accuracy, Ball-tree', (y[exact] == classes).mean(), None
    for k in (10, 16, 30):
        for sparsity in (3, 5):
            errors = {'published': [], 'default': []}
            for seed in RUNS:
                learn('published', 'digits', k, published=True, sparsity=sparsity, seed=seed)
                learn('default', 'digits', k, sparsity=sparsity, seed=seed)
                for name in errors:
                    make_map(name, gamma)
                    errors[name].append(error_of(name, 'digits', kernel))
            yield f'Suppl. F, MNIST K={k}, number of parameters, sparsity {sparsity}', values_of('published'), values_of('default')
            yield f'Suppl. F, MNIST K={k}, error, QK-means sparsity {sparsity}', np.mean(errors['published']), np.mean(errors['default'])


def hierarchical(sparsity):
    """Returns the objective after the iterations with hierarchical palm4MSA in each of them, and
    the CPU seconds of one factorisation."""
    keep('inside', "SELECT factorize(op, 'hierarchical', %s) FROM ops WHERE name = 'start'", json.dumps({'published': True, 'sparsity': sparsity}))
    taken = 0
    for _ in range(ITERATIONS):
        paper.cursor.execute("DROP TABLE IF EXISTS step; CREATE TABLE step AS SELECT (s).next AS op, (s).sse FROM (SELECT lloyd_step_agg((SELECT op FROM ops WHERE name = 'inside'), x) AS s FROM digits) q")
        before = rows.backend_seconds(paper.cursor)
        keep('inside', "SELECT factorize(op, 'hierarchical', %s) FROM step", json.dumps({'published': True, 'sparsity': sparsity}))
        taken += rows.backend_seconds(paper.cursor) - before
    return value('SELECT sse FROM step'), taken / ITERATIONS


def step_seconds(sparsity):
    """Returns the CPU seconds of palm4MSA of the same means."""
    before = rows.backend_seconds(paper.cursor)
    paper.cursor.execute("SELECT factorize(op, 'palm4msa', %s) FROM step", (json.dumps({'published': True, 'sparsity': sparsity}),))
    return rows.backend_seconds(paper.cursor) - before


def rise(run):
    """Returns the largest relative rise of an objective; negative if it always falls."""
    return max(b / a - 1 for a, b in zip(run, run[1:]))


def figure_1(x, seed=0):
    """Returns name -> objectives of iterations 0 .. 9 of k-means and QK-means from the same rows."""
    start = start_of(x, 30, seed)
    runs = {'k-means': kmeans('digits', start)}
    for sparsity in (2, 3, 5):
        runs[f'sparsity {sparsity}'] = learn(f'sparsity {sparsity}', 'digits', 30, published=True, sparsity=sparsity, init=start.tolist(), seed=seed)[:ITERATIONS]
    return runs


@paper.part
def objectives():
    """Figs. 1 and 5."""
    x = mnist()[0]
    runs = figure_1(x)
    last = {name: run[-1] for name, run in runs.items()}
    start = start_of(x, 30, 0)
    default = learn('default', 'digits', 30, init=start.tolist())[:ITERATIONS]
    yield 'Fig. 1a, iteration 0, K-means', runs['k-means'][0], None
    yield 'Fig. 1a, iteration 9, K-means', last['k-means'], None
    for sparsity in (2, 3, 5):
        name = f'sparsity {sparsity}'
        yield f'Fig. 1a, iteration 1, QK-means {name} / K-means', runs[name][1] / runs['k-means'][1], default[1] / runs['k-means'][1]
        yield f'Fig. 1a, iteration 9, QK-means {name} / K-means', last[name] / last['k-means'], default[-1] / last['k-means']
        yield f'Section 3.2, largest relative rise of the objective, {name}', rise(runs[name]), rise(default)
    yield 'Section 4.2, iteration 9, sparsity 2 / sparsity 3', last['sparsity 2'] / last['sparsity 3'], None
    yield 'Section 4.2, iteration 9, sparsity 3 / sparsity 5', last['sparsity 3'] / last['sparsity 5'], None
    keep_centroids('start', start)
    for sparsity in (2, 3, 5):
        found, taken = hierarchical(sparsity)
        yield f'Fig. 5, iteration 9, hierarchical sparsity {sparsity} / K-means', found / last['k-means'], None
        if sparsity == 2:
            yield 'Suppl. E, time of hierarchical / palm4MSA', taken / step_seconds(2), None


@paper.part
def transform():
    """Fig. 2: the Hadamard matrix of order 32, from its product of two-by-two butterflies."""
    h = np.ones((1, 1))
    while len(h) < 32:
        h = np.block([[h, h], [h, -h]])
    paper.cursor.execute('DROP TABLE IF EXISTS hadamard; CREATE TABLE hadamard (id int, x real[])')
    paper.cursor.executemany('INSERT INTO hadamard VALUES (%s, %s)', [(i, row.tolist()) for i, row in enumerate(h)])
    described = {}
    for name, options in (('published', {'published': True}), ('default', {'sparsity': 2})):
        described[name] = value("SELECT describe(factorize((SELECT fastop_agg(x ORDER BY id) FROM hadamard), 'hierarchical', %s))", json.dumps(options))
    yield 'Fig. 2, number of non-zeros', described['published']['nonzeros'], described['default']['nonzeros']
    yield 'Fig. 2, relative error', described['published']['relative_error'], described['default']['relative_error']


@paper.part
def products():
    """Figs. 3 and 4: a square product of log2(D) random factors against the dense matrix."""
    for d in (256, 1024, 2048, 4096):
        taken = {s: assignment.measure(paper.args.programs + '/kernel', d, d, s) for s in (2, 4, 8)}
        for s in (2, 4, 8):
            yield f'Fig. 3, D={d}, sparsity level {s} / dense', taken[s]['batch'] / taken[s]['sgemm'], None
        for s in (2, 4):
            if d != 2048:
                yield f'Fig. 4, D={d}, sparsity {s}, 1 vector / dense', taken[s]['single'] / taken[s]['sgemv'], None
                yield f'Fig. 4, D={d}, sparsity {s}, 500 vectors / dense', taken[s]['batch'] / taken[s]['sgemm'], None


@paper.part
def complexity():
    """Supplement A: a sweep of palm4MSA takes O(AB (log^2 A + log B))."""
    taken = {}
    for side in (256, 512, 1024):
        x = np.random.default_rng(side).standard_normal((side, side)).astype(np.float32)
        tables.copy_rows(paper.cursor.connection, 'square', x)
        paper.cursor.execute('DROP TABLE IF EXISTS target; CREATE TABLE target AS SELECT fastop_agg(x ORDER BY id) AS op FROM square')
        seconds = {2: np.inf, 22: np.inf}
        for sweeps in 3 * list(seconds):
            before = rows.backend_seconds(paper.cursor)
            paper.cursor.execute("SELECT factorize(op, 'palm4msa', %s) FROM target", (json.dumps({'published': True, 'iterations': sweeps, 'tolerance': 0}),))
            seconds[sweeps] = min(seconds[sweeps], rows.backend_seconds(paper.cursor) - before)
        taken[side] = (seconds[22] - seconds[2]) / 20
    for side in (512, 1024):
        yield f'Suppl. A, time of a sweep, A = B = {side} / A = B = {side // 2}', taken[side] / taken[side // 2], None


# ---- the picture ----

def draw(runs, docs):
    import matplotlib
    matplotlib.use('svg')
    import matplotlib.pyplot as plt
    plt.rcParams.update({'svg.hashsalt': 'fastclust', 'font.size': 9})
    colours = {'k-means': '#c0392b', 'sparsity 2': '#2e7d32', 'sparsity 3': '#1f4e9e', 'sparsity 5': '#20a0a0'}
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), sharey=True)
    for name, colour in colours.items():
        label = name if name == 'k-means' else f'QK-means, {name}'
        axes[0].plot((0, 1, 2, 3, 6, 9), FIGURE[name], 'o-', ms=3, color=colour, label=label)
        axes[1].plot(range(ITERATIONS), np.array(runs[name]) / 1e11, 'o-', ms=3, color=colour, label=label)
    for axis, title in zip(axes, ('Fig. 1a of the paper, as read from the picture', 'here, "published": true')):
        axis.set_title(title)
        axis.set_xlabel('iteration')
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
        axis.spines[['top', 'right']].set_visible(False)
    axes[0].set_ylabel('sum of squared distances / 1e11')
    figure.tight_layout()
    figure.savefig(f'{docs}/papers-quick-means.svg', metadata={'Date': None})


def main():
    import psycopg2
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--docs', default=os.path.dirname(os.path.abspath(__file__)) + '/../docs')
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    paper.cursor, paper.args = connection.cursor(), arguments
    paper.cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; SET client_min_messages = warning')
    draw(figure_1(mnist()[0]), arguments.docs)


if __name__ == '__main__':
    main()
