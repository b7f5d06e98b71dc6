"""Measures the seconds of each view of schema fastclust with many models: for the owner of all
models, for a role that may read ten of them, and for a superuser.

python3 views.py [--models N]

Connects by PG* variables as a superuser to a server with schema fastclust, and drops and creates
database objects. One model is trained, retrained twice and checked for drift; the others are
copies of its rows under other names.
Good: the seconds grow at most linearly with the number of models.
"""
import argparse
import time

import psycopg2

COPIED = ['version_groups', 'stored_names', 'training_steps', 'drift_checks']
QUERIES = {'all columns': 'SELECT count(v) FROM {} v', 'rows': 'SELECT count(*) FROM {}',
           'one model': "SELECT count(v) FROM {} v WHERE model = 'copy 7'"}


def make_models(cursor, count):
    cursor.execute("""SET search_path = public, fastclust;
        CREATE ROLE holder; CREATE ROLE reader; GRANT CREATE ON SCHEMA public TO holder; SET ROLE holder;
        CREATE TABLE rows AS SELECT i % 5 * 20 + sin(i) AS amount, i % 3 * 4 + cos(i) AS items FROM generate_series(1, 3000) i;
        SELECT train('first', 'rows', ARRAY['amount', 'items'], 5, options => '{"quiet": true}');
        SELECT name_cluster('first', 0, 'small'), retrain('first', '{"quiet": true}'), retrain_if_drifted('first'), retrain('first', '{"quiet": true}');
        RESET ROLE""")
    cursor.execute("""INSERT INTO fastclust_internal.stored_models (model, owner, readers, version)
        SELECT 'copy ' || i, owner, CASE WHEN i <= 10 THEN '{{reader}}'::name[] ELSE '{{}}' END, version
          FROM fastclust_internal.stored_models, generate_series(1, {}) i""".format(count))
    for table in COPIED:
        cursor.execute("""SELECT string_agg(attname, ', ') FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND attgenerated = ''
            AND attname NOT IN ('id', 'model_id')""", ('fastclust_internal.' + table,))
        columns = cursor.fetchone()[0]
        cursor.execute("""INSERT INTO fastclust_internal.{0} (model_id, {1}) SELECT m.new_id, {1} FROM fastclust_internal.{0} t,
            (SELECT id AS new_id FROM fastclust_internal.stored_models WHERE model LIKE 'copy %') m""".format(table, columns))
        cursor.execute('ANALYZE fastclust_internal.' + table)
    cursor.execute('ANALYZE fastclust_internal.stored_models')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--models', type=int, default=10000)
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    make_models(cursor, parser.parse_args().models)
    cursor.execute("SELECT relname FROM pg_class WHERE relnamespace = 'fastclust'::regnamespace AND relkind = 'v' ORDER BY 1")
    views = [name for name, in cursor.fetchall()]
    for role in 'reader', 'holder', 'postgres':
        print(f'{role:>18} ' + ' '.join(f'{what:>12}' for what in QUERIES) + '   seconds (rows)')
        cursor.execute('SET ROLE ' + role)
        for view in views:
            line = ''
            for query in QUERIES.values():
                start = time.perf_counter()
                cursor.execute(query.format(view))
                line += f' {time.perf_counter() - start:12.3f}'
            cursor.execute('SELECT count(*) FROM ' + view)
            print(f'{view:>18}{line}   ({cursor.fetchone()[0]})', flush=True)
        cursor.execute('RESET ROLE')


if __name__ == '__main__':
    main()
