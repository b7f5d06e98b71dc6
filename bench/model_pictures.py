"""Draws pictures of models: docs/model-clusters.svg, docs/model-drift.svg, docs/model-life.svg and
docs/density.png.

tools/with-server.sh /usr/bin/python3 bench/model_pictures.py --docs docs

Connects by PG* variables. The rows are generated in the plane, in four clusters; everything drawn
is what fastclust returned.
"""
import argparse

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import psycopg2

import density
import pictures
import tables

BLUE, DARK, RED, GREY = '#1f5f8b', '#0b2f4a', '#c44e52', '#999999'
COLOURS = ['#1f5f8b', '#d98032', '#55a868', '#8172b2']
CENTRES = np.array([(0, 0), (6, 1), (1, 6), (7, 7)], dtype=float)
# ROWS: rows of a day; MOVES: day from which a cluster moves; SECOND: day from which one is missing
DAYS, ROWS, MOVES, SECOND = 60, 1000, 20, 45


def rows_of(day, rng):
    """Returns the rows of a day. The last cluster moves by 0.1 a day from day 20 to day 40, and the
    second cluster is missing from day 45 on."""
    centres = CENTRES.copy()
    centres[3] -= 0.1 * np.clip(day - MOVES, 0, 20)
    label = rng.choice([0, 2, 3] if day >= SECOND else [0, 1, 2, 3], ROWS)
    return (centres[label] + 0.8 * rng.standard_normal((ROWS, 2))).astype(np.float32)


def ask(cursor, query, *values):
    cursor.execute(query, values)
    return np.array(cursor.fetchall(), dtype=float)


def load(connection, rng):
    x = np.concatenate([rows_of(day, rng) for day in range(DAYS)])
    tables.copy_rows(connection, 'signals', x)
    cursor = connection.cursor()
    cursor.execute(f'ALTER TABLE signals ADD day int; UPDATE signals SET day = id / {ROWS}; CREATE INDEX ON signals (day); ANALYZE signals')
    cursor.execute('CREATE TABLE clock (day int); INSERT INTO clock VALUES (9); ANALYZE clock')
    cursor.execute('CREATE VIEW recent AS SELECT s.* FROM signals s, clock c WHERE s.day BETWEEN c.day - 4 AND c.day')
    return x


def clusters(cursor, x, docs):
    found = ask(cursor, "SELECT predict('first', x) FROM signals WHERE day < 1 ORDER BY id")[:, 0]
    cursor.execute("SELECT centroid, spread FROM model_clusters WHERE model = 'first'")
    figure, axis = plt.subplots(figsize=(5, 4.6))
    for number in range(4):
        mine = x[:len(found)][found == number]
        axis.plot(mine[:, 0], mine[:, 1], '.', ms=2.5, color=COLOURS[number], alpha=.6)
    for i, (centroid, spread) in enumerate(cursor.fetchall()):
        axis.add_patch(plt.Circle(centroid, 2 * spread, fill=False, color=DARK, lw=1.2, label='two spreads' if i == 0 else None))
        axis.plot(*centroid, 'x', color=DARK, ms=9, mew=2.5, label='centroid' if i == 0 else None)
    axis.set_aspect('equal')
    axis.spines[['top', 'right']].set_visible(False)
    axis.legend(frameon=False, loc='lower center', bbox_to_anchor=(.5, 1), ncols=2, fontsize=9)
    figure.tight_layout()
    pictures.save(figure, f'{docs}/model-clusters.svg')


