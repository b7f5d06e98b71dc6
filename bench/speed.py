"""Compares the speed of queries in the server with the bare core, and with an export to
scikit-learn.

python3 speed.py --kernel PROGRAM --out FOLDER

Connects by PG* variables. Prints tables, and writes speed.csv. The figure of a query is its time in
ns for a row, the minimum of ROUNDS interleaved rounds, without parallel workers unless stated. It
is CPU time of the backend if it is compared with the CPU time of the core, and otherwise wall time.
Good: a query takes little more than the core and the scan.
"""
import argparse
import csv
import io
import os
import subprocess
import threading
import time

import numpy as np
import psycopg2
from sklearn.cluster import KMeans

import tables

ROUNDS = 5


def connect():
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET max_parallel_workers_per_gather = 0; SET client_min_messages = warning')
    return connection, cursor


def backend_cpu(cursor):
    """Returns a function that returns the backend's CPU seconds, or wall seconds if there is no
    schedstat."""
    path = f'/proc/{cursor.connection.get_backend_pid()}/schedstat'
    if not os.path.exists(path):
        return time.perf_counter

    def clock():
        with open(path) as file:
            return int(file.read().split()[0]) * 1e-9
    return clock


class Peak(threading.Thread):
    """A thread that records the peak anonymous memory of a process, in MB."""
    def __init__(self, pid):
        super().__init__(daemon=True)
        self.pid, self.most = pid, 0
        self.start()

    def run(self):
        while True:
            try:
                with open(f'/proc/{self.pid}/status') as file:
                    for line in file:
                        if line.startswith('RssAnon'):
                            self.most = max(self.most, int(line.split()[1]) // 1024)
            except OSError:
                return
            time.sleep(0.005)


def least_seconds(cursor, queries, rounds=ROUNDS, clock=time.perf_counter):
    """Returns name -> minimum seconds of each query; each round runs all queries one after
    another."""
    least = {}
    for _ in range(rounds):
        for name, query in queries.items():
            for setting in query[:-1]:
                cursor.execute(setting)
            start = clock()
            cursor.execute(query[-1])
            cursor.fetchall()
            least[name] = min(least.get(name, 1e9), clock() - start)
    return least


def kernel(program, *arguments):
    out = subprocess.run([program, *map(str, arguments)], check=True, capture_output=True, text=True).stdout
    return {line.split()[0]: float(line.split()[1]) for line in out.splitlines()}


def bench_kernel(program, report):
    print('\nsketch kernel, ns per row (least of 7 rounds)')
    for d, m in [(2, 200), (10, 1000), (50, 2500), (100, 5000), (784, 4096)]:
        k = kernel(program, 'sketch', d, m)
        print(f"  d {d:4d} m {m:5d}: libm {k['libm']:10.0f}  kernel {k['kernel']:8.0f}  with moments {k['add']:8.0f}  structured {k['structured']:8.0f}"
              f"   {k['libm'] / k['kernel']:5.0f} x libm, {100 * k['gflops'] / k['peak']:3.0f} % of FMA peak, structured {k['add'] / k['structured']:.1f} x")
        for name, value in k.items():
            report(f'kernel {name}', f'd={d} m={m}', value)


def bench_sketch(connection, cursor, program, report):
    print('\nsketch query against (bare kernel + count(*)), ns of CPU time per row, no workers')
    cases = [('real', 10, 200, 1000000), ('real', 10, 1000, 1000000), ('double precision', 10, 200, 1000000), ('real', 100, 1000, 100000)]
    for kind, d, m, rows in cases:
        tables.copy_rows(connection, 'rows', np.random.default_rng(1).standard_normal((rows, d), dtype=np.float32))
        if kind != 'real':
            cursor.execute(f'ALTER TABLE rows ALTER x TYPE {kind}[]')
        cursor.execute('VACUUM ANALYZE rows')
        spec = f'(SELECT sketch_spec({d}, {m}, 1.0, options => \'{{"structured": false}}\'))'
        bare = []
        queries = {'count': ['SELECT count(*) FROM rows'], 'sketch': [f'SELECT row_count(sketch_agg(x, {spec})) FROM rows']}
        least = {}
        for _ in range(ROUNDS):
            bare.append(kernel(program, 'sketch', d, m)['kernel'])
            for name, seconds in least_seconds(cursor, queries, 2, backend_cpu(cursor)).items():
                least[name] = min(least.get(name, 1e9), seconds)
        count, sketch = least['count'] * 1e9 / rows, least['sketch'] * 1e9 / rows
        ratio = sketch / (count + min(bare))
        print(f'  {kind}[{d}] m {m}: kernel {min(bare):.0f} + count(*) {count:.0f}, query {sketch:.0f}: {ratio:.2f} x')
        report('sketch query / (kernel + count)', f'{kind}[{d}] m={m}', ratio)


def bench_workers(connection, cursor, report):
    rows = 1000000
    tables.copy_rows(connection, 'rows', np.random.default_rng(1).standard_normal((rows, 10), dtype=np.float32))
    cursor.execute('VACUUM ANALYZE rows')
    query = 'SELECT row_count(sketch_agg(x, (SELECT sketch_spec(10, 1000, 1.0)))) FROM rows'
    least = least_seconds(cursor, {n: [f'SET max_parallel_workers_per_gather = {n}', f'SET parallel_leader_participation = {n == 0}', query]
                                   for n in (0, 1, 2)})
    cursor.execute('RESET parallel_leader_participation; SET max_parallel_workers_per_gather = 0')
    print(f'\n1 M rows, d 10, m 1000: alone {least[0]:.2f} s, 1 worker {least[1]:.2f} s, 2 workers {least[2]:.2f} s ({least[0] / least[2]:.2f} x)')
    report('two workers against none', 'd=10 m=1000', least[0] / least[2])


def bench_assign(connection, cursor, program, report):
    print('\nassignment, us per row: the core alone, then SQL with the model from a table row')
    for k, d, rows in [(10, 10, 300000), (30, 784, 20000), (256, 784, 20000), (512, 2000, 4000)]:
        core = kernel(program, 'assign', k, d)
        rng = np.random.default_rng(1)
        tables.copy_rows(connection, 'rows', rng.standard_normal((rows, d), dtype=np.float32))
        tables.copy_rows(connection, 'means', rng.standard_normal((k, d), dtype=np.float32))
        cursor.execute('DROP TABLE IF EXISTS model; CREATE TABLE model AS SELECT fastop_agg(x ORDER BY id) AS op FROM means')
        least = least_seconds(cursor, {
            'read': ['SELECT sum(x[1]) FROM rows'],
            'assign': ['SELECT sum(assign(op, x)) FROM rows, model'],
            'step': ['SELECT (lloyd_step_agg((SELECT op FROM model), x)).n FROM rows']})
        us = {name: seconds * 1e6 / rows for name, seconds in least.items()}
        ratio = us['assign'] / (core['single'] / 1e3 + us['read'])
        print(f"  k {k:4d} d {d:4d}: one row {core['single'] / 1e3:7.2f} (sgemv {core['sgemv'] / 1e3:7.2f}), in batches {core['batch'] / 1e3:6.2f} (sgemm {core['sgemm'] / 1e3:6.2f});"
              f" assign() {us['assign']:7.2f} = {ratio:.2f} x (core + read {us['read']:.2f}); lloyd_step_agg {us['step']:6.2f}")
        for name, value in {**{n: v / 1e3 for n, v in core.items()}, **{'sql ' + n: v for n, v in us.items()}}.items():
            report(f'assign {name} us', f'k={k} d={d}', value)
        report('assign() / (core + read)', f'k={k} d={d}', ratio)


def bench_decode(connection, cursor, report):
    print('\ndecoding by defaults, seconds (least of 5)')
    for k, n, m in [(3, 2, 128), (10, 10, 500), (10, 10, 1000), (10, 20, 1000), (30, 10, 1500)]:
        tables.copy_rows(connection, 'points', tables.ckm_mixture(k, n, 100000, 1))
        cursor.execute('DROP TABLE IF EXISTS spec, kept')
        cursor.execute(f'''CREATE TABLE spec AS SELECT sketch_spec_agg(x, {k}, '{{"frequencies": {m}}}') AS s FROM points TABLESAMPLE BERNOULLI (3) REPEATABLE (1)''')
        cursor.execute('CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points')
        least = least_seconds(cursor, {'alone': [f'SELECT count(*) FROM kept, decode(k, {k})'],
                                       'pilot': [f'SELECT count(*) FROM kept, decode(k, {k}, sample => (SELECT s FROM spec))']})
        print(f"  k {k:3d} n {n:3d} m {m:5d}: {least['alone']:.3f}, with sample rows {least['pilot']:.3f}")
        for name, seconds in least.items():
            report(f'decode {name} s', f'k={k} n={n} m={m}', seconds)


def bench_today(connection, cursor, report):
    """Compares COPY to numpy and scikit-learn with sketch, decode and one step: a million rows, k =
    10, d = 10."""
    rows, k = 1000000, 10
    tables.copy_rows(connection, 'points', tables.ckm_mixture(k, 10, rows, 1))
    cursor.execute('VACUUM ANALYZE points')
    cursor.execute('SET max_parallel_workers_per_gather = 2')
    start = time.perf_counter()
    stream = io.BytesIO()
    cursor.copy_expert('COPY points (x) TO STDOUT (FORMAT binary)', stream)
    raw = np.frombuffer(stream.getvalue(), dtype=np.uint8)[19:-2].reshape(rows, -1)
    x = np.ascontiguousarray(raw[:, 26:]).view(np.dtype([('size', '>i4'), ('value', '>f4')]))['value'].astype(np.float32).reshape(rows, 10)
    times = {'COPY out to numpy': time.perf_counter() - start}
    start = time.perf_counter()
    one = KMeans(k, n_init=1, random_state=0).fit(x)
    times['scikit-learn KMeans, 1 start'] = time.perf_counter() - start
    start = time.perf_counter()
    five = KMeans(k, n_init=5, random_state=0).fit(x)
    times['scikit-learn KMeans, 5 starts'] = time.perf_counter() - start
    try:
        import faiss
        start = time.perf_counter()
        faiss.omp_set_num_threads(2)
        clustering = faiss.Kmeans(10, k, niter=25, nredo=1, seed=0)
        clustering.train(x)
        times['faiss Kmeans (its own sample of 256 k rows)'] = time.perf_counter() - start
    except ImportError:
        pass
    steps = {
        'fastclust: choose the spec': 'CREATE TABLE spec AS SELECT sketch_spec_agg(x, 10) AS s FROM points TABLESAMPLE SYSTEM (1)',
        'fastclust: sketch': 'CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points',
        'fastclust: decode': 'CREATE TABLE model AS SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM kept, decode(k, 10, sample => (SELECT s FROM spec))',
        'fastclust: one Lloyd step (optional)': 'CREATE TABLE step AS SELECT lloyd_step_agg((SELECT op FROM model), x) AS l FROM points'}
    cursor.execute('DROP TABLE IF EXISTS spec, kept, model, step')
    for name, query in steps.items():
        start = time.perf_counter()
        cursor.execute(query)
        times[name] = time.perf_counter() - start
    cursor.execute('SELECT sse_agg((SELECT op FROM model), x), sse_agg((SELECT (l).next FROM step), x) FROM points')
    decoded, stepped = cursor.fetchone()
    print('\na million rows, 10 clusters in 10 dimensions, two cores (single run)')
    for name, seconds in times.items():
        print(f'  {name:46s} {seconds:8.3f} s')
        report('today s', name, seconds)
    print(f'  SSE against the best of 5 starts: 1 start {one.inertia_ / five.inertia_:.4f}, decoded {decoded / five.inertia_:.4f}, after the step {stepped / five.inertia_:.4f}')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--kernel', required=True)
    parser.add_argument('--out', required=True)
    args = parser.parse_args()
    connection, cursor = connect()
    with open(os.path.join(args.out, 'speed.csv'), 'w') as file:
        writer = csv.writer(file)
        report = lambda what, case, value: writer.writerow([what, case, f'{value:.6g}'])
        bench_kernel(args.kernel, report)
        bench_sketch(connection, cursor, args.kernel, report)
        bench_workers(connection, cursor, report)
        bench_assign(connection, cursor, args.kernel, report)
        bench_decode(connection, cursor, report)
        bench_today(connection, cursor, report)


if __name__ == '__main__':
    main()
