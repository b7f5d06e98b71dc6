"""Many clusters: train from the table beside faiss Kmeans, the export included.

many_clusters.py [--rows N] [--dim D] [--clusters K,K,..] [--reported K,..] [--iterations 25] [--efforts balanced,fast,..]

The server of the PG* variables has the extension.  Rows are a mixture of as many Gaussians as the first of all K, sizes by a power law,
with a spectrum that falls.  faiss clusters all rows from random ones with two threads; its time counts the export by COPY.  The server
may use two processes.  K that are reported are trained without faiss.  Peak memory is that of the backend, RssAnon, two hundred times a second.
"""
import argparse
import struct
import subprocess
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


def faiss_kmeans(rows, dim, k, iterations):
    import faiss
    faiss.omp_set_num_threads(2)
    start = time.time()
    x = export(rows, dim)
    exported = time.time() - start
    kmeans = faiss.Kmeans(dim, k, niter=iterations, max_points_per_centroid=10 ** 9, min_points_per_centroid=1, seed=1)
    kmeans.train(x)
    seconds = time.time() - start
    label = kmeans.index.search(x, 1)[1][:, 0]
    sse = sum(float(((x[s:s + 10000].astype('f8') - kmeans.centroids[label[s:s + 10000]]) ** 2).sum()) for s in range(0, rows, 10000))
    return sse, seconds, exported


def train(k, name, effort):
    session = subprocess.Popen(['psql', '-X', '-q', '-A', '-t', '-v', 'ON_ERROR_STOP=1'], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    session.stdin.write('SELECT pg_backend_pid();\n')
    session.stdin.flush()
    peak = Peak(int(session.stdout.readline()))
    start = time.time()
    options = f'{{"effort": "{effort}"}}'
    session.stdin.write(f"SELECT fastclust.train('{name}', 'many_rows', 'v', {k}, options => '{options}');\n\\echo done\n")
    session.stdin.flush()
    for line in session.stdout:
        if line.strip() == 'done':
            break
        if 'so far' not in line:
            print('   ', line.rstrip())
    seconds = time.time() - start
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
    parser.add_argument('--efforts', default='balanced')
    args = parser.parse_args()
    load(mixture(args.rows, args.dim, (args.clusters + args.reported)[0]))
    for k in args.clusters + args.reported:
        if k in args.clusters:
            other, other_seconds, exported = faiss_kmeans(args.rows, args.dim, k, args.iterations)
            print(f'k = {k}: faiss {other_seconds:.1f} s (export {exported:.1f} s), SSE {other:.6g}', flush=True)
        for effort in args.efforts.split(','):
            sse, seconds, memory = train(k, f'many_{k}_{effort}', effort)
            ratios = f'; SSE ratio {sse / other:.4f}, time ratio {seconds / other_seconds:.3f}' if k in args.clusters else ''
            print(f'k = {k}: train, {effort}: {seconds:.1f} s, SSE {sse:.6g}, {memory} MB{ratios}', flush=True)


main()
