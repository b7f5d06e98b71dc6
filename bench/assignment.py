"""Measures the time to assign a row by dense and by factored operators over (k, d), and draws it.

assignment.py KERNEL OUT.svg [--csv FILE]

KERNEL is the program built from kernel.c (bench/run.sh builds it).
Single rows are compared with sgemv, and batches of 256 rows with sgemm. A factored operator is a
product of log2(min(k, d)) random sparse factors with s entries in each row and column of the
longer side. For each (k, d) all variants run in one process. Each figure is the minimum of several
rounds.
Good: a factored operator is faster than the dense one from a moderate size on.
"""
import argparse
import csv
import subprocess

import matplotlib

matplotlib.use('svg')
import matplotlib.pyplot as plt

POINTS = [(30, 784), (128, 2000), (256, 2352), (512, 2000), (1024, 1024), (4096, 1024)]


def measure(kernel, k, d, s):
    out = subprocess.run([kernel, 'product', str(k), str(d), str(s)], check=True, capture_output=True, text=True).stdout
    return {key: float(value) / (1 if key == 'nonzeros' else 1e3) for key, value in (line.split() for line in out.splitlines())}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('kernel')
    parser.add_argument('svg')
    parser.add_argument('--csv')
    args = parser.parse_args()
    rows = [(k, d, s, measure(args.kernel, k, d, s)) for k, d in POINTS for s in (2, 5)]
    print('| k, d | s | values | sgemv | one row | ratio | sgemm | batch | ratio |\n|---|---|---|---|---|---|---|---|---|')
    for k, d, s, m in rows:
        print(f"| {k}, {d} | {s} | {m['nonzeros']:.0f} | {m['sgemv']:.2f} | {m['single']:.2f} | {m['sgemv'] / m['single']:.1f} | "
              f"{m['sgemm']:.2f} | {m['batch']:.2f} | {m['sgemm'] / m['batch']:.1f} |")
    if args.csv:
        with open(args.csv, 'w', newline='') as file:
            writer = csv.writer(file)
            writer.writerow(['k', 'd', 's'] + list(rows[0][3]))
            writer.writerows([k, d, s] + list(m.values()) for k, d, s, m in rows)
    plt.rcParams.update({'svg.hashsalt': 'fastclust', 'font.size': 9})
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), sharey=True)
    names = [f'{k}\n{d}' for k, d in POINTS]
    for axis, dense, fast, title in ((axes[0], 'sgemv', 'single', 'one row'), (axes[1], 'sgemm', 'batch', 'batches of 256 rows')):
        axis.plot(names, [m[dense] for _, _, s, m in rows if s == 2], 'k-o', label=f'dense ({dense})')
        for s, style in ((5, 'C1-s'), (2, 'C0-^')):
            axis.plot(names, [m[fast] for _, _, t, m in rows if t == s], style, label=f'factors, s = {s}')
        axis.set_yscale('log')
        axis.set_xlabel('k, d')
        axis.set_title(title)
        axis.grid(alpha=0.3)
        axis.legend(frameon=False)
    axes[0].set_ylabel('microseconds a row')
    figure.tight_layout()
    figure.savefig(args.svg, metadata={'Date': None})


if __name__ == '__main__':
    main()
