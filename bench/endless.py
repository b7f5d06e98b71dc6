"""Checks that no call runs silently for long: within some seconds, every method on a grid of n, d
and k ends, fails, or reports its expected time or its steps.

tools/with-server.sh python3 bench/endless.py [--only REGEX] [--rows 5000,50000] [--dims
4,64,1024] [--clusters 10,256,4096] [--seconds 5] [--wait 0]

A call that is silent for --seconds of the backend's CPU time (wall time if the server is on
another machine) is cancelled and listed, and the exit status is 1. With --wait N, a call that
reported its expected time may run for N more seconds; its line has the time that it took next to
the expected one.
Good: no call is listed.
"""
import argparse
import re
import select
import string
import struct
import sys
import time

import numpy as np
import psycopg2

ABOUT = re.compile(r'about ([0-9.]+) (ms|seconds|minutes|hours|days|years)')
UNITS = {'ms': 1e-3, 'seconds': 1, 'minutes': 60, 'hours': 3600, 'days': 86400, 'years': 3.15e7}
LARGEST = 3e7			# maximum n * d of a table

TRAIN = {
    'kmeans': '{}', 'compressive': '{}', 'qkmeans': '{}', 'kernel': '{}', 'kmeans cosine': '{"metric": "cosine"}', 'kmeans trim': '{"trim": 0.05}',
    'kmeans balance': '{"balance": 1.2}', 'kmeans groups': '{"group_by": "g"}', 'compressive groups': '{"group_by": "g"}', 'kmeans live': '{"live": true}',
    'qkmeans auto': '{"factors": {"method": "auto"}}', 'qkmeans hierarchical': '{"factors": {"method": "hierarchical"}}'}
CALLS = {
    **{f'train {name}': f"SELECT train('m$number', '$table', 'v', $k, '{name.split()[0]}', '{options}')" for name, options in TRAIN.items()},
    'choose_k': "SELECT count(*) FROM choose_k('$table', 'v', $few)",
    'kmeans_agg': 'SELECT describe(kmeans_agg(v, $k)) FROM $table',
    'kmeans_agg starts': """SELECT describe(kmeans_agg(v, $k, '{"n_init": 100}')) FROM $table""",
    'qkmeans_agg': 'SELECT describe(qkmeans_agg(v, $k)) FROM $table',
    'qkmeans_log': "SELECT count(*) FROM qkmeans_log('$table', 'v', $k)",
    **{f'factorize {method}': f"SELECT describe(factorize(op, '{method}')) FROM $operator" for method in ('palm4msa', 'hierarchical', 'butterfly', 'svd', 'prune')},
    'factorize auto': 'SELECT describe(factorize(op, sample => (SELECT fastop_agg(v) FROM (SELECT v FROM $table LIMIT 5000) q))) FROM $operator',
    'kernel_kmeans': "SELECT count(*) FROM kernel_kmeans('$table', 'id', 'v', rbf_kernel(1.0 / $d), $k)",
    **{f'kernel_projection_agg {method}': f"""SELECT describe(kernel_projection_agg(id, v, rbf_kernel(1.0 / $d), $rank, '{{"method": "{method}"}}')) FROM $table"""
       for method in ('one_pass', 'nystroem', 'pivoted_cholesky', 'exact')},
    'landmarks_agg': 'SELECT describe(landmarks_agg(v, rbf_kernel(1.0 / $d), $k)) FROM $table',
    'nystroem': 'SELECT describe(nystroem(op, rbf_kernel(1.0 / $d))) FROM $operator',
    'sketch_spec_agg': 'SELECT describe(sketch_spec_agg(v, $k)) FROM $table',
    'sketch_agg': 'SELECT row_count(sketch_agg(v, (SELECT sketch_spec_agg(v, $k) FROM (SELECT v FROM $table LIMIT 1000) q))) FROM $table',
    **{f'decode {decoder}': f"SELECT count(*) FROM $sketch, decode(s, $k, '{decoder}')" for decoder in ('auto', 'clompr', 'shift', 'discretized')},
    'decode_covariances': 'SELECT count(*) FROM $sketch, decode_covariances(s, $k)',
}


def mixture(rows, dim, seed=1):
    rng = np.random.default_rng(seed)
    center = rng.standard_normal((20, dim)).astype('f4') * 3
    return center[rng.integers(0, 20, rows)] + rng.standard_normal((rows, dim), dtype='f4')


class Rows:
    """A readable stream of rows (id, g, v) in the binary format of COPY."""
    def __init__(self, x):
        self.parts = self.records(x)

    def records(self, x):
        yield b'PGCOPY\n\xff\r\n\0' + struct.pack('>ii', 0, 0)
        dim = x.shape[1]
        values = np.empty(dim, [('length', '>i4'), ('value', '>f4')])
        values['length'] = 4
        head = struct.pack('>i', 20 + 8 * dim) + struct.pack('>iiiii', 1, 0, 700, dim, 1)
        for i, row in enumerate(x):
            values['value'] = row
            yield struct.pack('>hiiii', 3, 4, i, 4, i % 5) + head + values.tobytes()
        yield struct.pack('>h', -1)

    def read(self, size):
        return next(self.parts, b'')


