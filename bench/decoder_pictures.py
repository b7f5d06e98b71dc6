"""Draws DOCS/decode-*.svg from the CSV files of decoders.py: decoder_pictures.py RESULTS DOCS"""
import os
import sys

import matplotlib

matplotlib.use('Agg')
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

plt.rcParams['svg.hashsalt'] = 'fastclust'
STYLE = {'auto': ('#0b2f4a', '-'), 'clompr': ('#1f5f8b', '-'), 'clompr, as in the paper': ('#c44e52', '--'), 'shift': ('#55a868', '-'),
         'shift, gaussian': ('#8172b2', '-'), 'discretized': ('#bbbbbb', '-'), 'shift, 10 starts': ('#c7e3cc', '-'),
         'shift, 100 starts': ('#93cba0', '-'), 'shift, 1000 starts': ('#55a868', '-')}
CEILING = 6


def lines(axis, data, over, by='decoder'):
    means = data.groupby([by, over], sort=False).rse.mean()
    for name in data[by].unique():
        colour, dash = STYLE.get(name, (None, '-'))
        series = means[name].sort_index()
        axis.plot(series.index, series.clip(upper=CEILING), dash, color=colour, label=str(name), linewidth=1.5)
    axis.set_yscale('log')
    axis.set_ylim(.93, CEILING)
    axis.set_yticks([1, 1.5, 2, 3, 5], ['1', '1.5', '2', '3', '5'])
    axis.minorticks_off()
    axis.axhline(1, color='#dddddd', linewidth=.8, zorder=0)
    axis.spines[['top', 'right']].set_visible(False)


def finish(figure, axes, path, xlabel, ylabel='SSE / SSE of k-means'):
    flat = axes.ravel()
    handles, labels = flat[-1].get_legend_handles_labels()
    figure.supxlabel(xlabel, fontsize=10)
    figure.supylabel(ylabel, fontsize=10)
    width, height = figure.get_size_inches()
    columns = min(len(labels), max(1, int(width / 2)))
    lines = -(-len(labels) // columns)
    figure.legend(handles, labels, loc='upper center', ncols=columns, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0, 1, 1 - .25 * lines / height))
    figure.savefig(path, metadata={'Date': None})
    plt.close(figure)


def size(data, path):
    ks, ns = sorted(data.k.unique()), sorted(data.n.unique())
    figure, axes = plt.subplots(len(ns), len(ks), figsize=(9, 7), sharex=True, sharey=True)
    for i, n in enumerate(ns):
        for j, k in enumerate(ks):
            lines(axes[i, j], data[(data.k == k) & (data.n == n)], 'ratio')
            axes[i, j].set_title(f'k = {k}, n = {n}', fontsize=9)
    finish(figure, axes, path, 'frequencies / (k n)')


def over_sigma(data, path):
    panels = list(data.groupby('m', sort=False))
    figure, axes = plt.subplots(1, len(panels), figsize=(3 * len(panels) + .5, 3.6), sharey=True, squeeze=False)
    for axis, (m, part) in zip(axes[0], panels):
        lines(axis, part[part.sigma > 0], 'sigma')
        axis.set_xscale('log')
        axis.set_title(f'm = {m}', fontsize=9)
    finish(figure, axes, path, 'sigma')


def model(data, path):
    data = data.assign(decoder=data.decoder + ', m = ' + data.m.astype(str))
    figure, axes = plt.subplots(2, 2, figsize=(8, 6), sharex=True, sharey=True)
    for i, kind in enumerate(('shift', 'shift, gaussian')):
        for j, clusters in enumerate(('far', 'near')):
            part = data[(data.clusters == clusters) & data.decoder.str.fullmatch(kind + r', m = \d+')]
            lines(axes[i, j], part.assign(decoder=part.decoder.str.replace(kind + ', ', '', regex=False)), 'sigma')
            axes[i, j].set_xscale('log')
            axes[i, j].set_title(f"{clusters} clusters, {'points' if i == 0 else 'Gaussians'}", fontsize=9)
    finish(figure, axes, path, 'sigma')


def starts(data, path):
    figure, axes = plt.subplots(1, 2, figsize=(7.5, 3.4), sharey=True)
    for axis, sigma in zip(axes, sorted(data.sigma.unique())):
        lines(axis, data[data.sigma == sigma].assign(decoder=lambda d: d.starts.astype(str) + ' starts'), 'n')
        axis.set_title(f'sigma = {sigma}', fontsize=9)
    finish(figure, axes, path, 'dimensions')


def rows(data, path):
    figure, axis = plt.subplots(figsize=(7, 3.8))
    for name, part in data.groupby('method', sort=False):
        seconds = part.groupby('rows').seconds.median()
        axis.plot(seconds.index, seconds, label=name, color='#0b2f4a' if 'decode' in name else '#bbbbbb',
                  linestyle='--' if 'alone' in name or '5' in name else '-')
    axis.set_xscale('log')
    axis.set_yscale('log')
    axis.set_xlabel('rows')
    axis.set_ylabel('seconds')
    axis.legend(frameon=False)
    axis.spines[['top', 'right']].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={'Date': None})
    plt.close(figure)


def growth(data, path):
    """Draws the seconds of decode over k, n and m around k = 10, n = 10, m = 1000, each with the
    exponent of a power-law fit."""
    base = {'k': 10, 'n': 10, 'm': 1000}
    figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharey=True)
    for axis, along in zip(axes, base):
        others = [name for name in base if name != along]
        part = data[(data[others] == [base[name] for name in others]).all(axis=1)]
        for name, series in part.groupby('decoder', sort=False):
            seconds = series.groupby(along).seconds.median()
            exponent = np.polyfit(np.log(seconds.index), np.log(seconds), 1)[0]
            axis.plot(seconds.index, seconds, 'o-', color=STYLE[name][0], label=f'{name}: {along}^{exponent:.2f}', linewidth=1.5, markersize=3)
        axis.set_xscale('log')
        axis.set_yscale('log')
        axis.set_xlabel(along)
        axis.set_xticks(seconds.index, [str(tick) for tick in seconds.index])
        axis.minorticks_off()
        axis.legend(frameon=False, fontsize=8)
        axis.spines[['top', 'right']].set_visible(False)
    axes[0].set_ylabel('seconds')
    figure.tight_layout()
    figure.savefig(path, metadata={'Date': None})
    plt.close(figure)


def main(results, docs):
    def load(name):
        path = f'{results}/{name}.csv'
        return pd.read_csv(path) if os.path.exists(path) and os.path.getsize(path) > 100 else None

    pictures = {'size': size, 'model': model, 'starts': starts, 'rows': rows, 'growth': growth, 'spectral': over_sigma,
                'width2': over_sigma, 'width6': over_sigma}
    for name, draw in pictures.items():
        data = load(name)
        if data is not None:
            draw(data, f'{docs}/decode-{name}.svg')


if __name__ == '__main__':
    main(*sys.argv[1:3])
