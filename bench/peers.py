"""Compares the time of training in the database with a query that reads the table, with an export
to scikit-learn, and with CREATE TABLE AS.

tools/with-server.sh python3 bench/peers.py [--data FOLDER] [--only million;groups;..] [--rounds
3] [--rows 10000000] [--cpu]

Prints the table of docs/benchmarks.md. Figures are medians of interleaved rounds. FOLDER has a
load.py that returns KDD Cup 99. --cpu counts CPU seconds of the backend without parallel workers,
and of this process with one thread, for a machine with other work.
Good: no line is marked as a broken bound.
"""
import argparse
import importlib.util
import io
import os
import time

import numpy as np
import pandas as pd
import psycopg2
from scipy.sparse import csr_matrix
from sklearn.cluster import KMeans
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

import encoding
import many_clusters
import tables
from speed import Peak, backend_cpu
from topics import planted

TEN = [f'c{j}' for j in range(10)]
SUM_OF_TEN = f"SELECT {', '.join(f'sum({c})' for c in TEN)} FROM ten"


class Session:
    def __init__(self, rounds, cpu):
        self.connection = psycopg2.connect('')
        self.connection.autocommit = True
        self.rounds = rounds
        self.run('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; SET client_min_messages = error')
        self.clock = time.perf_counter
        if cpu:
            self.run('SET max_parallel_workers_per_gather = 0')
            of_backend = backend_cpu(self.connection.cursor())
            self.clock = lambda: of_backend() + time.process_time()

    def run(self, query, *arguments):
        with self.connection.cursor() as cursor:
            cursor.execute(query, arguments or None)
            return cursor.fetchall() if cursor.description else None

    def query(self, text):
        return lambda: self.run(text)

    def train(self, relation, features, k, options='{}'):
        """Returns a function that trains the model for the first time, after dropping that of the
        last round, which takes milliseconds."""
        def trained():
            self.run("SELECT count(drop_model(model)) FROM models WHERE model = 'timed'")
            self.run("SELECT train('timed', %s, %s, %s, options => %s)", relation, features, k, options)
        return trained

    def medians(self, steps):
        """Returns name -> median seconds of each step, where a round runs the steps one after
        another."""
        taken = {name: [] for name in steps}
        for _ in range(self.rounds):
            self.run('DROP TABLE IF EXISTS labelled, constants, back')
            for name, step in steps.items():
                begun = self.clock()
                step()
                taken[name].append(self.clock() - begun)
        return {name: float(np.median(seconds)) for name, seconds in taken.items()}


def line(what, ours, peer, theirs, most=None, least=None):
    """Prints a line of the table. `most` is the upper bound of our time divided by theirs; `least`
    is the lower bound of their time divided by ours."""
    ratio = theirs / ours if least else ours / theirs
    bound = f'at least {least}' if least else f'at most {most}' if most else ''
    broken = (least and ratio < least) or (most and ratio > most)
    print(f"| {what} | {ours:.2f} | {peer} | {theirs:.2f} | {f'{ratio:.1f} times as fast' if least else f'{ratio:.2f} times the time'} | {bound}{' **broken**' if broken else ''} |", flush=True)


class Peer:
    """The usual procedure without the extension: rows to numpy by binary COPY, a single start of
    scikit-learn, and labels back by binary COPY."""
    def __init__(self, session, relation, k):
        self.session, self.relation, self.k = session, relation, k

    def export(self):
        self.x = tables.read_vectors(self.session.connection, f'SELECT x FROM {self.relation}')

    def export_keys(self):
        self.ids, self.x = tables.read_vectors(self.session.connection, f'SELECT id, x FROM {self.relation}', ids=True)

    def fit(self):
        self.labels = KMeans(self.k, n_init=1, random_state=1).fit(self.x).labels_

    def back(self):
        tables.copy_labels(self.session.connection, 'back', self.ids, self.labels)


