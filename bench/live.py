"""Measures what a live sketch costs the writers of its table: CPU time, wall time and bytes of WAL,
with the sketch and without it.

tools/with-server.sh python3 bench/live.py [--rows N] [--inserts N] [--rounds N] [--csv FILE]
[--picture FILE]
tools/with-server.sh python3 bench/live.py --model [--rows 10000000] [--clusters 10] [--rounds N]

Connects by PG* variables to a private server, whose processes are found through PGHOST. Rows have
10 features and sketches 500 frequencies; the table has a primary key and a column that is not
sketched. Figures are the minimum of interleaved rounds. "Excess" is the time that the live sketch
adds, divided by the time of a serial sketch_agg over the rows that the statements wrote. --csv
writes the figures, from which --picture draws FILE; pictures.py draws docs/live-cost.svg from
bench/results/live.csv, the recorded run. Good: figures within the bounds of the column "aim".
--model measures the time of drift and retrain of a live model without the decoding, and counts the
scans of its table. Good: no scan.
"""
import argparse
import csv
import io
import os
import subprocess
import tempfile
import time

import numpy as np
import psycopg2

import scale

FEATURES, FREQUENCIES, STATEMENT = 10, 500, 1000
CASES = {'COPY': 'COPY of all rows', 'INSERT 1000': 'INSERT of 1,000 rows', 'INSERT 1': 'INSERT of one row', 'UPDATE other': 'UPDATE of other columns'}
AIMS = {'COPY': 'excess at most 1.3 sketches', 'INSERT 1000': 'excess at most 1.3 sketches', 'INSERT 1': 'ratio at most 1.5', 'UPDATE other': 'ratio at most 1.25'}
CREATE = """
DROP TABLE IF EXISTS points;
CREATE TABLE points (id bigint PRIMARY KEY, at timestamptz NOT NULL DEFAULT now(), note text, x real[]);
"""


class Server:
    def __init__(self):
        self.connection = psycopg2.connect('')
        self.connection.autocommit = True
        self.cursor = self.connection.cursor()
        self.pid = self.one('SELECT pg_backend_pid()')
        self.run("SET search_path = public, fastclust; SET max_parallel_workers_per_gather = 0; SET client_min_messages = warning")

    def run(self, query, *values):
        self.cursor.execute(query, values)

    def one(self, query):
        self.cursor.execute(query)
        return self.cursor.fetchone()[0]

    def own_seconds(self):
        """Returns the CPU seconds of the backend, as the scheduler of Linux counts them."""
        with open(f'/proc/{self.pid}/schedstat') as file:
            return int(file.read().split()[0]) / 1e9

    def measured(self, action, elsewhere=False):
        """Runs an action. Returns its CPU seconds, wall seconds and bytes of WAL. CPU seconds are
        counted for the backend, or for the whole server if `elsewhere`."""
        seconds = (lambda: scale.cpu_seconds(os.environ['PGHOST'])) if elsewhere else self.own_seconds
        self.run('CHECKPOINT')
        lsn, cpu, wall = self.one('SELECT pg_current_wal_insert_lsn()'), seconds(), time.perf_counter()
        others = set(scale.processes(os.environ['PGHOST'])) if elsewhere else set()
        action()
        wall = time.perf_counter() - wall
        while elsewhere and set(scale.processes(os.environ['PGHOST'])) - others:
            time.sleep(.01)     # a process is added to the CPU time of the postmaster when it ends
        cpu = seconds() - cpu
        self.cursor.execute('SELECT pg_current_wal_insert_lsn() - %s::pg_lsn', (lsn,))
        return np.array([cpu, wall, float(self.cursor.fetchone()[0])])


def copy_stream(rows):
    x = np.random.default_rng(1).standard_normal((rows, FEATURES)).astype(np.float32) + 3 * (np.arange(rows) % 10)[:, None]
    out = io.StringIO()
    for i, row in enumerate(x.tolist()):
        out.write(f'{i}\t\\N\t{{{",".join(f"{v:.6g}" for v in row)}}}\n')
    return out.getvalue()


