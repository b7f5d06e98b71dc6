"""Measures the overhead of a model's name: predict() against assign() with the operator in the
query.

python3 models.py [--rows N] [--rounds N]

Connects by PG* variables to a server with schema fastclust. Figures are the minimum of interleaved
rounds in one backend. `null` reads the row and does nothing else. Good: a ratio (predict - null) /
(assign - null) near 1.
"""
import argparse
import time

import psycopg2

import tables

SIZES = [(10, 2), (10, 10), (64, 64), (256, 128)]


def seconds(cursor, query):
    start = time.perf_counter()
    cursor.execute(query)
    return time.perf_counter() - start


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--rows', type=int, default=200000)
    parser.add_argument('--rounds', type=int, default=7)
    arguments = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('SET max_parallel_workers_per_gather = 0; SET jit = off; SET search_path = public, fastclust')
    print(f'{"k, d":>10} {"null":>8} {"assign":>8} {"predict":>8} {"ratio":>6}   us a row')
    for k, d in SIZES:
        tables.copy_rows(connection, 'points', tables.ckm_mixture(k, d, arguments.rows, 1))
        cursor.execute("SELECT train('bench', 'points', 'x', %s, 'kmeans', '{\"quiet\": true, \"iterations\": 1, \"keep\": 0}')", (k,))
        cursor.execute("DROP TABLE IF EXISTS op; CREATE TABLE op AS SELECT operator AS op FROM model_versions WHERE model = 'bench'")
        queries = {'null': 'SELECT sum(cardinality(x)) FROM points',
                   'assign': 'SELECT sum(assign((SELECT op FROM op), x)) FROM points',
                   'predict': "SELECT sum(predict('bench', x)) FROM points"}
        best = {name: min(times) for name, times in
                zip(queries, zip(*[[seconds(cursor, query) for query in queries.values()] for _ in range(arguments.rounds)]))}
        ratio = (best['predict'] - best['null']) / (best['assign'] - best['null'])
        print(f'{k:>5}, {d:<3} ' + ' '.join(f'{1e6 * best[name] / arguments.rows:8.3f}' for name in queries) + f' {ratio:6.2f}')


if __name__ == '__main__':
    main()
