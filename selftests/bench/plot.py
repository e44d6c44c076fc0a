#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draw what many connections cost: SVG files, by gnuplot, of build/bench.json of a run of
make bench BED=insn ROWS=scale.

Usage: plot.py JSON FOLDER	writes FOLDER/scale-{trip,bytes,connect,memory}.svg
"""

import json
import pathlib
import re
import subprocess
import sys

TITLES = {
    "trip": "a round trip of one byte, on all connections at the same time",
    "bytes": "64 KB in messages of 16 KB, on all connections at the same time",
    "connect": "connect, a byte each way, close",
    "memory": "memory of both ends and their programs, per connection",
}
UNITS = {"kinsn": "thousands of instructions", "us": "microseconds", "KB": "KB"}
NAMES = {"tcp": "TCP", "intree": "in-tree", "ours": "ours"}
COLOURS = {"tcp": "#808080", "intree": "#c05020", "ours": "#2060a0"}
ROW = re.compile(r"(scale|spread)_([a-z]+)_(\d+)$")


def read_series(path):
    """Return {what: {(kind, label): [(connections, value)]}} and {what: unit}."""
    series, units = {}, {}
    for name, row in json.loads(path.read_text())["rows"].items():
        m = ROW.match(name)
        if not m:
            continue
        kind, what, conns = m.groups()
        units[what] = row["unit"]
        for label, value in row["medians"].items():
            lines = series.setdefault(what, {})
            lines.setdefault((kind, label), []).append((int(conns), value))
    return series, units


def commands(what, lines, unit):
    """Return gnuplot's commands for one picture, with the data within."""
    blocks, curves = [], []
    for n, ((kind, label), points) in enumerate(lines.items()):
        # what one connection takes of memory is the group's
        points = [p for p in sorted(points) if what != "memory" or p[0] > 1]
        blocks.append("\n".join([f"$d{n} << EOD", *(f"{x} {y}" for x, y in points), "EOD"]))
        name = NAMES.get(label, label) + (", 16 in a group" if kind == "spread" else "")
        dash = 2 if kind == "spread" else 1
        curves.append(f'$d{n} using 1:2 with linespoints lw 2 pt 7 ps 0.5 dt {dash} '
                      f'lc rgb "{COLOURS.get(label, "#000000")}" title "{name}"')
    ticks = sorted({x for points in lines.values() for x, _ in points})
    return "\n".join([
        'set terminal svg size 640,400 font "sans-serif,12" background "white"',
        f'set title "{TITLES[what]}"',
        'set xlabel "connections"', f'set ylabel "{UNITS[unit]}"',
        "set logscale x 2", "set yrange [0:*]", "set key outside bottom center horizontal",
        f"set xtics ({', '.join(str(x) for x in ticks)})", "set grid ytics",
        *blocks, "plot " + ", ".join(curves), ""])


def draw(text, title):
    """Return gnuplot's picture with a title and our first line in it."""
    svg = subprocess.run(["gnuplot"], input=text, check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    gnuplots = "<title>Gnuplot</title>"
    if gnuplots not in svg:
        sys.exit("plot: gnuplot has drawn nothing")
    note = "<!-- SPDX-License-Identifier: GPL-2.0-only; drawn by selftests/bench/plot.py -->\n"
    svg = svg.replace(gnuplots, f"{note}<title>{title}</title>")
    return "\n".join(line.rstrip() for line in svg.rstrip().splitlines()) + "\n"


def main(source, folder):
    series, units = read_series(pathlib.Path(source))
    if not series:
        sys.exit(f"plot: {source} has no rows scale_*: make bench BED=insn ROWS=scale")
    for what, lines in series.items():
        path = pathlib.Path(folder) / f"scale-{what}.svg"
        path.write_text(draw(commands(what, lines, units[what]), TITLES[what]))
        print(path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