def fresh(server, live, filled=None):
    """Creates the table, empty or filled, with a live sketch or without."""
    if server.one("SELECT count(*) FROM live_sketches WHERE name = 'bench'"):
        server.run("SELECT drop_sketch('bench')")
    server.run(CREATE)
    if filled is not None:
        copy(server, filled)
    if live:
        server.run("SELECT keep_sketch('bench', 'points', 'x', (SELECT s FROM spec))")


def copy(server, stream):
    server.cursor.copy_expert('COPY points (id, note, x) FROM STDIN', io.StringIO(stream))


def insert_blocks(server, rows):
    for begin in range(0, rows, STATEMENT):
        server.run('INSERT INTO points (id, x) SELECT id, x FROM source WHERE id >= %s AND id < %s', begin, begin + STATEMENT)


def update_other(server, rows):
    for begin in range(0, rows, STATEMENT):
        server.run("UPDATE points SET note = 'seen' WHERE id >= %s AND id < %s", begin, begin + STATEMENT)


def pgbench(inserts):
    with tempfile.NamedTemporaryFile('w', suffix='.sql') as script:
        script.write("INSERT INTO points (id, x) VALUES (nextval('ids'), '{1.5,2.25,3.5,4.75,5,6.125,7,8,9,10.5}');\n")
        script.flush()
        subprocess.run(['pgbench', '-n', '-M', 'prepared', '-c', '2', '-j', '2', '-t', str(inserts // 2), '-f', script.name],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def measure(rows, inserts, rounds):
    server, stream = Server(), copy_stream(rows)
    server.run('DROP TABLE IF EXISTS source, spec; DROP SEQUENCE IF EXISTS ids; CREATE SEQUENCE ids CACHE 100')
    fresh(server, False, stream)
    server.run('CREATE TABLE source AS SELECT * FROM points; ALTER TABLE source ADD PRIMARY KEY (id); ANALYZE source')
    server.run(f'CREATE TABLE spec AS SELECT sketch_spec({FEATURES}, {FREQUENCIES}, 1.0) AS s')
    sketched = min((server.measured(lambda: server.run('SELECT sketch_agg(x, (SELECT s FROM spec)) FROM source')) for _ in range(rounds)), key=lambda m: m[0])
    actions = {'COPY': (rows, None, lambda: copy(server, stream)), 'INSERT 1000': (rows, None, lambda: insert_blocks(server, rows)),
               'INSERT 1': (inserts, None, lambda: pgbench(inserts)), 'UPDATE other': (rows, stream, lambda: update_other(server, rows))}
    result = []
    for case, (count, filled, action) in actions.items():
        best = {}
        for _ in range(rounds):
            for live in (False, True):
                fresh(server, live, filled)
                best[live] = np.minimum(best.get(live, np.inf), server.measured(action, case == 'INSERT 1'))
        result.append((case, *(best[False] / count), *(best[True] / count), *(sketched[:2] / rows)))
    fresh(server, False)
    return result


HEADER = ['case', 'cpu_without', 'wall_without', 'wal_without', 'cpu_with', 'wall_with', 'wal_with', 'cpu_sketch', 'wall_sketch']


def show(result):
    print('microseconds of processor and bytes of WAL a row')
    print(f'{"":<26}{"CPU without":>12}{"with":>8}{"ratio":>7}{"excess":>8}{"wall ratio":>12}{"excess":>8}{"WAL without":>13}{"with":>8}   aim')
    for case, cpu, wall, wal, live_cpu, live_wall, live_wal, sketch, sketch_wall in result:
        print(f'{CASES[case]:<26}{1e6 * cpu:12.2f}{1e6 * live_cpu:8.2f}{live_cpu / cpu:7.2f}{(live_cpu - cpu) / sketch:8.2f}{live_wall / wall:12.2f}'
              f'{(live_wall - wall) / sketch_wall:8.2f}{wal:13.0f}{live_wal:8.0f}   {AIMS[case]}')
    print(f'a sketch: {1e6 * result[0][7]:.2f} microseconds a row')


def draw(source, path):
    import pictures

    with pictures.plt.rc_context(pictures.STYLE):
        pictures.live_cost(source, path)


MODEL = """
DROP TABLE IF EXISTS model_rows;
CREATE TABLE model_rows AS SELECT i AS id, ARRAY(SELECT (((hashint8extended(i, d) & 65535) / 65535.0) + 3 * (hashint8extended(i %% 10, d) & 7))::real
    FROM generate_series(1, 10) d) AS x FROM generate_series(1, %(rows)s) i;
"""
CHANGE = 'INSERT INTO model_rows SELECT -i, ARRAY(SELECT random() FROM generate_series(i, i + 9))::real[] FROM generate_series(1, 100) i'


def measure_model(rows, clusters, rounds):
    server = Server()
    server.cursor.execute("SELECT count(drop_model(model)) FROM models WHERE model = 'live'")
    server.cursor.execute(MODEL, {'rows': rows})
    server.run('VACUUM ANALYZE model_rows')
    server.run("SELECT train('live', 'model_rows', 'x', %s, 'compressive', '{\"live\": true, \"quiet\": true}')", clusters)
    scans = "SELECT pg_stat_clear_snapshot(); SELECT seq_scan + coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE relname = 'model_rows'"
    decode = (f"SELECT count(*) FROM fastclust_internal.stored_versions v, decode(current_sketch('live'), {clusters}, 'auto',"
              " (SELECT jsonb_build_object('seed', 0, 'init', jsonb_agg(c.centroid ORDER BY c.cluster))"
              "    FROM centroids(fastclust_internal.rescaled_operator(v.operator, v.center, v.scale, NULL, NULL)) c), v.spec)"
              " WHERE (v.model, v.version) = (SELECT model, version FROM models WHERE model = 'live')")
    actions = {'current_sketch': "SELECT current_sketch('live') IS NULL", 'drift': "SELECT drift('live')", 'decode': decode,
               'retrain': "SELECT retrain('live', '{\"quiet\": true}')", 'retrain_if_drifted': "SELECT retrain_if_drifted('live', options => '{\"quiet\": true}')"}
    print(f'{"milliseconds, median of " + str(rounds):<26}{"CPU":>10}{"wall":>10}{"scans":>8}   {rows} rows, {clusters} clusters')
    for name, query in actions.items():
        measured, scanned = [], 0
        for _ in range(rounds):
            server.run(CHANGE)
            time.sleep(1.2)         # wait until the server's statistics include the change
            before = server.one(scans)
            measured.append(server.measured(lambda: server.run(query)))
            time.sleep(1.2)
            scanned += server.one(scans) - before
        cpu, wall, _ = 1e3 * np.median(measured, axis=0)
        print(f'{name:<26}{cpu:10.1f}{wall:10.1f}{scanned:8}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rows', type=int, default=1000000)
    parser.add_argument('--inserts', type=int, default=200000)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--csv')
    parser.add_argument('--model', action='store_true')
    parser.add_argument('--clusters', type=int, default=10)
    parser.add_argument('--picture')
    arguments = parser.parse_args()
    if arguments.picture and not arguments.csv:
        parser.error('--picture needs --csv')
    connection = psycopg2.connect('')
    connection.autocommit = True
    connection.cursor().execute('CREATE EXTENSION IF NOT EXISTS fastclust')
    if arguments.model:
        measure_model(arguments.rows, arguments.clusters, arguments.rounds)
        return
    result = measure(arguments.rows, arguments.inserts, arguments.rounds)
    if arguments.csv:
        with open(arguments.csv, 'w', newline='') as file:
            csv.writer(file).writerows([HEADER, *result])
    show(result)
    if arguments.picture:
        draw(arguments.csv, arguments.picture)


if __name__ == '__main__':
    main()
