"""Draws the pictures of DOCS that need no run: pictures.py DOCS

quality.svg, quick-means-objective.svg and live-cost.svg are drawn from the recorded runs in
bench/results, and speed.svg from a table of DOCS/benchmarks.md. kernel_clustering.py draws
kernel-rings.svg in the same style.
"""
import csv
import os
import re
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt

plt.rcParams['svg.hashsalt'] = 'fastclust'
RESULTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'results')
CEILING = 12        # percent above the reference at which bars of quality.svg are cut

# A picture is 8 inches wide, about as wide as a page of text; the text is legible at half size.
WIDTH = 8
STYLE = {'font.size': 15, 'axes.labelsize': 15, 'axes.titlesize': 15, 'xtick.labelsize': 14, 'ytick.labelsize': 14, 'legend.fontsize': 14,
         'legend.frameon': False, 'legend.handlelength': 1.2, 'axes.spines.top': False, 'axes.spines.right': False, 'axes.axisbelow': True,
         'axes.grid': True, 'grid.color': '#e4e4e4', 'grid.linewidth': .8, 'lines.linewidth': 2.2}
BLUE, DARK, LIGHT, GREY, ORANGE, GREEN = '#1f5f8b', '#0b2f4a', '#7aa6c2', '#b0b0b0', '#c96a2b', '#3f8a4f'


def save(figure, path):
    figure.savefig(path, metadata={'Date': None})


def read(name):
    with open(name, newline='') as file:
        return list(csv.DictReader(file))


def bars_of_quality(axis, rows, columns):
    """Draws the SSE above that of Lloyd's algorithm. A bar that does not fit is cut, and its figure
    is at its end."""
    for c, (column, label, colour) in enumerate(columns):
        lengths = [100 * (float(r[column + ' mean']) - 1) for r in rows]
        places = [i + 0.2 * (c - 1.5) for i in range(len(rows))]
        axis.barh(places, [min(x, CEILING) for x in lengths], 0.2, label=label, color=colour)
        for place, length in zip(places, lengths):
            if length > CEILING:
                axis.text(CEILING + .15, place, f'{length:.0f} %', va='center', fontsize=13)


def quality(source, docs):
    """Draws one group of bars for each set."""
    rows = read(source)
    columns = [('1000 rows', 'k-means on 1000 rows', GREY), ('sketch', 'sketch', LIGHT), ('pilot', 'sketch and sample rows', BLUE),
               ('pilot + 1 scan', 'sketch, sample rows, one scan', DARK)]
    figure, axis = plt.subplots(figsize=(WIDTH, 10.5))
    bars_of_quality(axis, rows, columns)
    axis.set_yticks(range(len(rows)), [r['data'] for r in rows])
    axis.set_ylim(len(rows) - .4, -.6)
    axis.set_xlim(-1.2, CEILING + 1.6)
    axis.set_xticks(range(0, CEILING + 1, 2))
    axis.axvline(0, color='#444444', linewidth=.8)
    axis.grid(axis='y', visible=False)
    axis.set_xlabel('SSE above the best of five Lloyd runs, %')
    axis.set_ylabel('data: number of clusters, dimensions')
    axis.spines['left'].set_visible(False)
    axis.tick_params(axis='y', length=0)
    figure.legend(*axis.get_legend_handles_labels(), ncols=2, loc='upper center')
    figure.tight_layout(rect=(0, 0, 1, .935))
    save(figure, f'{docs}/quality.svg')


def speed(docs):
    """Draws pairs of bars from the lines for a million rows in the table of docs/benchmarks.md."""
    rows = re.findall(r'^\| 1 000 000 x 10, (k = \d+): .* \| ([0-9.]+) \| export.* \| ([0-9.]+) \|', open(f'{docs}/benchmarks.md').read(), re.M)
    figure, axis = plt.subplots(figsize=(WIDTH, 3.9))
    for shift, column, label, colour in ((-.2, 1, 'fastclust: train, write_labels', BLUE), (.2, 2, 'export, fit in scikit-learn, write labels back', GREY)):
        seconds = [float(r[column]) for r in rows]
        places = [i + shift for i in range(len(rows))]
        axis.barh(places, seconds, .38, label=label, color=colour)
        for place, s in zip(places, seconds):
            axis.text(s, place, f' {s:.1f} s', va='center')
    axis.set_yticks(range(len(rows)), [r[0] for r in rows])
    axis.invert_yaxis()
    axis.margins(x=.12)
    axis.grid(axis='y', visible=False)
    axis.set_xlabel('seconds, a million rows in 10 dimensions')
    axis.set_ylabel('number of clusters')
    figure.legend(*axis.get_legend_handles_labels(), loc='upper center')
    figure.tight_layout(rect=(0, 0, 1, .84))
    save(figure, f'{docs}/speed.svg')


