"""Writes src/TUNED.md: the effects of halving and doubling each tuned number of the core on quality
and CPU time.

python3 bench/tuned.py [--again GROUP,..]

Run make first, which builds the objects of the core. bench/tuned.csv lists the numbers: group, file
below src/core, name, unit and purpose. The name is that of a #define, of a static array, whose
numbers all change together, or of a named field, such as [FC_BALANCED].breath. For each number
the core is built twice in a copy of the sources, with half and with double of the value.
bench/tuned.c then measures the group with the original core and with both variants, in turn.
Integers are rounded down, but not below 1. A value that does not compile or run is reported.
bench/results/tuned.csv keeps the figures; a group that it has is measured again only with --again.
Good: neither half nor double is clearly better.
"""
import argparse
import csv
import datetime
import os
import platform
import re
import shutil
import statistics
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
NUMBER = r'(?:0x[0-9a-fA-F.]+(?:p[-+]?\d+)?|\d+(?:\.\d*)?(?:e[-+]?\d+)?|\.\d+)f?'

# Groups: name in bench/tuned.c, figures (name, heading, kind), programs that measure it at length.
# Kinds: ratio (relative change), share (difference), same (any change is an error).
GROUPS = {
    'kmeans': ('kmeans', [('sse', 'SSE', 'ratio')], 'kmeans.py, many_starts.sh'),
    'number': ('number', [('found', 'found', 'share'), ('clear', 'clear', 'share'), ('split', 'split', 'share')], 'number.py'),
    'decode': ('decode', [('residual', 'residual', 'ratio'), ('sse', 'SSE', 'ratio')], 'decoders.py'),
    'sketch': ('decode', [('sse', 'SSE', 'ratio')], 'decoders.py, quality.py'),
    'drift': ('drift', [('false_5', 'false', 'share'), ('power', 'power', 'share'), ('alarms', 'alarms', 'share'), ('delay', 'delay', 'share')],
              'drift.py, change_points.py'),
    'density': ('density', [('index', 'index', 'share'), ('split', 'split', 'share')], 'density.py'),
    'labels': ('labels', [('given_up', 'left over', 'share'), ('measured', 'distances', 'ratio'), ('labels', 'labels', 'same')],
               'pruning.c, rows.py, assignment.py'),
    'factors': ('factors', [('values', 'values', 'ratio'), ('sse', 'SSE', 'ratio'), ('values_auto', 'values kept', 'ratio'),
                            ('agreement', 'agreement', 'share')], 'factors.py, palm.c'),
}
MEANING = {
    'kmeans': 'SSE: geometric mean over 84 sets (2 to 160 dimensions, 5 to 600 clusters; apart, overlapping, even, on a surface, unequal)',
    'number': 'found: share of 72 mixtures whose number is found; clear: share said to be clear; split: share of 24 even laws said to be clusters',
    'decode': 'residual: geometric mean over 66 sketches, relative to their length; SSE: of decoded centroids, over that of k-means of the rows',
    'sketch': 'SSE: as of decode; time is that of choosing a spec, of sketching and of decoding',
    'drift': 'false: share of 400 p-values below 5 % without a change; power: share below 1 % of 1200 with one; '
             'alarms: a year of days without a change; delay: days until a shift by a quarter deviation is found, 10 at most',
    'density': 'index: mean adjusted Rand index of 27 sets of shapes, noise a label of its own; split: share of 15 even laws that are split',
    'labels': 'left over: share of rows that bounds leave to a matrix product, and distances: measured for a row, each summed over the sets with '
              'bounds; time is a geometric mean over eight sets; '
              'the labels never change',
    'factors': 'values: stored over k d by products trained with the rows; SSE: over that of dense centroids; values kept, agreement: of '
               'products chosen afterwards, and the share of labels that stays',
}


def constants():
    with open(os.path.join(ROOT, 'bench/tuned.csv')) as f:
        return list(csv.DictReader(f))


def changed(token, factor):
    if re.fullmatch(r'\d+', token):
        return str(max(1, int(int(token) * factor)))
    return f'({factor}f * {token})' if token.endswith('f') and not token.startswith('0x') else f'({factor} * {token})'


def place_of(text, name):
    """Returns the begin and end of a constant's value in the text."""
    field = re.fullmatch(r'\[(\w+)\]\.(\w+)', name)
    if field:
        found = re.search(rf'\[{field[1]}\] = \{{[^}}]*?\.{field[2]} = ({NUMBER})', text)
    else:
        found = re.search(rf'#define[ \t]+{name}[ \t]+((?:\(\(\w+\) )?{NUMBER}\)?|\([^\n]*\))', text) or \
            re.search(rf'\b{name}\[\w*\] = \{{([^}}]*)\}}', text)
    if not found:
        raise SystemExit(f'tuned: no constant {name}')
    return found.span(1)


