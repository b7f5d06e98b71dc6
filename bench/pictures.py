"""Draws DOCS/quality.svg from bench/results/quality.csv, and DOCS/speed.svg from a table of
DOCS/benchmarks.md: pictures.py DOCS
"""
import csv
import os
import re
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt

plt.rcParams['svg.hashsalt'] = 'fastclust'
QUALITY = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'results', 'quality.csv')
CEILING = 12


def save(figure, path):
    figure.savefig(path, metadata={'Date': None})


def quality(source, docs):
    """Draws for each set bars of the SSE above that of Lloyd's algorithm. A bar that does not fit
    is cut, and its figure is on top."""
    rows = list(csv.DictReader(open(source)))
    columns = [('1000 rows', 'k-means on 1000 rows', '#bbbbbb'), ('sketch', 'sketch', '#7aa6c2'), ('pilot', 'sketch and sample rows', '#1f5f8b'),
               ('pilot + 1 scan', 'sketch, sample rows, one scan', '#0b2f4a')]
    figure, axis = plt.subplots(figsize=(10, 4.8))
    for c, (column, label, colour) in enumerate(columns):
        heights = [100 * (float(r[column + ' mean']) - 1) for r in rows]
        places = [i + 0.2 * (c - 1.5) for i in range(len(rows))]
        axis.bar(places, [min(h, CEILING) for h in heights], 0.2, label=label, color=colour)
        for place, height in zip(places, heights):
            if height > CEILING:
                axis.text(place, CEILING + 0.1, f'{height:.0f} %', ha='center', fontsize=8)
    axis.set_xticks(range(len(rows)), [r['data'] for r in rows], rotation=35, ha='right')
    axis.set_ylim(-1, CEILING + 0.6)
    axis.axhline(0, color='#444444', linewidth=.8)
    axis.set_ylabel('SSE above the best of five Lloyd runs, %')
    axis.legend(frameon=False, ncols=4, loc='lower center', bbox_to_anchor=(.5, 1))
    axis.spines[['top', 'right', 'bottom']].set_visible(False)
    figure.tight_layout()
    save(figure, f'{docs}/quality.svg')


def speed(docs):
    """Draws pairs of bars from the lines for a million rows in the table of docs/benchmarks.md."""
    rows = re.findall(r'^\| 1 000 000 x 10, (k = \d+): .* \| ([0-9.]+) \| export.* \| ([0-9.]+) \|', open(f'{docs}/benchmarks.md').read(), re.M)
    figure, axis = plt.subplots(figsize=(8, 3.2))
    for shift, column, label, colour in ((-.2, 1, 'fastclust: train, write_labels', '#1f5f8b'), (.2, 2, 'export, fit in scikit-learn, write labels back', '#bbbbbb')):
        seconds = [float(r[column]) for r in rows]
        places = [i + shift for i in range(len(rows))]
        axis.barh(places, seconds, .38, label=label, color=colour)
        for place, s in zip(places, seconds):
            axis.text(s, place, f' {s:.1f} s', va='center')
    axis.set_yticks(range(len(rows)), [r[0] for r in rows])
    axis.invert_yaxis()
    axis.set_xlabel('seconds, a million rows in 10 dimensions')
    axis.legend(frameon=False, loc='upper right')
    axis.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    save(figure, f'{docs}/speed.svg')


if __name__ == '__main__':
    docs = sys.argv[1]
    quality(QUALITY, docs)
    speed(docs)
