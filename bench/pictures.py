"""pictures.py RESULTS DOCS: docs/quality.svg and docs/speed.svg from quality.csv and speed.csv."""
import csv
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt

plt.rcParams['svg.hashsalt'] = 'fastclust'


def save(figure, path):
    figure.savefig(path, metadata={'Date': None})


def quality(results, docs):
    rows = list(csv.DictReader(open(f'{results}/quality.csv')))
    columns = [('1000 rows', 'k-means on 1000 rows', '#bbbbbb'), ('sketch', 'sketch alone', '#7aa6c2'), ('pilot', 'sketch and pilot rows', '#1f5f8b'),
               ('pilot + 1 scan', 'and one Lloyd scan', '#0b2f4a')]
    figure, axis = plt.subplots(figsize=(9, 4.2))
    for c, (column, label, colour) in enumerate(columns):
        axis.bar([i + 0.2 * c - 0.3 for i in range(len(rows))], [float(r[column + ' mean']) - 1 for r in rows], 0.2, label=label, color=colour)
    axis.set_xticks(range(len(rows)), [r['data'] for r in rows], rotation=35, ha='right')
    axis.set_ylim(-0.005, 0.12)
    axis.set_ylabel('SSE above the best of 5 Lloyd runs')
    axis.yaxis.set_major_formatter(lambda v, _: f'{100 * v:.0f} %')
    axis.legend(frameon=False)
    axis.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    save(figure, f'{docs}/quality.svg')


def speed(results, docs):
    steps = [(r[1], float(r[2])) for r in csv.reader(open(f'{results}/speed.csv')) if r[0] == 'today s']
    figure, axis = plt.subplots(figsize=(8, 3.2))
    axis.barh([s[0] for s in steps][::-1], [s[1] for s in steps][::-1],
              color=['#1f5f8b' if s[0].startswith('fastclust') else '#bbbbbb' for s in steps][::-1])
    for i, (_, seconds) in enumerate(steps[::-1]):
        axis.text(seconds, i, f' {seconds:.2f} s', va='center')
    axis.set_xlabel('seconds, a million rows, 10 clusters in 10 dimensions')
    axis.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    save(figure, f'{docs}/speed.svg')


if __name__ == '__main__':
    quality(*sys.argv[1:3])
    speed(*sys.argv[1:3])