def value_of(text, name):
    begin, end = place_of(text, name)
    return re.sub(r'^\((?:\(\w+\) )?(.*)\)$', r'\1', text[begin:end]).strip()


def variant(text, name, factor):
    begin, end = place_of(text, name)
    value = text[begin:end]
    cast = re.fullmatch(rf'(\(\(\w+\) )({NUMBER})(\))', value)
    if cast:
        value = cast[1] + changed(cast[2], factor) + cast[3]
    elif value.startswith('('):
        value = f'({factor} * {value})'
    else:
        value = re.sub(NUMBER, lambda m: changed(m[0], factor), value)
    return text[:begin] + value + text[end:]


class Tree:
    """A copy of the sources with their objects."""
    def __init__(self, folder):
        self.folder = folder
        for part in ('src/core', 'src/pg/base', 'bench', 'test/unit'):
            shutil.copytree(os.path.join(ROOT, part), os.path.join(folder, part))
        for name in ('Makefile', 'fastclust.control'):
            shutil.copy2(os.path.join(ROOT, name), folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, program):
        objects = sorted(os.path.join('src/core', room, file) for room in os.listdir(self.path('src/core'))
                         if os.path.isdir(self.path('src/core/' + room)) for file in os.listdir(self.path('src/core/' + room)) if file.endswith('.o'))
        run(['make', '-s', *objects], self.folder)
        blas = ['src/pg/base/blas_library.o', 'src/pg/base/blas_stubs.o']
        run(['gcc', '-std=gnu11', '-O2', '-march=native', '-ffp-contract=fast', '-Isrc/core', '-Isrc', 'bench/tuned.c',
             'test/unit/blas_failure.c', *objects, *blas, '-ldl', '-lm', '-o', program], self.folder)


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stdout[-400:])


def measure(program, group, seed=1):
    """Returns the figures of a group by name, with all CPU seconds summed as cpu, or None if the
    program fails."""
    environment = os.environ | {'OPENBLAS_NUM_THREADS': '1'}
    try:
        done = subprocess.run([program, GROUPS[group][0], str(seed)], stdout=subprocess.PIPE, text=True, env=environment, timeout=300)
    except subprocess.TimeoutExpired:
        return None
    if done.returncode != 0:
        return None
    lines = [line.split() for line in done.stdout.splitlines()]
    return {name: float(x) for name, x in lines if not name.startswith('cpu')} | {'cpu': sum(float(x) for name, x in lines if name.startswith('cpu'))}


class Figures:
    """Measurements kept in a CSV file: group, file, name, variant (base, half or double; seed for
    the group's noise), figures."""
    COLUMNS = ['group', 'file', 'name', 'variant', 'figures']

    def __init__(self, path, again):
        self.path, self.rows = path, []
        if os.path.exists(path):
            with open(path) as f:
                self.rows = [row for row in csv.DictReader(f) if row['group'] not in again]

    def add(self, group, constant, kind, measured):
        shown = ' '.join(f'{name}={value:.6g}' for name, value in (measured or {'failed': 1}).items())
        self.rows.append(dict(zip(self.COLUMNS, [group, constant['file'], constant['name'], kind, shown])))
        with open(self.path, 'w') as f:
            writer = csv.DictWriter(f, self.COLUMNS, lineterminator='\n')
            writer.writeheader()
            writer.writerows(self.rows)

    def all(self, group, kind, constant=None):
        return [{name: float(x) for name, x in (pair.split('=') for pair in row['figures'].split())} for row in self.rows
                if (row['group'], row['variant']) == (group, kind) and
                (constant is None or (row['file'], row['name']) == (constant['file'], constant['name']))]

    def get(self, group, constant, kind):
        return (self.all(group, kind, constant) or [{}])[0]


def measure_all(listed, figures):
    """Measures the constants that have no figures yet."""
    listed = [c for c in listed if not figures.get(c['group'], c, 'double')]
    if not listed:
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Tree(os.path.join(folder, 'tree'))
        base, other = os.path.join(folder, 'base'), os.path.join(folder, 'other')
        tree.build(base)
        for constant in listed:
            group, path = constant['group'], tree.path('src/core/' + constant['file'])
            if not figures.all(group, 'seed'):
                for seed in (2, 3, 4):
                    figures.add(group, {'file': '', 'name': ''}, 'seed', measure(base, group, seed))
            with open(path) as f:
                text = f.read()
            figures.add(group, constant, 'base', measure(base, group))
            for kind, factor in (('half', .5), ('double', 2)):
                measured = None
                with open(path, 'w') as f:
                    f.write(variant(text, constant['name'], factor))
                try:
                    tree.build(other)
                    measured = measure(other, group)
                except RuntimeError as error:
                    print(constant['name'], kind, error)
                figures.add(group, constant, kind, measured)
            with open(path, 'w') as f:
                f.write(text)
            print(constant['name'], flush=True)


