"""Data for the benchmarks: generators of the papers, real sets from a folder, and fast copying to
and from tables.
"""
import importlib.util
import io
import os

import numpy as np


def ckm_mixture(k, n, rows, seed, weights=None, anisotropy=1.0, spread=1.5):
    """Returns the rows of section 4.1 of compressive k-means: k unit Gaussians with means from N(0,
    spread k^(1/n) Id)."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((k, n)) * np.sqrt(spread * k ** (1 / n))
    label = rng.integers(0, k, rows) if weights is None else rng.choice(k, rows, p=weights)
    noise = rng.standard_normal((rows, n), dtype=np.float32)
    if anisotropy != 1.0:
        for j in range(k):
            s = np.exp(rng.uniform(-np.log(anisotropy), np.log(anisotropy), n))
            s /= np.sqrt((s ** 2).mean())
            q, _ = np.linalg.qr(rng.standard_normal((n, n)))
            i = label == j
            noise[i] = ((noise[i] * s) @ q.T).astype(np.float32)
    return (means[label] + noise).astype(np.float32)


def unbalanced(k, n, rows, seed):
    """Returns rows with half of them in one cluster, and from 1 % upwards in the others."""
    w = np.concatenate([[.5], np.geomspace(.01, .2, k - 1)])
    w[1:] *= .5 / w[1:].sum()
    w[1] = max(w[1], .01)
    return ckm_mixture(k, n, rows, seed, weights=w / w.sum(), spread=2.5)


def with_outliers(k, n, rows, seed):
    """Returns rows, 1 % of which are outliers with 50 times the noise, and a mask of the other
    rows."""
    x = ckm_mixture(k, n, rows, seed)
    rng = np.random.default_rng(7000 + seed)
    far = rng.random(rows) < .01
    x[far] = 50 * rng.standard_normal((int(far.sum()), n))
    return x, ~far


def loader(folder):
    """Returns the load.py of a folder of real sets as a module."""
    spec = importlib.util.spec_from_file_location('load', os.path.join(folder, 'load.py'))
    load = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(load)
    return load


def labelled_set(folder, name, preparation):
    """Returns the rows and classes (0, 1, ..) of one set."""
    x, classes = getattr(loader(folder), name)(preparation)
    return x, np.asarray(classes, dtype=int)


def real_sets(folder):
    """Returns name -> function that returns (rows, k), for a folder with a load.py."""
    load = loader(folder)
    return {'mnist_spectral': lambda: (load.mnist_spectral()[0].astype(np.float32), 10),
            'mnist': lambda: (load.mnist()[0].astype(np.float32), 10),
            'image_segmentation': lambda: (load.image_segmentation()[0].astype(np.float32), 7)}


def copy_rows(connection, table, x):
    """Creates the unlogged table (id int, x real[]) with the rows in the given order, by binary
    COPY."""
    rows, n = x.shape
    record = np.zeros(rows, dtype=np.dtype([
        ('fields', '>i2'), ('id_size', '>i4'), ('id', '>i4'), ('size', '>i4'), ('ndim', '>i4'), ('nulls', '>i4'),
        ('type', '>i4'), ('dim', '>i4'), ('lower', '>i4'), ('x', [('size', '>i4'), ('value', '>f4')], (n,))]))
    record['fields'], record['id_size'], record['id'] = 2, 4, np.arange(rows)
    record['size'], record['ndim'], record['type'], record['dim'], record['lower'] = 20 + 8 * n, 1, 700, n, 1
    record['x']['size'], record['x']['value'] = 4, x
    with connection.cursor() as cursor:
        cursor.execute(f'DROP TABLE IF EXISTS {table}; CREATE UNLOGGED TABLE {table} (id int, x real[])')
        cursor.execute(f'ALTER TABLE {table} SET (parallel_workers = 2); ALTER TABLE {table} ALTER x SET STORAGE EXTERNAL, ALTER x SET STATISTICS 0')
        stream = io.BytesIO(b'PGCOPY\n\xff\r\n\0' + bytes(8) + record.tobytes() + b'\xff\xff')
        cursor.copy_expert(f'COPY {table} FROM STDIN (FORMAT binary)', stream)
        cursor.execute(f'ANALYZE {table}')


def copy_columns(connection, table, x):
    """Creates the unlogged table (id int, c0, c1, ..) with columns of double precision, where NaN
    becomes NULL, or of text."""
    kind = 'double precision' if x.dtype.kind == 'f' else 'text'
    lines = (f"{i},{','.join('' if v != v else str(v) for v in row)}" for i, row in enumerate(x.tolist()))
    with connection.cursor() as cursor:
        cursor.execute(f"DROP TABLE IF EXISTS {table}; CREATE UNLOGGED TABLE {table} (id int, {', '.join(f'c{j} {kind}' for j in range(x.shape[1]))})")
        cursor.copy_expert(f'COPY {table} FROM STDIN (FORMAT csv)', io.StringIO('\n'.join(lines)))
        cursor.execute(f'ANALYZE {table}')


def copy_labels(connection, table, ids, labels):
    """Creates the table (id int, cluster int) by binary COPY."""
    record = np.zeros(len(ids), dtype=np.dtype([('fields', '>i2'), ('id_size', '>i4'), ('id', '>i4'), ('size', '>i4'), ('cluster', '>i4')]))
    record['fields'], record['id_size'], record['id'], record['size'], record['cluster'] = 2, 4, ids, 4, labels
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE TABLE {table} (id int, cluster int)')
        cursor.copy_expert(f'COPY {table} FROM STDIN (FORMAT binary)', io.BytesIO(b'PGCOPY\n\xff\r\n\0' + bytes(8) + record.tobytes() + b'\xff\xff'))


def read_vectors(connection, query, ids=False):
    """Returns the rows of a query by binary COPY. Its only column is real[] without NULLs; with
    `ids` a column int precedes it, and (ids, rows) is returned."""
    stream = io.BytesIO()
    with connection.cursor() as cursor:
        cursor.copy_expert(f'COPY ({query}) TO STDOUT (FORMAT binary)', stream)
    head = 34 if ids else 26
    n = int.from_bytes(stream.getvalue()[11 + head:15 + head], 'big')
    record = np.dtype([('fields', 'V6'), ('id', '>i4'), ('head', f'V{head - 10}'), ('x', [('size', '>i4'), ('value', '>f4')], n)])
    rows = np.frombuffer(stream.getvalue()[19:-2], record)
    x = rows['x']['value'].astype(np.float32)
    return (rows['id'].astype(np.int32), x) if ids else x


def separated(k, d, rows, seed, weights=None, gap=12.0):
    """Returns rows and clusters of k unit Gaussians whose means are about `gap` standard deviations
    apart in any number of dimensions."""
    rng = np.random.default_rng(seed)
    means = rng.standard_normal((k, d), dtype=np.float32) * np.float32(gap / np.sqrt(2 * d))
    label = rng.choice(k, rows, p=weights)
    return means[label] + rng.standard_normal((rows, d), dtype=np.float32), label


def with_nulls(x, classes, share, how, rng):
    """Returns the rows with cells set to NaN. `random`: any cell, with probability `share`.
    `cluster`: each cluster has its own probability for each column, `share` on average. `block`:
    half of the columns are missing together, with a probability for each cluster. `told`: 2 % of
    the cells, and at least 97 % of one or two columns in the rows of cluster 0 (sometimes also
    1)."""
    k, d = classes.max() + 1, x.shape[1]
    shares = np.full((k, d), .02 if how == 'told' else share)
    if how in ('cluster', 'block'):
        shares = np.clip(2 * share * rng.random((k, d if how == 'cluster' else 1)), 0, .95)
    for cluster in range(rng.integers(1, 3) if how == 'told' else 0):
        shares[cluster, rng.choice(d, rng.integers(1, 3), replace=False)] = rng.choice([.97, 1.0])
    holes = rng.random((len(x), shares.shape[1])) < shares[classes]
    return np.where(holes & np.isin(np.arange(d), rng.choice(d, d // 2, replace=False)) if how == 'block' else holes, np.nan, x)


def category_law(d, rng, classes=4, told=.3):
    """Returns a function of the number of rows that draws (codes, levels, classes): codes of
    columns (rows x columns) with 2 to 60 Zipf levels each, d levels in all. The class determines a
    share of the codes."""
    levels = []
    while sum(levels) < d:
        free, m = d - sum(levels), int(rng.integers(2, max(3, min(60, d // 3))))
        levels.append(m if free - m > 1 else free)
    shares = [rng.permutation(1 / np.arange(1, m + 1) ** 1.3) for m in levels]

    def draw(rows):
        label = rng.integers(0, classes, rows)
        return np.stack([np.where(rng.random(rows) < told, (7 * label + j) % m, rng.choice(m, rows, p=p / p.sum()))
                         for j, (m, p) in enumerate(zip(levels, shares))], axis=1), levels, label
    return draw


def one_hot(codes, levels):
    x = np.zeros((len(codes), sum(levels)), np.float32)
    x[np.arange(len(codes))[:, None], codes + np.concatenate([[0], np.cumsum(levels)[:-1]])] = 1
    return x


def three_clusters(dim, rows, seed, near=False):
    """Returns the rows of sections 3.1 and 5.1 of sketch-and-shift: three isotropic Gaussians in
    [-1, 1]^dim, dim 2 or 6."""
    rng = np.random.default_rng(seed)
    if dim == 2:
        centers = np.array([[-.3, -.2], [.3, -.2], [0, .25]] if near else [[-.5, -.4], [.5, -.3], [0, .55]])
    else:
        placing = np.random.default_rng(606 + seed)
        distance = 0
        while distance <= 1:
            centers = placing.uniform(-.7, .7, (3, dim))
            distance = min(np.linalg.norm(centers[i] - centers[j]) for i in range(3) for j in range(i))
    deviation = .12 if near or dim != 2 else .095
    return (centers[rng.integers(0, 3, rows)] + deviation * rng.standard_normal((rows, dim))).astype(np.float32)