def vectors(session, name, rows, k, *, bounds):
    """Measures a table of vectors. `bounds` are the bounds for a query of sums, for export and fit,
    for both with writing labels, and for CREATE TABLE AS; a line whose bound is None is left
    out."""
    tables.copy_rows(session.connection, name, tables.ckm_mixture(k, 10, rows, 1))
    session.run(f'VACUUM {name}')
    peer = Peer(session, name, k)
    t = session.medians({
        'sum': session.query(f'SELECT sum(x[1]) FROM {name}'), 'train': session.train(name, 'x', k),
        'labels': session.query(f"SELECT write_labels('timed', '{name}', 'labelled', '{{\"key\": \"id\"}}')"),
        'constants': session.query(f'CREATE TABLE constants AS SELECT id, 0 AS cluster FROM {name}'),
        'export': peer.export, 'keys': peer.export_keys, 'fit': peer.fit, 'back': peer.back})
    session.run(f'DROP TABLE {name}, labelled, constants, back')
    what = f'{rows:,}'.replace(',', ' ') + f' x 10, k = {k}'
    if bounds[0]:
        line(f'{what}: `train`', t['train'], '`sum(x[1])`', t['sum'], most=bounds[0])
    if bounds[1]:
        line(f'{what}: `train`', t['train'], 'export, fit', t['export'] + t['fit'], least=bounds[1])
    line(f'{what}: `train`, `write_labels`', t['train'] + t['labels'], 'export, fit, labels back', t['keys'] + t['fit'] + t['back'], least=bounds[2])
    if bounds[3]:
        line(f'{what}: `write_labels`', t['labels'], '`CREATE TABLE AS`', t['constants'], most=bounds[3])


def ten_million(session, args):
    vectors(session, 'ten_million', args.rows, 10, bounds=(3, 8, 4.5, .9))


