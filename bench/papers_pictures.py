"""Draws docs/papers-*.svg, pictures like those of two papers: the printed statements as marks, ours
as lines.

python3 papers_pictures.py --data FOLDER [--docs DOCS]

Connects by PG* variables; `tools/with-server.sh bench/papers_pictures.py ..` after `make install`
and CREATE EXTENSION. Takes ten minutes.

papers-sigma.svg    Sketch and shift, Fig. 1(a) and 6: RSE over sigma
papers-starts.svg   Compressive K-means, Fig. 1: SSE / N of three starts, mean and deviation
"""
import argparse

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import psycopg2

import decoders
import papers_compressive
import papers_shift
import tables
from papers_shift import published
from quality import sse

plt.rcParams['svg.hashsalt'] = 'fastclust'
BLUE, RED, GREEN, GREY = '#1f5f8b', '#c44e52', '#55a868', '#bbbbbb'
CEILING = 30


def sigma_picture(path):
    """Draws four panels: d = 2 with m = 30 and 1000 (Fig. 1(a)), d = 6 with m = 200 and 1000 (Fig. 6)."""
    sigmas = [.03, .05, .07, .1, .15, .2, .3, .4, .5, .8]
    figure, axes = plt.subplots(1, 4, figsize=(11, 3.4), sharey=True)
    for row, (d, sizes, figure_of) in enumerate(((2, (30, 1000), 'Fig. 1(a)'), (6, (200, 1000), 'Fig. 6'))):
        x = tables.three_clusters(d, 20000, 0)
        decoders.load(x)
        choices = {'Algorithm 2, L = 1000': published('shift', starts=1000), 'CL-OMPR': published('clompr'), 'auto (default)': ('auto', {})}
        rse = papers_shift.means(x, 3, sizes, sigmas, choices, 5)
        for column, m in enumerate(sizes):
            axis = axes[2 * row + column]
            for (name, colour) in zip(choices, (GREEN, RED, BLUE)):
                values = rse[m, name]
                axis.plot(list(values), np.minimum(list(values.values()), CEILING), '-', color=colour, label=name, linewidth=1.5)
            window = (.03, .3) if d == 2 else (.1, .3)
            axis.plot(window, (1, 1), color=GREEN, alpha=.3, linewidth=8, solid_capstyle='butt', label='printed, Algorithm 2: as Lloyd', zorder=0)
            if d == 2 and m == 1000:
                axis.plot([.3], [1], 'o', color=RED, alpha=.5, markersize=9, label='printed, CL-OMPR: close to Lloyd', zorder=0)
            if d == 6 or m == 30:
                axis.axhspan(2 if d == 6 else 1.1, CEILING, color=RED, alpha=.07, zorder=-1, linewidth=0, label='printed, CL-OMPR: above')
            axis.set_title(f'{figure_of}: d = {d}, m = {m}', fontsize=9)
            axis.set_xscale('log')
            axis.set_yscale('log')
            axis.set_ylim(.9, CEILING)
            axis.set_xticks([.03, .1, .3, .8], ['.03', '.1', '.3', '.8'])
            axis.set_yticks([1, 2, 5, 10, 20], ['1', '2', '5', '10', '20'])
            axis.minorticks_off()
            axis.spines[['top', 'right']].set_visible(False)
    handles = {}
    for axis in axes:
        handles.update(dict(zip(*axis.get_legend_handles_labels()[::-1])))
    figure.legend(handles.values(), handles.keys(), loc='upper center', ncols=3, frameon=False, fontsize=8)
    figure.supxlabel('sigma', fontsize=9)
    figure.supylabel('RSE', fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, .86))
    figure.savefig(path, metadata={'Date': None})
    plt.close(figure)


def starts_picture(path, data):
    """Draws the mean and the deviation of SSE / N over three starts, Gaussian data and spectral
    features of MNIST. The spectral features have a third pair of bars: four times the estimated
    scale."""
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4))
    spectral = tables.loader(data).mnist_spectral()[0].astype(np.float32)
    for axis, title, sets in ((axes[0], 'Gaussian data', [tables.ckm_mixture(10, 10, 100000, seed) for seed in range(3)]),
                              (axes[1], 'MNIST (our features)', [spectral] * 3)):
        bars = {'CKM': [], 'kmeans': [], 'CKM, four times the scale': []}
        for seed, x in enumerate(sets):
            if seed == 0 or x is not sets[seed - 1]:
                decoders.load(x)
            papers_compressive.sketch_as_printed(x, 10, 1000, seed)
            found = papers_compressive.starts_of(x, 10, seed)
            bars['CKM'].append([found[name][0] / len(x) for name in found])
            bars['kmeans'].append([found[name][1] / len(x) for name in found])
            if title.startswith('MNIST'):
                papers_compressive.sketch_as_printed(x, 10, 1000, seed, 4)
                bars['CKM, four times the scale'].append([sse(x, papers_compressive.ckm(10, seed, init)) / len(x) for init in papers_compressive.STARTS.values()])
        for i, (name, values) in enumerate((name, values) for name, values in bars.items() if values):
            axis.bar(np.arange(3) + .27 * i, np.mean(values, axis=0), .25, yerr=np.std(values, axis=0), color=(RED, GREY, BLUE)[i], label=name, capsize=2)
        axis.set_xticks(np.arange(3) + .27, list(papers_compressive.STARTS))
        axis.set_title(title, fontsize=9)
        axis.set_ylabel('SSE / N', fontsize=9)
        axis.spines[['top', 'right']].set_visible(False)
    axes[1].legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={'Date': None})
    plt.close(figure)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--data', required=True)
    parser.add_argument('--docs', default='docs')
    args = parser.parse_args()
    connection = psycopg2.connect('')
    connection.autocommit = True
    cursor = decoders.cursor = connection.cursor()
    cursor.execute('SET search_path = public, fastclust; SET client_min_messages = warning; SET max_parallel_workers_per_gather = 0')
    for paper in (papers_compressive.paper, papers_shift.paper):
        paper.cursor, paper.args = cursor, args
    sigma_picture(args.docs + '/papers-sigma.svg')
    starts_picture(args.docs + '/papers-starts.svg', args.data)


if __name__ == '__main__':
    main()
