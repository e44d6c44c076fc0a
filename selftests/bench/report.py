#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Table of medians and ratios from the JSON lines of the benchmarks.

Every line is an object with row, label, value, unit and better ("higher" or
"lower").  All other lines are ignored, so that the input may be a console log.
A ratio A/B is above 1 where A is better, for both kinds of units.

With --ceiling it prints KTAP in place of the table: whether A costs at most X times what B does.
--selfcheck tests that.
"""

import argparse
import contextlib
import io
import json
import statistics
import sys

KEYS = ("row", "label", "value", "unit", "better")


def read_lines(files):
    """Yield the measurements of all files; "-" is standard input."""
    for name in files:
        stream = sys.stdin if name == "-" else open(name, encoding="utf-8", errors="replace")
        with stream:
            for line in stream:
                start = line.find("{")
                if start < 0:
                    continue
                try:
                    item = json.loads(line[start:])
                except ValueError:
                    continue
                if isinstance(item, dict) and all(key in item for key in KEYS):
                    yield item


def collect(items):
    """Group values by row and label, both in order of appearance."""
    rows, labels = {}, []
    for item in items:
        row = rows.setdefault(
            item["row"], {"unit": item["unit"], "better": item["better"], "values": {}})
        if row["unit"] != item["unit"] or row["better"] != item["better"]:
            raise SystemExit(f"report: row {item['row']} has more than one unit")
        row["values"].setdefault(item["label"], []).append(float(item["value"]))
        if item["label"] not in labels:
            labels.append(item["label"])
    return rows, labels


def ratio(row, over, under):
    """Return how many times better the median of one label is, or None."""
    a, b = row["medians"].get(over), row["medians"].get(under)
    if not a or not b:
        return None
    return a / b if row["better"] == "higher" else b / a


def number(value):
    """Format with three significant digits, without an exponent; whole numbers in full."""
    if value is None:
        return "-"
    if value >= 100 or value == int(value):
        return f"{value:.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(rows, labels, ratios):
    """Return the rows as a Markdown table with aligned columns."""
    lines = [["row", "unit"] + labels + [f"{a} / {b}" for a, b in ratios]]
    for name, row in rows.items():
        line = [name, row["unit"]]
        line += [number(row["medians"].get(label)) for label in labels]
        line += [number(row["ratios"][f"{a}/{b}"]) for a, b in ratios]
        lines.append(line)
    width = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    out = []
    for i, line in enumerate(lines):
        cells = [cell.ljust(w) if k < 2 else cell.rjust(w)
                 for k, (cell, w) in enumerate(zip(line, width))]
        out.append("| " + " | ".join(cells) + " |")
        if i == 0:
            out.append("|" + "|".join("-" * (w + 1) + ("-" if k < 2 else ":")
                                      for k, w in enumerate(width)) + "|")
    return "\n".join(out)


def uneven(rows, label, percent):
    """Yield (size, neighbour, ratio) of rows size_N around a power of two that differ by more."""
    costs = {int(name[5:]): row["medians"].get(label) for name, row in rows.items()
             if name.startswith("size_")}
    for size, cost in costs.items():
        for other in (size - 1, size + 1):
            if size & (size - 1) or not cost or not costs.get(other):
                continue
            apart = costs[other] / cost
            if max(apart, 1 / apart) > 1 + percent / 100:
                yield size, other, apart


def pair(text):
    """Parse A/B to a tuple."""
    parts = text.split("/")
    if len(parts) != 2 or not all(parts):
        raise argparse.ArgumentTypeError("expected A/B")
    return tuple(parts)


def floor(text):
    """Parse A/B:number to a tuple."""
    names, _, limit = text.partition(":")
    return pair(names) + (float(limit),)


def ceiling(text):
    """Parse A/B:row:number to a tuple."""
    names, row, limit = text.split(":")
    return pair(names) + (row, float(limit))


def judge(rows, ceilings):
    """Print whether rows are below their ceilings, as KTAP, and return whether one is not."""
    failed = False
    for n, (over, under, name, limit) in enumerate(ceilings, 1):
        worth = ratio(rows[name], over, under) if name in rows else None
        bad = not worth or 1 / worth > limit
        failed |= bad
        cost = f"{1 / worth:.3f}" if worth else "not measured"
        print(f"{'not ' if bad else ''}ok {n} {name}: {over}/{under} = {cost}, at most {limit}")
    print(f"1..{len(ceilings)}")
    return failed


def selfcheck():
    """Check that judge() fails where it must, and only there."""
    def row(a, b, better="lower"):
        return {"better": better, "medians": {"a": a, "b": b}}

    tests = (
        ("as much as it may", {"row": row(80, 100)}, True, "= 0.800, at most 0.8\n1..1"),
        ("more", {"row": row(81, 100)}, False, "not ok 1 row: a/b = 0.810"),
        ("a speed that is too low", {"row": row(100, 81, "higher")}, False, "not ok 1 "),
        ("a speed that is high enough", {"row": row(100, 80, "higher")}, True, "ok 1 "),
        ("one of both was not measured", {"row": row(80, None)}, False, "not measured"),
        ("the row was not measured", {"other": row(80, 100)}, False, "not measured"),
    )
    failed = False
    for n, (name, rows, passes, text) in enumerate(tests, 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            good = (not judge(rows, [ceiling("a/b:row:0.8")])) == passes
        good &= text in out.getvalue()
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {n} ceiling: {name}: {'passes' if passes else 'fails'}")
    print(f"1..{len(tests)}")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", default=["-"], help="JSON lines, - for stdin")
    parser.add_argument("--ratio", type=pair, action="append", default=[], metavar="A/B",
                        help="add a column with this ratio")
    parser.add_argument("--floor", type=floor, action="append", default=[], metavar="A/B:X",
                        help="list the rows in which A/B is below X")
    parser.add_argument("--ceiling", type=ceiling, action="append", default=[],
                        metavar="A/B:ROW:X", help="fail if A costs more than X of B in ROW")
    parser.add_argument("--selfcheck", action="store_true", help="test --ceiling")
    parser.add_argument("--min-runs", type=int, default=5,
                        help="fail if a median is of fewer values (default 5)")
    parser.add_argument("--once", action="append", default=[], metavar="ROW",
                        help="a row that needs no more than one value (counted, not timed)")
    parser.add_argument("--neighbours", metavar="LABEL:PERCENT",
                        help="fail if rows size_N beside a power of two differ from it by more")
    parser.add_argument("--json", metavar="FILE", help="write rows, medians and ratios")
    args = parser.parse_args()
    if args.selfcheck:
        return int(selfcheck())

    rows, labels = collect(read_lines(args.files))
    if not rows:
        raise SystemExit("report: no measurements")
    thin = []
    for name, row in rows.items():
        row["medians"] = {k: statistics.median(v) for k, v in row["values"].items()}
        row["ratios"] = {f"{a}/{b}": ratio(row, a, b) for a, b in args.ratio}
        thin += [f"{name}/{k}" for k, v in row["values"].items()
                 if len(v) < args.min_runs and name not in args.once]
    failed = False
    if args.ceiling:
        failed = judge(rows, args.ceiling)
    else:
        print(table(rows, labels, args.ratio))
    for over, under, limit in args.floor:
        for name, row in rows.items():
            value = ratio(row, over, under)
            if value is not None and value < limit:
                print(f"below {limit}: {name}: {over}/{under} = {value:.2f}")
    if args.json:
        with open(args.json, "w", encoding="utf-8") as out:
            json.dump({"labels": labels, "rows": rows}, out, indent=1)
            out.write("\n")
    if args.neighbours:
        label, _, percent = args.neighbours.partition(":")
        for size, other, apart in uneven(rows, label, float(percent)):
            print(f"uneven: {label}: {other} costs {apart:.2f} of {size}")
            failed = True
    if thin:
        print(f"report: fewer than {args.min_runs} values: {', '.join(thin)}", file=sys.stderr)
        return 1
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