def million(session, args):
    for k, least in ((10, 4), (100, 8), (300, 30)):
        vectors(session, 'million', args.rows // 10, k, bounds=(None, None, least, None))


def columns(session, args):
    """Measures a table of ten columns of numbers, and of these with two columns of 8 and 30
    texts."""
    tables.copy_rows(session.connection, 'million', tables.ckm_mixture(10, 10, args.rows // 10, 1))
    numbers = ', '.join(f'x[{j + 1}]::double precision AS {c}' for j, c in enumerate(TEN))
    texts = ', '.join(f"'level ' || floor({m} * power(random(), 2)) AS {name}" for name, m in (('few', 8), ('many', 30)))
    session.run(f'SELECT setseed(.5); DROP TABLE IF EXISTS ten; CREATE UNLOGGED TABLE ten AS SELECT id, {numbers}, {texts} FROM million; DROP TABLE million')
    session.run('VACUUM ANALYZE ten')
    t = session.medians({'sum': session.query(SUM_OF_TEN), 'numbers': session.train('ten', TEN, 10), 'texts': session.train('ten', TEN + ['few', 'many'], 10)})
    session.run('DROP TABLE ten')
    line('ten columns of numbers: `train`', t['numbers'], 'the sums of the ten', t['sum'], most=8)
    line('the same and two of texts: `train`', t['texts'], 'the sums of the ten', t['sum'], most=10)


def kddcup99(session, args):
    """Measures KDD Cup 99 against an export: COPY of the table as CSV, and read_csv."""
    if not args.data:
        return
    frame, _ = encoding.kddcup99(args.data)
    encoding.copy_frame(session.connection, frame)

    def export():
        out = io.BytesIO()
        session.connection.cursor().copy_expert('COPY mixed TO STDOUT WITH (FORMAT csv)', out)
        out.seek(0)
        pd.read_csv(out, header=None)
    ks = (5, 10, 23)
    t = session.medians({'export': export, **{k: session.train('mixed', list(frame.columns), k) for k in ks}})
    session.run('DROP TABLE mixed')
    for k in ks:
        line(f'KDD Cup 99, 41 columns, k = {k}: `train`', t[k], 'export', t['export'], most=1)


def groups(session, args):
    rows = args.rows // 10
    tables.copy_rows(session.connection, 'million', tables.ckm_mixture(10, 10, rows, 1))
    session.run('CREATE UNLOGGED TABLE grouped AS SELECT id % 8 AS few, id % 5000 AS many, x FROM million; DROP TABLE million')
    session.run('VACUUM ANALYZE grouped')
    t = session.medians({'one': session.train('grouped', 'x', 10), **{g: session.train('grouped', 'x', 10, f'{{"group_by": "{g}"}}') for g in ('few', 'many')}})
    line('8 groups: `train`', t['few'], 'one model', t['one'], most=1.8)
    line(f'5000 groups of {rows // 5000}: `train`', t['many'], 'one model', t['one'], most=10)
    session.run('DROP TABLE grouped')
    tables.copy_rows(session.connection, 'small', tables.ckm_mixture(5, 4, 600000, 1))
    session.run('CREATE UNLOGGED TABLE grouped AS SELECT id / 30 AS part, x FROM small; CREATE UNLOGGED TABLE eighth AS SELECT * FROM grouped WHERE part < 2500; DROP TABLE small')
    for name in ('grouped', 'eighth'):
        session.run(f'VACUUM ANALYZE {name}')
    t = session.medians({name: session.train(name, 'x', 5, '{"group_by": "part"}') for name in ('grouped', 'eighth')})
    session.run('DROP TABLE grouped, eighth')
    line('20 000 groups of 30: `train`', t['grouped'], '2500 groups, times 8^1.05', t['eighth'] * 8 ** 1.05, most=1)


def wide(session, args):
    """Measures time and peak memory of a training on 1000 dimensions, in its own backend."""
    tables.copy_rows(session.connection, 'wide', tables.separated(10, 1000, 20000, 1)[0])
    session.run('VACUUM wide')
    other = Session(args.rounds, args.cpu)
    peak = Peak(other.connection.get_backend_pid())
    t = other.medians({'train': other.train('wide', 'x', 10)})
    session.run('DROP TABLE wide')
    print(f"| 20 000 x 1000, k = 10: `train` | {t['train']:.2f} | memory of the backend | {peak.most} MB | | at most 2.5 s, 350 MB |", flush=True)


def topics(session, args):
    """Measures name_topics on 60,000 texts of 72 words, 12 of which belong to one of 160 topics."""
    cursor, rng = session.connection.cursor(), np.random.default_rng(1)
    x, topic = planted(60000, 384, 160)
    common = rng.zipf(1.3, (60000, 60)) % 20000
    own = rng.integers(0, 12, (60000, 12)) + 100 * topic[:, None]
    session.run('DROP TABLE IF EXISTS texts; CREATE TABLE texts (body text, x real[])')
    cursor.copy_expert('COPY texts FROM STDIN', io.StringIO(''.join(
        f"{' '.join([f'w{a}' for a in c] + [f't{a}' for a in o])}\t{{{','.join(f'{v:.4f}' for v in r)}}}\n"
        for c, o, r in zip(common, own, x))))
    session.run('VACUUM ANALYZE texts')
    t = session.medians({'train': session.train('texts', 'x', 160, '{"metric": "cosine"}'),
                         'names': session.query("SELECT count(*) FROM name_topics('timed', 'body')")})
    session.run('DROP TABLE texts')
    line('60 000 texts, 160 topics: `name_topics`', t['names'], '`train`', t['train'], most=1)


class SparsePeer:
    """Exports a table of sparse rows by COPY as text, and fits scikit-learn to them as CSR, scaled
    to length 1, from ten starts."""
    def __init__(self, session):
        self.session = session

    def export(self):
        out = io.StringIO()
        self.session.connection.cursor().copy_expert('COPY sparse TO STDOUT', out)
        text = out.getvalue()
        self.rows = text.count('\n')
        pairs = np.fromstring(text.translate({ord(c): ' ' for c in '{}:,\n'}).replace(f'/{SPARSE_DIM}', ''), sep=' ').reshape(self.rows, -1, 2)
        starts = np.arange(0, pairs.shape[0] * pairs.shape[1] + 1, pairs.shape[1])
        self.x = csr_matrix((pairs[..., 1].ravel(), pairs[..., 0].ravel().astype(np.int32) - 1, starts), (self.rows, SPARSE_DIM))

    def fit(self):
        KMeans(5, n_init=10, random_state=1).fit(normalize(self.x))


SPARSE_DIM = 30522


def sparse(session, args):
    """Measures 4000 sparse rows of 100 elements of 30,522, by cosine: of one of five vocabularies
    of 3000 elements each, and of any elements."""
    session.run('CREATE EXTENSION IF NOT EXISTS vector')
    for what, width in (('of five vocabularies', 3000), ('of any elements', SPARSE_DIM)):
        rng = np.random.default_rng(1)
        lines = []
        for i in range(4000):
            places = i % 5 * width % SPARSE_DIM + np.sort(rng.choice(width, 100, replace=False)) if width < SPARSE_DIM else np.sort(rng.choice(width, 100, replace=False))
            lines.append(f"{{{','.join(f'{p + 1}:{v:.4f}' for p, v in zip(places, rng.exponential(size=100) + .01))}}}/{SPARSE_DIM}\n")
        session.run(f'DROP TABLE IF EXISTS sparse; CREATE TABLE sparse (x sparsevec({SPARSE_DIM}))')
        session.connection.cursor().copy_expert('COPY sparse FROM STDIN', io.StringIO(''.join(lines)))
        session.run('VACUUM ANALYZE sparse')
        peer = SparsePeer(session)
        t = session.medians({'train': session.train('sparse', 'x', 5, '{"metric": "cosine"}'), 'export': peer.export, 'fit': peer.fit})
        line(f'4000 sparse rows of 30 522, {what}, k = 5: `train`', t['train'], 'export, 10 starts', t['export'] + t['fit'], most=3)
    session.run('DROP TABLE sparse')


def many_clusters_of(session, args):
    """Measures 1024 clusters of 60,000 rows of 256 dimensions against Kmeans of faiss on all
    rows."""
    if importlib.util.find_spec('faiss') is None:
        return
    x = many_clusters.mixture(60000, 256, 1024)
    tables.copy_rows(session.connection, 'many', x)
    session.run('VACUUM ANALYZE many')
    peer = Peer(session, 'many', 1024)

    def fit():
        peer.centroids = many_clusters.by_faiss(np.ascontiguousarray(peer.x, 'f4'), 1024, 25)
    t = session.medians({'train': session.train('many', 'x', 1024), 'export': peer.export, 'fit': fit})
    ours = session.run("SELECT sse_agg(model_operator('timed'), x) FROM many")[0][0]
    session.run('DROP TABLE many')
    line(f'60 000 x 256, k = 1024, {ours / many_clusters.sse_of(x, peer.centroids):.4f} of the SSE: `train`', t['train'], 'export, faiss', t['export'] + t['fit'], most=.5)


PARTS = {'ten_million': ten_million, 'million': million, 'columns': columns, 'kddcup99': kddcup99, 'groups': groups, 'wide': wide, 'topics': topics, 'sparse': sparse, 'many': many_clusters_of}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data')
    parser.add_argument('--only', default=';'.join(PARTS))
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--rows', type=int, default=10000000)
    parser.add_argument('--cpu', action='store_true')
    args = parser.parse_args()
    print('| what | s | compared with | s | ratio | bound |\n| --- | --- | --- | --- | --- | --- |')
    with threadpool_limits(1 if args.cpu else os.cpu_count()):
        for name in args.only.split(';'):
            PARTS[name](Session(args.rounds, args.cpu), args)


if __name__ == '__main__':
    main()
