"""Compares quality, time and memory of train with many clusters with Kmeans of faiss, including the
export of the rows.

many_clusters.py [--rows N] [--dim D] [--clusters K,K,..] [--reported K,..] [--iterations 25]
[--effort balanced] [--cpu] [--peers FOLDER,..]

The server of the PG* variables has the extension and may use two processes. The rows are a mixture
of Gaussians, whose number is the first K. Their sizes follow a power law and their spectra fall.
faiss starts from random rows and clusters all rows with two threads; its time includes the export
by COPY. The K of --reported are trained without faiss. Peak memory is RssAnon of the backend, read
two hundred times a second.
--cpu counts CPU seconds of one thread each, for a machine with other work. --peers lists folders
that each have a built Python package `superkmeans`, or `faiss` of a version with SuperKMeans. Both
run --iterations over all rows; `superkmeans` also runs with its defaults: a sample, ten iterations,
and a hierarchy from 100,000 rows on.
Good: an SSE as low as with faiss, in less time.
"""
import argparse
import json
import os
import struct
import subprocess
import sys
import time

import numpy as np

from speed import Peak

HEAD = b'PGCOPY\n\xff\r\n\0' + struct.pack('>ii', 0, 0)


def psql(*statements):
    command = ['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1']
    for statement in statements:
        command += ['-c', statement]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def mixture(rows, dim, components, seed=1):
    rng = np.random.default_rng(seed)
    share = 1 / (np.arange(components) + 10.0)
    unit = ((np.arange(dim) + 1.0) ** -0.25).astype('f4')
    center = rng.standard_normal((components, dim), dtype='f4')
    label = rng.choice(components, size=rows, p=share / share.sum())
    x = np.empty((rows, dim), 'f4')
    for start in range(0, rows, 10000):
        part = label[start:start + 10000]
        x[start:start + 10000] = unit * (center[part] + np.float32(0.7) * rng.standard_normal((len(part), dim), dtype='f4'))
    return x


def load(x):
    psql('DROP TABLE IF EXISTS many_rows', 'CREATE TABLE many_rows (v real[])', 'ALTER TABLE many_rows ALTER v SET STORAGE EXTERNAL')
    dim = x.shape[1]
    head = struct.pack('>hi', 1, 20 + 8 * dim) + struct.pack('>iiiii', 1, 0, 700, dim, 1)
    values = np.empty(dim, [('length', '>i4'), ('value', '>f4')])
    values['length'] = 4
    copy = subprocess.Popen(['psql', '-X', '-q', '-c', 'COPY many_rows FROM STDIN BINARY'], stdin=subprocess.PIPE)
    copy.stdin.write(HEAD)
    for row in x:
        values['value'] = row
        copy.stdin.write(head + values.tobytes())
    copy.stdin.write(struct.pack('>h', -1))
    copy.stdin.close()
    if copy.wait() != 0:
        raise SystemExit('COPY failed')
    psql('VACUUM ANALYZE many_rows')


def export(rows, dim):
    out = subprocess.run(['psql', '-X', '-q', '-c', 'COPY many_rows TO STDOUT BINARY'], check=True, capture_output=True).stdout
    record = np.dtype([('head', 'V26'), ('values', [('length', '>i4'), ('value', '>f4')], (dim,))])
    return np.frombuffer(out, record, rows, len(HEAD))['values']['value'].astype('f4')


def by_faiss(x, k, iterations):
    import faiss
    kmeans = faiss.Kmeans(x.shape[1], k, niter=iterations, max_points_per_centroid=10 ** 9, min_points_per_centroid=1, seed=1)
    kmeans.train(x)
    return kmeans.centroids


def by_faiss_super(x, k, iterations):
    import faiss
    p = faiss.SuperKMeansParameters()
    p.niter, p.seed, p.max_points_per_centroid, p.min_points_per_centroid = iterations, 1, 10 ** 9, 1
    kmeans = faiss.SuperKMeans(x.shape[1], k, p)
    kmeans.train(x)
    return faiss.vector_to_array(kmeans.centroids).reshape(k, -1)


def by_superkmeans(x, k, iterations):
    import superkmeans
    return superkmeans.SuperKMeans(k, x.shape[1], hierarchical=False, iters=iterations, sampling_fraction=1.0, max_points_per_cluster=10 ** 6, early_termination=False, n_threads=THREADS).train(x)


def by_superkmeans_defaults(x, k, iterations):
    import superkmeans
    return superkmeans.SuperKMeans(k, x.shape[1], n_threads=THREADS).train(x)


THREADS = int(os.environ.get('OMP_NUM_THREADS', '2'))
PEERS = {function.__name__: function for function in (by_faiss, by_faiss_super, by_superkmeans, by_superkmeans_defaults)}