class Session:
    def __init__(self):
        self.connection = psycopg2.connect('', async_=True)
        self.wait(60)
        self.call('SET search_path = public, fastclust, fastclust_internal; SET client_min_messages = notice')

    def clock(self):
        try:
            with open(f'/proc/{self.connection.get_backend_pid()}/schedstat') as file:
                return int(file.read().split()[0]) * 1e-9
        except OSError:
            return time.time()

    def wait(self, seconds, told=lambda: False):
        """Returns true when the connection is ready, and false when the time is over or told()
        became true."""
        end = None
        while not told():
            state = self.connection.poll()
            if state == psycopg2.extensions.POLL_OK:
                return True
            if end is None:		# clock() needs a connection, so it is first read after poll()
                end = self.clock() + seconds
            left = end - self.clock()
            if left <= 0:
                return False
            ready = ([self.connection], []) if state == psycopg2.extensions.POLL_READ else ([], [self.connection])
            select.select(*ready, [], max(left, 0.1))
        return False

    def call(self, query, seconds=600, wait=0):
        """Runs a query. Returns the seconds taken, the reported expected seconds or None, and the
        outcome: "ended", "told" (an expected time was reported), "steps", "silent", or the
        error."""
        del self.connection.notices[:]
        told = lambda: next((float(m.group(1)) * UNITS[m.group(2)] for m in map(ABOUT.search, self.connection.notices) if m), None)
        begun = self.clock()
        with self.connection.cursor() as cursor:
            try:
                cursor.execute(query)
                ended = self.wait(seconds, lambda: told() is not None)
                if not ended and told() is not None:
                    ended = self.wait(wait)
            except psycopg2.Error as error:
                return self.clock() - begun, told(), str(error).strip().replace('\n', ' ')
            taken = self.clock() - begun
            if ended:
                return taken, told(), 'ended'
            self.connection.cancel()
            begun = time.time()
            try:
                self.wait(60)
            except psycopg2.Error:
                pass
            late = time.time() - begun
        return taken, told(), ('silent' if not self.connection.notices else 'steps' if told() is None else 'told') + (f', cancelled after {late:.1f} s' if late > 0.5 else '')


def numbers(text):
    return [int(k) for k in text.split(',')]


def load(rows, dims, clusters):
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust, fastclust_internal; SET client_min_messages = warning')
    for dim in dims:
        x = mixture(max(rows), dim)
        for n in rows:
            table = f't{n}_{dim}'
            cursor.execute(f'DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id integer, g integer, v real[]); ALTER TABLE {table} ALTER v SET STORAGE EXTERNAL')
            if n * dim <= LARGEST:
                cursor.copy_expert(f'COPY {table} FROM STDIN BINARY', Rows(x[:n]))
            cursor.execute(f'VACUUM ANALYZE {table}')
        for k in clusters:
            cursor.execute(f'DROP TABLE IF EXISTS o{k}_{dim}, s{k}_{dim}')
            cursor.execute(f'CREATE TABLE o{k}_{dim} AS SELECT fastop_agg(v ORDER BY id) AS op FROM t{min(rows)}_{dim} WHERE id < {k}')
            cursor.execute(f'CREATE TABLE s{k}_{dim} AS SELECT sketch_agg(v, (SELECT sketch_spec({dim}, {min(2 * k * (dim + 1), 50000)}, 2, law => \'gaussian\'))) AS s '
                           f'FROM t{min(rows)}_{dim} WHERE id < 4500 AND id < greatest({k}, 500)')
    connection.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--only', type=re.compile, default=re.compile(''))
    parser.add_argument('--rows', type=numbers, default=[5000, 50000])
    parser.add_argument('--dims', type=numbers, default=[4, 64, 1024])
    parser.add_argument('--clusters', type=numbers, default=[10, 256, 4096])
    parser.add_argument('--seconds', type=float, default=5)
    parser.add_argument('--wait', type=float, default=0)
    args = parser.parse_args()
    load(args.rows, args.dims, args.clusters)
    session = Session()
    silent = calls = 0
    for name, text in CALLS.items():
        for dim in args.dims:
            for k in args.clusters:
                for n in args.rows:
                    seen = '$table' in text or n == args.rows[0]
                    if not args.only.search(name) or n * dim > LARGEST or not seen:
                        continue
                    calls += 1
                    query = string.Template(text).substitute(table=f't{n}_{dim}', operator=f'o{k}_{dim}', sketch=f's{k}_{dim}', number=calls,
                                                             k=k, d=dim, few=min(k, 50), rank=min(k, 400))
                    taken, told, what = session.call(query, args.seconds, args.wait)
                    silent += what.startswith('silent')
                    print(f'{name}, n = {n}, d = {dim}, k = {k}: {taken:.1f} s' + (f', told {told:.3g} s' if told is not None else '') + f', {what[:300]}', flush=True)
    print(f'{silent} of {calls} calls silent for {args.seconds:g} s')
    sys.exit(silent > 0)


main()