def drift(cursor, docs):
    day, mmd2, p = ask(cursor, "SELECT value::int, mmd2, greatest(p_value, 1e-12) FROM drift('first', 'signals', by => 'day') ORDER BY 1").T
    figure, axes = plt.subplots(2, 1, figsize=(7.5, 4.6), sharex=True)
    axes[0].plot(day, mmd2, '.-', color=BLUE)
    axes[0].set_ylabel('squared MMD')
    axes[1].semilogy(day, p, '.-', color=DARK)
    axes[1].axhline(0.01, color=RED, lw=1, label='threshold 0.01')
    axes[1].set_ylabel('p-value')
    axes[1].set_xlabel('day')
    axes[1].legend(frameon=False, loc='lower left', fontsize=9)
    for axis in axes:
        axis.spines[['top', 'right']].set_visible(False)
        axis.axvspan(0, 9, color='#eeeeee', zorder=0)
    for place, words in ((0, 'training rows'), (MOVES, 'a cluster begins to move'), (SECOND, 'another vanishes')):
        axes[0].annotate(words, (place, 1), xycoords=('data', 'axes fraction'), xytext=(2, 2), textcoords='offset points', fontsize=9)
        axes[0].axvline(place, color=GREY, lw=.8, ls=':') if place else None
    figure.tight_layout()
    pictures.save(figure, f'{docs}/model-drift.svg')


def live(cursor):
    """Simulates one night after another. Returns, for each day, the version that served it, and the
    mean squared distance of its rows with this version and with the first one."""
    nights = []
    for day in range(10, DAYS):
        cursor.execute('UPDATE clock SET day = %s', (day,))
        nights.append((day, *ask(cursor, "SELECT (SELECT version FROM models WHERE model = 'live'), avg(predict_distance('live', x) ^ 2), "
                                         "avg(predict_distance('first', x) ^ 2) FROM signals WHERE day = %s", day)[0]))
        cursor.execute("""SELECT retrain_if_drifted('live', 0.001, options => '{"quiet": true}')""")
    return np.array(nights)


def life(nights, docs):
    day, version, ours, frozen = nights.T
    figure, axis = plt.subplots(figsize=(7.5, 3.6))
    axis.plot(day, frozen, '.-', color=GREY, label='version 1, never retrained')
    axis.plot(day, ours, '.-', color=BLUE, label='retrain_if_drifted every night')
    changes = [i for i in range(1, len(day)) if version[i] != version[i - 1]]
    for i, change in enumerate(changes):
        axis.axvline(day[change], color=RED, lw=.8, ls=':', label='a new version' if i == 0 else None)
    axis.set_xlabel('day')
    axis.set_ylabel('mean squared distance\nof the rows of the day')
    axis.set_ylim(0)
    axis.spines[['top', 'right']].set_visible(False)
    axis.legend(frameon=False, loc='lower center', bbox_to_anchor=(.5, 1), ncols=3, fontsize=9)
    figure.tight_layout()
    pictures.save(figure, f'{docs}/model-life.svg')


def shapes(connection, docs):
    """Draws sets of bench/density.py coloured by the clusters of method density, with noise in
    grey."""
    made = density.shapes(20000)
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.1))
    cursor = connection.cursor()
    for axis, name in zip(axes, ('moons', 'spirals', 'chains', 'densities')):
        x = made[f'{name}, 10 %'](3)[0]
        tables.copy_rows(connection, name, x.astype(np.float32))
        cursor.execute("SELECT train(%s, %s, 'x', method => 'density', options => '{\"quiet\": true}')", (name, name))
        found = ask(cursor, f"SELECT coalesce(predict('{name}', x), -1) FROM {name} ORDER BY id")[:, 0].astype(int)
        axis.scatter(*x.T, s=.4, c=[(COLOURS + [RED, '#bbbbbb'])[number] for number in found])
        axis.set_aspect('equal')
        axis.set_title(f'{found.max() + 1} clusters, {100 * np.mean(found < 0):.0f} % noise', fontsize=9)
        axis.axis('off')
    figure.tight_layout()
    figure.savefig(f'{docs}/density.png', dpi=110)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--docs', default='docs')
    docs = parser.parse_args().docs
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; SET client_min_messages = warning')
    x = load(connection, np.random.default_rng(1))
    cursor.execute('CREATE TABLE training AS SELECT * FROM signals WHERE day < 10; ANALYZE training')
    cursor.execute("""SELECT train('first', 'training', 'x', 4, 'compressive', '{"quiet": true}'),
                             train('live', 'recent', 'x', 4, 'compressive', '{"quiet": true}')""")
    shapes(connection, docs)
    clusters(cursor, x, docs)
    drift(cursor, docs)
    life(live(cursor), docs)


if __name__ == '__main__':
    main()
