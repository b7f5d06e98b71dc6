"""Compares scans and trainings on shards with one node: CPU seconds, bytes sent and the share of
the coordinator. Then simulates larger clusters.

tools/with-citus.sh 3 python3 bench/scale.py [--rows N] [--shards 1,2,4,8] [--csv FILE]
tools/with-citus.sh 3 python3 bench/scale.py --train [--rows 3000000] [--shards 8] [--clusters
10,50]

CPU seconds are the sum over all processes of a node, user and system, in the cheapest of ROUNDS
rounds. The workers share the machine, so wall time would be meaningless. Bytes is the size of the
state that a shard sends in one scan, in the text format of Citus. The simulation extends the cost
of a row and of a merge to more rows, shards and groups. --train measures only trainings: first the
scan alone, whose results the coordinator merges, then whole trainings, in which the coordinator
alone decodes or runs k-means on a sample.
Good: the share of the coordinator is small and does not grow with the rows.
"""
import argparse
import csv
import glob
import os

import psycopg2

ROUNDS = 3
TICK = os.sysconf('SC_CLK_TCK')
CREATE = """
SET client_min_messages = warning;
DROP TABLE IF EXISTS single, spec, drawn, centroids;
CREATE TABLE single (id bigint, g integer, x real[]);
INSERT INTO single SELECT i, i %% 100, ARRAY(SELECT (((hashint8extended(i, d) & 65535) / 65535.0) + 3 * (hashint8extended(i %% 10, d) & 7))::real
    FROM generate_series(1, 10) d) FROM generate_series(1, %(rows)s) i;
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 10, '{"frequencies": 1000}') AS s, sketch_spec_agg(x, 10) AS of_training FROM (SELECT x FROM single LIMIT 5000) q;
CREATE TABLE drawn AS SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 5000, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, i, x))).sample AS op FROM (SELECT x, id AS i FROM single LIMIT 50000) q;
CREATE TABLE centroids AS SELECT kmeans_agg(x, 10) AS op FROM (SELECT x FROM single LIMIT 5000) q;
"""


SCANS = "SELECT count(*) FROM fastclust_internal.training_steps WHERE step ~ '^(scan .*|sketch)$' AND model_id = (SELECT max(model_id) FROM fastclust_internal.training_steps)"


def seconds_of(pid):
    """Returns the CPU seconds of a process, to the nanosecond, and of its children that have ended,
    to the tick; 0 if the process has ended."""
    try:
        with open(f'/proc/{pid}/schedstat') as file:
            own = int(file.read().split()[0]) * 1e-9
        with open(f'/proc/{pid}/stat') as file:
            ended = file.read().rsplit(')', 1)[1].split()[13:15]
    except OSError:
        return 0
    return own + sum(int(field) for field in ended) / TICK


def processes(directory):
    """Returns the ids of the postmaster of the server in a directory and of its children."""
    with open(f'{directory}/data/postmaster.pid') as file:
        postmaster = file.readline().strip()
    found = [postmaster]
    for path in glob.glob('/proc/[0-9]*/stat'):
        try:
            with open(path) as file:
                parent = file.read().rsplit(')', 1)[1].split()[1]
        except OSError:
            continue
        if parent == postmaster:
            found.append(path.split('/')[2])
    return found


def cpu_seconds(directory):
    """Returns the CPU seconds of all processes of the server in a directory."""
    return sum(seconds_of(process) for process in processes(directory))


class Cluster:
    def __init__(self):
        connection = psycopg2.connect('')
        connection.autocommit = True
        self.cursor = connection.cursor()
        self.cursor.execute('SET search_path = public, fastclust, fastclust_internal; SET client_min_messages = warning; SET max_parallel_workers_per_gather = 0')
        self.cursor.execute('SELECT nodename FROM pg_dist_node ORDER BY groupid')
        self.nodes = [name for name, in self.cursor.fetchall()]

    def measure(self, query, rounds=ROUNDS):
        """Returns (coordinator, workers): the CPU seconds of a query in the cheapest round."""
        best = None
        for _ in range(rounds):
            before = [cpu_seconds(node) for node in self.nodes]
            self.cursor.execute(query)
            if self.cursor.description:
                self.cursor.fetchall()
            spent = [cpu_seconds(node) - start for node, start in zip(self.nodes, before)]
            if best is None or sum(spent) < sum(best):
                best = spent
        return best[0], sum(best[1:])

    def value(self, query):
        self.cursor.execute(query)
        return self.cursor.fetchone()[0]


def distribute(cluster, shards):
    cluster.cursor.execute(f'SET citus.shard_count = {shards}')
    cluster.cursor.execute('DROP TABLE IF EXISTS shards; CREATE TABLE shards (LIKE single)')
    cluster.cursor.execute("SELECT create_distributed_table('shards', 'id', colocate_with => 'none')")
    cluster.cursor.execute('INSERT INTO shards SELECT * FROM single')
    cluster.cursor.execute('VACUUM ANALYZE shards')


def queries(spec, lean, op, table):
    train = "SELECT train('bench {0} {1}', '{1}', 'x', 10, '{0}', '{{\"quiet\": true, \"keep\": 0, \"seed\": 1}}')"
    return {
        'count': f'SELECT count(*) FROM {table}',
        'sketch': f"SELECT sketch_agg(x, '{lean}') FROM {table}",
        'sketch, pilot rows': f"SELECT sketch_agg(x, '{spec}') FROM {table}",
        'lloyd': f"SELECT lloyd_step_agg('{op}', x) FROM {table}",
        'sketches of 100 groups': f"SELECT g, sketch_agg(x, '{lean}') FROM {table} GROUP BY g",
        'train kmeans': train.format('kmeans', table),
        'train compressive': train.format('compressive', table),
    }


