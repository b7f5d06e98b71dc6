"""pictures.py RESULTS DOCS: docs/quality.svg from bench/results/quality.csv, docs/speed.svg from RESULTS/speed.csv if it is there."""
import csv
import os
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
    """Bars of each set's SSE above Lloyd's; what does not fit is cut, with its figure on top."""
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
    results, docs = sys.argv[1:3]
    quality(QUALITY, docs)
    if os.path.exists(f'{results}/speed.csv'):
        speed(results, docs)