def sse_of(x, centroids):
    half = (centroids.astype('f8') ** 2).sum(1) / 2
    sse = 0.0
    for s in range(0, len(x), 4000):
        label = (half.astype('f4') - x[s:s + 4000] @ centroids.T).argmin(1)
        sse += float(((x[s:s + 4000].astype('f8') - centroids[label]) ** 2).sum())
    return sse


def run_peer(name, rows, dim, k, iterations):
    """Runs a peer in the current process. Prints its SSE, its wall and CPU seconds including the
    export, and the wall seconds of the export, as JSON."""
    begun, cpu = time.time(), time.process_time()
    x = export(rows, dim)
    exported = time.time() - begun
    centroids = np.ascontiguousarray(PEERS[name](x, k, iterations), 'f4')
    seconds = time.time() - begun, time.process_time() - cpu
    print(json.dumps([sse_of(x, centroids), *seconds, exported]))


def peer(name, folder, args, k):
    threads = '1' if args.cpu else '2'
    environment = dict(os.environ, OMP_NUM_THREADS=threads, OPENBLAS_NUM_THREADS=threads, PYTHONPATH=folder)
    out = subprocess.run([sys.executable, __file__, '--rows', str(args.rows), '--dim', str(args.dim), '--iterations', str(args.iterations), '--run', f'{name},{k}'],
                         check=True, capture_output=True, text=True, env=environment).stdout
    return json.loads(out.strip().splitlines()[-1])


def backend_seconds(pid):
    with open(f'/proc/{pid}/schedstat') as file:
        return int(file.read().split()[0]) * 1e-9


def train(k, name, cpu, effort):
    session = subprocess.Popen(['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    session.stdin.write('SELECT pg_backend_pid();\n')
    session.stdin.flush()
    pid = int(session.stdout.readline())
    peak = Peak(pid)
    start = time.time()
    if cpu:
        session.stdin.write('SET max_parallel_workers_per_gather = 0;\n')
    options = f'{{"effort": "{effort}"}}'
    session.stdin.write(f"SELECT fastclust.train('{name}', 'many_rows', 'v', {k}, options => '{options}');\n\\echo done\n")
    session.stdin.flush()
    for line in session.stdout:
        if line.strip() == 'done':
            break
        if 'so far' not in line:
            print('   ', line.rstrip())
    seconds = backend_seconds(pid) if cpu else time.time() - start
    session.stdin.close()
    session.wait()
    sse = float(psql('SET search_path = fastclust',
                     f"SELECT sse_agg((SELECT v.operator FROM models m JOIN model_versions v ON v.model = m.model AND v.version = m.version WHERE m.model = '{name}'), r.v) "
                     'FROM public.many_rows r'))
    return sse, seconds, peak.most


def numbers(text):
    return [int(k) for k in text.split(',') if k]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rows', type=int, default=200000)
    parser.add_argument('--dim', type=int, default=768)
    parser.add_argument('--clusters', type=numbers, default=[4096])
    parser.add_argument('--reported', type=numbers, default=[16384])
    parser.add_argument('--iterations', type=int, default=25)
    parser.add_argument('--effort', default='balanced')
    parser.add_argument('--cpu', action='store_true')
    parser.add_argument('--peers', type=lambda text: text.split(','), default=[])
    parser.add_argument('--run', help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.run:
        name, k = args.run.split(',')
        return run_peer(name, args.rows, args.dim, int(k), args.iterations)
    load(mixture(args.rows, args.dim, (args.clusters + args.reported)[0]))
    unit = 'CPU s' if args.cpu else 's'
    runs = [('by_faiss', '')]
    for folder in args.peers:
        runs += [(name, folder) for name in (('by_superkmeans', 'by_superkmeans_defaults') if os.path.isdir(folder + '/superkmeans') else ('by_faiss', 'by_faiss_super'))]
    for k in args.clusters + args.reported:
        sse, seconds, memory = train(k, f'many_{k}', args.cpu, args.effort)
        print(f'k = {k}: train {seconds:.1f} {unit}, SSE {sse:.6g}, {memory} MB', flush=True)
        for name, folder in runs if k in args.clusters else []:
            other, wall, cpu, exported = peer(name, folder, args, k)
            other_seconds = cpu if args.cpu else wall
            print(f'k = {k}: {name} {folder} {other_seconds:.1f} {unit} (export {exported:.1f} s), SSE {other:.6g}; '
                  f'SSE ratio {sse / other:.4f}, time ratio {seconds / other_seconds:.3f}', flush=True)


if __name__ == '__main__':
    main()