def simulate(row, single_row, merge, rows, shards, groups, cores=8):
    """Returns the wall seconds of a scan on the shards, where rows are scanned in parallel; of
    merging one state for each shard and group; and of the same scan on a single node."""
    on_shards = row * rows / min(shards, rows) / cores
    merging = merge * shards * groups
    return on_shards, merging, single_row * rows / cores


def training(table, method, k):
    return f"""SELECT train('bench ' || clock_timestamp(), '{table}', 'x', {k}, '{method}', '{{"quiet": true, "seed": 1}}')"""


SCAN = "SELECT r.n FROM stored_versions v, LATERAL sketch_rows(v, '{table}', NULL) r WHERE v.model = 'bench scan'"


def compare_scans(cluster, shards):
    """Prints the cost of the scan of drift, a sketch and counts in one query like that of a
    training, on shards and on one node."""
    cluster.cursor.execute("SELECT count(drop_model(model)) FROM models WHERE model = 'bench scan'")
    cluster.cursor.execute("SELECT train('bench scan', 'single', 'x', 10, options => '{\"quiet\": true, \"seed\": 1}')")
    single = sum(cluster.measure(SCAN.format(table='single')))
    coordinator, workers = cluster.measure(SCAN.format(table='shards'))
    print(f'scan of drift: one node {single:6.2f} CPU s, {shards} shards {coordinator + workers:6.2f}: {(coordinator + workers) / single:5.2f} x one node, '
          f'coordinator {coordinator:5.3f} ({100 * coordinator / (coordinator + workers):4.1f} %)', flush=True)


def compare_trainings(cluster, shards, clusters):
    """Prints the cost of whole trainings on shards and on one node."""
    for method in ('kmeans', 'compressive'):
        for k in clusters:
            single, _ = cluster.measure(training('single', method, k))
            scans_single = cluster.value(SCANS)
            coordinator, workers = cluster.measure(training('shards', method, k))
            print(f'train {method:11s} k = {k:3d}: one node {single:6.2f} CPU s ({scans_single} scans), {shards} shards {coordinator + workers:6.2f} '
                  f'({cluster.value(SCANS)} scans), coordinator {coordinator:5.2f}: {(coordinator + workers) / single:5.2f} x one node', flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--train', action='store_true')
    parser.add_argument('--rows', type=int)
    parser.add_argument('--shards')
    parser.add_argument('--clusters', default='10,50')
    parser.add_argument('--csv')
    arguments = parser.parse_args()
    arguments.rows = arguments.rows or (3000000 if arguments.train else 1000000)
    arguments.shards = arguments.shards or ('8' if arguments.train else '1,2,4,8')
    cluster = Cluster()
    cluster.cursor.execute(CREATE % {'rows': arguments.rows})
    cluster.cursor.execute('VACUUM ANALYZE single')
    if arguments.train:
        for shards in map(int, arguments.shards.split(',')):
            distribute(cluster, shards)
            compare_scans(cluster, shards)
            compare_trainings(cluster, shards, list(map(int, arguments.clusters.split(','))))
        return
    spec, lean, op = (cluster.value(query) for query in (
        'SELECT s FROM spec', 'SELECT fastclust_internal.without_sample_rows(s) FROM spec', 'SELECT op FROM centroids'))
    print(f'{arguments.rows} rows of 10 numbers; a spec of {len(spec) // 2} bytes, {len(lean) // 2} without pilot rows')
    single = {name: sum(cluster.measure(query)) for name, query in queries(spec, lean, op, 'single').items()}
    for name, seconds in single.items():
        print(f'one node    {name:24s} {seconds:7.2f} CPU s')
    report = [('one node', name, seconds, 0.0) for name, seconds in single.items()]
    for shards in map(int, arguments.shards.split(',')):
        distribute(cluster, shards)
        for name, query in queries(spec, lean, op, 'shards').items():
            coordinator, workers = cluster.measure(query)
            total = coordinator + workers
            report.append((f'{shards} shards', name, total, coordinator))
            print(f'{shards:3d} shards  {name:24s} {total:7.2f} CPU s, {total / max(single[name], 0.01):5.2f} x one node, coordinator {coordinator:5.3f} ({100 * coordinator / max(total, 0.01):4.1f} %)')
    size = cluster.value(f"SELECT length(sketch_agg(x, '{lean}')::text) FROM single")
    print(f'bytes from each shard: sketch {size}, a step of Lloyd {2 * 8 * 10 * 10 + 200}')
    row = next(seconds for where, name, seconds, _ in report[::-1] if name == 'sketch') / arguments.rows
    groups = next(seconds for where, name, _, seconds in report[::-1] if name == 'sketches of 100 groups')
    merge = groups / (100 * int(arguments.shards.split(',')[-1]))
    print(f'a row {1e9 * row:.0f} ns, a merge {1e6 * merge:.0f} us; simulated scans, 8 cores a shard:')
    for rows, shards, group_count in [(1e9, 32, 1), (1e10, 128, 1), (1e11, 1000, 1), (1e9, 32, 1e4), (1e10, 128, 1e5)]:
        on_shards, merging, alone = simulate(row / 1, single['sketch'] / arguments.rows, merge, rows, shards, group_count)
        print(f'  {rows:8.0e} rows, {shards:5d} shards, {group_count:8.0f} groups: shards {on_shards:9.1f} s, coordinator {merging:9.1f} s; one node {alone:9.1f} s')
    if arguments.csv:
        with open(arguments.csv, 'w', newline='') as file:
            csv.writer(file).writerows([('where', 'what', 'cpu_seconds', 'coordinator_seconds'), *report])


if __name__ == '__main__':
    main()