def apart(places, gap):
    """Returns ascending places, moved up until neighbours are a gap apart."""
    moved = []
    for place in places:
        moved.append(place if not moved else max(place, moved[-1] + gap))
    return moved


def quick_means(source, docs):
    """Draws the objective of each run over its iterations. The name of a run and its number of
    stored values are at the end of its line."""
    lines = {}
    for row in read(source):
        if int(row['iteration']) > 0:
            lines.setdefault((row['run'], int(row['values'])), []).append((int(row['iteration']), float(row['objective']) / 1e11))
    colours = {'k-means': 'black', '2': ORANGE, '3': GREEN, '5': BLUE}
    figure, axis = plt.subplots(figsize=(WIDTH, 5.6))
    ends = sorted((points[-1][1], run, values) for (run, values), points in lines.items())
    for (end, run, values), place in zip(ends, apart([e[0] for e in ends], .0165)):
        colour = colours[run if run == 'k-means' else run[-1]]
        axis.plot(*zip(*lines[run, values]), color=colour, linestyle=':' if run.startswith('4') else '-')
        number = f'{values:,}'.replace(',', ' ')
        axis.annotate(f'{run}: {number}', (10, end), (10.3, place), va='center', fontsize=13, color=colour, annotation_clip=False,
                      arrowprops={'arrowstyle': '-', 'color': colour, 'lw': .8, 'shrinkA': 0, 'shrinkB': 0})
    axis.set_xticks(range(1, 11))
    axis.set_xlim(1, 10)
    axis.set_xlabel('iteration')
    axis.set_ylabel(r'sum of squared distances, $10^{11}$')
    axis.set_title('objective of k-means and QuicK-means, and the number of stored values', fontsize=13, loc='left', x=-.2)
    figure.subplots_adjust(left=.125, right=.625, bottom=.13, top=.93)
    save(figure, f'{docs}/quick-means-objective.svg')


LIVE_CASES = {'COPY': 'COPY of\nall rows', 'INSERT 1000': 'INSERT of\n1,000 rows', 'INSERT 1': 'INSERT of\none row', 'UPDATE other': 'UPDATE of other\ncolumns'}


def live_cost(source, path):
    """Draws what a row costs the writers of a table, with a live sketch and without."""
    rows = read(source)
    figure, axes = plt.subplots(1, 2, figsize=(WIDTH, 4.6), sharey=True)
    place = [len(rows) - 1 - i for i in range(len(rows))]
    for axis, measure, scale_by, label in ((axes[0], 'cpu', 1e6, 'processor time of a\nrow, microseconds'), (axes[1], 'wal', 1, 'WAL of a row,\nbytes')):
        without, live = ([float(row[measure + end]) * scale_by for row in rows] for end in ('_without', '_with'))
        axis.barh([p + .19 for p in place], without, .36, color=GREY, label='without a live sketch')
        axis.barh([p - .19 for p in place], live, .36, color=BLUE, label='with a live sketch (× without)')
        for p, a, b in zip(place, without, live):
            axis.text(b, p - .19, f' ×{b / a:.2f}', va='center', fontsize=13)
        axis.set_xlabel(label)
        axis.grid(axis='y', visible=False)
        axis.margins(x=.32)
    axes[0].set_yticks(place, [LIVE_CASES[row['case']] for row in rows])
    figure.legend(*axes[0].get_legend_handles_labels(), loc='upper center', ncols=2)
    figure.tight_layout(rect=(0, 0, 1, .92))
    save(figure, path)


def main(docs):
    with plt.rc_context(STYLE):
        quality(f'{RESULTS}/quality.csv', docs)
        quick_means(f'{RESULTS}/quick_means_objective.csv', docs)
        live_cost(f'{RESULTS}/live.csv', f'{docs}/live-cost.svg')
        speed(docs)


if __name__ == '__main__':
    main(sys.argv[1])
