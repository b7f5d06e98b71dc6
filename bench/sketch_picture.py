"""Draws docs/sketch.svg, which shows how rows become a sketch and a sketch becomes centroids:
python3 bench/sketch_picture.py docs

Only the standard library is needed. The rows are three blobs. Each arrow of the middle panel is
the mean of one wave over the rows, z_j = mean exp(i omega_j . x). The right panel is the density
that these means determine, f(c) = mean_j Re(conj(z_j) exp(i omega_j . c)), with its three highest
modes; it is computed without the rows.
"""
import cmath
import math
import random
import sys

BLOBS = [(-1.6, -0.9), (1.5, -1.2), (0.2, 1.5)]
WIDTH, SIGMA = 0.42, 0.55                                   # scale of a blob, scale of the waves
ROWS, WAVES, SHOWN = 240, 256, 64
BLUE, DARK, RED, GREY = '#7aa6c2', '#0b2f4a', '#c44e52', '#666666'
HALF = 3.0                                                  # half the side of a panel
SIZE, GAP, TOP = 240, 90, 34


def rows_of(source):
    return [(cx + WIDTH * source.gauss(0, 1), cy + WIDTH * source.gauss(0, 1)) for i in range(ROWS) for cx, cy in [BLOBS[i % 3]]]


def sketch_of(rows, omegas):
    return [sum(cmath.exp(1j * (a * x + b * y)) for x, y in rows) / len(rows) for a, b in omegas]


def density(z, omegas, x, y):
    return sum((v.conjugate() * cmath.exp(1j * (a * x + b * y))).real for v, (a, b) in zip(z, omegas)) / len(z)


def modes(z, omegas):
    """Returns the three highest points of a grid that are more than 1 apart, each moved uphill by
    small steps."""
    grid = [(HALF * i / 20, HALF * j / 20) for i in range(-20, 21) for j in range(-20, 21)]
    found = []
    for x, y in sorted(grid, key=lambda c: -density(z, omegas, *c)):
        if all(math.dist((x, y), other) > 1 for other in found):
            found.append((x, y))
        if len(found) == 3:
            break
    step = 0.08
    while step > 0.005:
        found = [max(((x + i * step, y + j * step) for i in (-1, 0, 1) for j in (-1, 0, 1)), key=lambda c: density(z, omegas, *c)) for x, y in found]
        step /= 1.5
    return found


def place(panel, x, y):
    return panel * (SIZE + GAP) + SIZE * (x + HALF) / (2 * HALF), TOP + SIZE * (HALF - y) / (2 * HALF)


def text(x, y, words, size=13, colour=DARK, anchor='middle'):
    return f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def arrow(x1, y1, x2, y2, colour, width, head):
    angle = math.atan2(y2 - y1, x2 - x1)
    tips = [(x2 - head * math.cos(angle + s), y2 - head * math.sin(angle + s)) for s in (-.45, .45)]
    points = ' '.join(f'{x:.1f},{y:.1f}' for x, y in [tips[0], (x2, y2), tips[1]])
    return (f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{colour}" stroke-width="{width}"/>'
            f'<polygon points="{points}" fill="{colour}"/>')


def waves(z):
    """Returns SVG of one circle for each wave, long waves first, with an arrow that is the mean of
    the wave over all rows."""
    parts, columns = [], 8
    cell = SIZE / columns
    for i, value in enumerate(z[::WAVES // SHOWN]):
        x = SIZE + GAP + cell * (i % columns + .5)
        y = TOP + cell * (i // columns + .5)
        radius = 0.42 * cell
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="none" stroke="#dddddd"/>')
        parts.append(arrow(x, y, x + radius * value.real, y - radius * value.imag, DARK, 1.5, 4))
    return parts


def heat(z, omegas, cells=40):
    parts = []
    side = SIZE / cells
    for i in range(cells):
        for j in range(cells):
            x, y = HALF * (2 * (i + .5) / cells - 1), HALF * (2 * (j + .5) / cells - 1)
            strength = max(0, density(z, omegas, x, y)) / 0.26
            if strength > 0.06:
                px, py = place(2, x, y)
                parts.append(f'<path d="M{px - side / 2:.1f} {py - side / 2:.1f}h{side}v{side}h-{side}" opacity="{min(1, strength):.2f}"/>')
    return [f'<g fill="{BLUE}" shape-rendering="crispEdges">'] + parts + ['</g>']


def main():
    source = random.Random(7)
    rows = rows_of(source)
    omegas = sorted([(source.gauss(0, 1) / SIGMA, source.gauss(0, 1) / SIGMA) for _ in range(WAVES)], key=lambda w: math.hypot(*w))
    z = sketch_of(rows, omegas)
    width, height = 3 * SIZE + 2 * GAP, TOP + SIZE + 52
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 0 {width + 20} {height}" width="{width + 20}" height="{height}" '
             f'font-family="DejaVu Sans, Helvetica, sans-serif">', f'<rect x="-10" width="{width + 20}" height="{height}" fill="white"/>']
    for panel, (title, note) in enumerate([('rows', 'any number of them'), ('sketch', 'means of random waves: kilobytes'),
                                           ('centroids', 'from the sketch alone')]):
        left, top = place(panel, -HALF, HALF)
        parts.append(f'<rect x="{left:.1f}" y="{top:.1f}" width="{SIZE}" height="{SIZE}" fill="none" stroke="#dddddd"/>')
        parts.append(text(left + SIZE / 2, 22, f'<tspan font-weight="bold">{title}</tspan>', 15))
        parts.append(text(left + SIZE / 2, TOP + SIZE + 20, note, 12, GREY))
    for x, y in rows:
        px, py = place(0, x, y)
        parts.append(f'<circle cx="{px:.1f}" cy="{py:.1f}" r="2" fill="{BLUE}"/>')
    parts += waves(z) + heat(z, omegas)
    for x, y in modes(z, omegas):
        px, py = place(2, x, y)
        parts.append(f'<path d="M{px - 6:.1f} {py:.1f}h12M{px:.1f} {py - 6:.1f}v12" stroke="{RED}" stroke-width="3"/>')
    for panel, words in enumerate(['one scan', 'decode']):
        x, y = place(panel, HALF, 0)
        parts.append(arrow(x + 12, y, x + GAP - 12, y, GREY, 2, 9))
        parts.append(text(x + GAP / 2, y - 10, words, 12, GREY))
    parts.append(text(width / 2, height - 8, 'sketches add and subtract: day + day = both days', 12, GREY))
    parts.append('</svg>\n')
    with open(f'{sys.argv[1]}/sketch.svg', 'w') as out:
        out.write('\n'.join(parts))


if __name__ == '__main__':
    main()