# ---- the table ----

def signed(x, form, unit=''):
    shown = form % x
    return '=' if float(shown) == 0 else ('+' if x > 0 else '') + shown + unit


def cells(group, base, other):
    if 'failed' in other:
        return ['fails', '']
    quality = []
    for name, _, kind in GROUPS[group][1]:
        if kind == 'same':
            if other[name] != base[name]:
                quality.append('labels differ')
        else:
            quality.append(signed(100 * (other[name] / base[name] - 1), '%.2f', ' %') if kind == 'ratio' else signed(other[name] - base[name], '%.3f'))
    return [', '.join(quality), signed(100 * (other['cpu'] / base['cpu'] - 1), '%.0f', ' %')]


def idle(group, base, others, noise):
    """Returns whether neither variant changes a ratio by 0.1 %, a share by 0.005, or the time by
    more than the noise."""
    for other in others:
        if 'failed' in other or abs(other['cpu'] / base['cpu'] - 1) > noise:
            return False
        for name, _, kind in GROUPS[group][1]:
            if abs(other[name] - base[name]) > (.001 * base[name] if kind == 'ratio' else .005):
                return False
    return True


def write_table(listed, figures, path):
    machine = next((line.split(':')[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')), platform.machine())
    idlers, lines = [], []
    for group in GROUPS:
        rows = [c for c in listed if c['group'] == group and figures.get(group, c, 'double')]
        if not rows:
            continue
        plain = figures.all(group, 'base')
        base = {name: statistics.median(one[name] for one in plain) for name in plain[0]}
        times = [one['cpu'] for one in plain]
        noise = max(.03, 2 * statistics.stdev(times) / base['cpu'])
        kept = []
        for c in rows:
            with open(os.path.join(ROOT, 'src/core', c['file'])) as f:
                value = value_of(f.read(), c['name'])
            half, double = figures.get(group, c, 'half'), figures.get(group, c, 'double')
            line = [f"`{c['name']}`", f"`{c['file']}`", f"{value} {c['unit']}", c['decides'], *cells(group, base, half), *cells(group, base, double)]
            if idle(group, base, (half, double), noise):
                idlers.append(f"- `{c['name']}` of `{c['file']}`, {value} {c['unit']}: {c['decides']} ({group}).")
            else:
                kept.append('| ' + ' | '.join(line) + ' |')
        seeds = [[one[name] for one in figures.all(group, 'seed')] for name, _, kind in GROUPS[group][1] if kind != 'same']
        shown = ', '.join(f'{heading} {base[name]:.4g}' for name, heading, kind in GROUPS[group][1] if kind != 'same')
        chance = ', '.join(f'{statistics.stdev(values):.2g}' for values in seeds if len(values) > 1)
        program, _, server = GROUPS[group]
        headings = ', '.join(heading for _, heading, kind in GROUPS[group][1] if kind != 'same')
        lines += [f'## {group}', '', f'`tuned {program}`; other programs: {", ".join(f"`bench/{name}`" for name in server.split(", "))}.',
                  f'{MEANING[group][0].upper() + MEANING[group][1:]}.', f'With the values of the source: {shown}, {base["cpu"]:.2f} s. '
                  f'Standard deviations between seeds: {chance}; two of the time: {100 * noise:.0f} %.', '']
        if kept:
            lines += [f'| name | file | value | decides | half: {headings} | CPU | double: {headings} | CPU |', '| --- ' * 8 + '|', *kept, '']
    with open(path, 'w') as f:
        f.write('# Tuned numbers\n\nThe numbers of the core that matter most, and what half and double of each do to quality and CPU time, '
                'relative to the value in the source.\nThe list is in `bench/tuned.csv`; `bench/tuned.c` has the rows, and this command writes this page:\n\n'
                '```\nmake && nice python3 bench/tuned.py\n```\n\n'
                f'Measured on {machine}, {os.cpu_count()} processors with other work, {datetime.date.today()}. Ratios and times change by per cent, '
                'shares and counts by a difference; `=` is no change. Integers are rounded down and stay 1 at least.\n\n' + '\n'.join(lines))
        if idlers:
            f.write('\n## Without effect here\n\nNeither half nor double changes a ratio by 0.1 %, a share by 0.005, or the time by more than chance. '
                    'Candidates to simplify, once larger sets agree.\n\n' + '\n'.join(idlers) + '\n')


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument('--again', default='')
    listed = constants()
    figures = Figures(os.path.join(ROOT, 'bench/results/tuned.csv'), set(filter(None, options.parse_args().again.split(','))))
    measure_all(listed, figures)
    write_table(listed, figures, os.path.join(ROOT, 'src/TUNED.md'))


if __name__ == '__main__':
    main()
