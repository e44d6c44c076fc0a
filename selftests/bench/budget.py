#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what smc_bench cost with budget.txt: instructions and packets. Prints KTAP.

Figures of the kernel and the compiler are held to themselves. On another pair, whose code differs,
the ratio of ours to the in-tree family, measured in the same run, is held to a ratio in the file.

Usage: budget.py known KERNEL COMPILER		exit with 0 if the file has this pair
       budget.py check KERNEL COMPILER COUNTS LOG
       budget.py figures KERNEL COMPILER COUNTS LOG	print lines for the file
       budget.py --selfcheck				test this program
"""

import contextlib
import io
import os
import sys

import profile as profiles

# what is counted, in the order of the file's columns; "of in-tree" for another pair
COUNTED = (("all", "instructions"), ("the module", "instructions"), ("packets", "of the RNIC"))
SLACK = 1.03
LOOSE = 0.97	# a row below it has room for twice the slack
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.txt")


def number(word):
    """A figure of the file, None for "-"."""
    return None if word == "-" else float(word)


def read_budget():
    """Return {(kernel, compiler): {row: (figures of ours, of in-tree)}}, in the file's order."""
    budget = {}
    with open(FILE, encoding="ascii") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                ours1, own, intree1, intree_own, ours2, intree2 = map(number, words[3:])
                pair = budget.setdefault((words[0], words[1]), {})
                pair[words[2]] = ((ours1, own, ours2), (intree1, intree_own, intree2))
    return budget


def measured(counts, log):
    """Return {(row, label): (all instructions, those of the module, packets)}."""
    out = {}
    for row, label, section in profiles.read(counts, log):
        if section.packets is None:
            sys.exit(f"budget: {row} of {label} has no number of packets")
        out[row, label] = (sum(section.insns.values()), section.modules["smc"], section.packets)
    return out


def shown(figure, exact):
    return f"{figure:.0f}" if exact else f"{figure:.2f}"


def verdicts(budget, key, cost):
    """Yield (text, figure, limit) of each comparison."""
    known = key in budget
    for row, (limits, theirs) in budget[key if known else next(iter(budget))].items():
        for i, (what, unit) in enumerate(COUNTED):
            if (row, "ours") not in cost:
                yield f"{row}, {what}: measured", 1, 0
                continue
            figure, limit = cost[row, "ours"][i], limits[i]
            if limit is None or (not known and theirs[i] is None):
                yield f"{row}, {what}: {figure:.2f} {unit}, and no figure in the file", 1, 0
                continue
            if not known:
                if not cost.get((row, "intree"), (0, 0, 0))[i]:
                    yield f"{row}, {what}: in-tree measured", 1, 0
                    continue
                figure /= cost[row, "intree"][i]
                limit /= theirs[i]
                unit = "of in-tree"
            exact = known and unit == "instructions"
            yield (f"{row}, {what}: {shown(figure, exact)} {unit}, "
                   f"at most {shown(limit * SLACK, exact)}", figure, limit * SLACK)


def judge(budget, key, cost):
    """Print the comparisons as KTAP and return whether one of them failed, or there was none."""
    failed, n = 0, 0
    for text, figure, limit in verdicts(budget, key, cost):
        n += 1
        # 0: nothing was counted, or no address was found to be the module's. What is TCP has no
        # packets of the RNIC, and its limit is 0.
        bad = figure > limit or (not figure and limit)
        failed |= bool(bad)
        print(f"{'not ' if bad else ''}ok {n} {text}")
        if figure and figure < limit * LOOSE / SLACK:
            print("# less than the figure of the file: lower it, if runs do not differ as much")
    print(f"1..{n}")
    return failed or not n


def print_figures(key, cost):
    """Print lines for the file, of the rows that both families were measured in."""
    for row, label in cost:
        if label == "ours" and (row, "intree") in cost:
            (all1, own1, packets1), (all2, own2, packets2) = cost[row, label], cost[row, "intree"]
            print(*key, row, f"{all1:.0f} {own1:.0f} {all2:.0f} {own2:.0f}",
                  f"{packets1:.2f} {packets2:.2f}")


def selfcheck():
    """Check that judge() fails where it must, and only there."""
    pair, new = ("6.0", "gcc-1"), ("6.1", "gcc-2")
    ours, theirs = (1000, 100, 4), (2000, 50, 8)
    budget = {pair: {"row": (ours, theirs)}}
    double = {("row", "ours"): (2000, 200, 8), ("row", "intree"): (4000, 100, 16)}
    lower = "lower it"
    tests = (
        ("the figures of the file", budget, pair, {("row", "ours"): ours}, True, ""),
        ("3 % more", budget, pair, {("row", "ours"): (1030, 103, 4.12)}, True, ""),
        ("4 % more", budget, pair, {("row", "ours"): (1040, 100, 4)}, False, "not ok 1 "),
        ("4 % more of the module", budget, pair, {("row", "ours"): (1000, 104, 4)}, False,
         "not ok 2 "),
        ("4 % more packets", budget, pair, {("row", "ours"): (1000, 100, 4.16)}, False,
         "not ok 3 "),
        ("4 % less", budget, pair, {("row", "ours"): (960, 100, 4)}, True, lower),
        ("nothing of the module", budget, pair, {("row", "ours"): (1000, 0, 4)}, False,
         "not ok 2 "),
        ("no packets", budget, pair, {("row", "ours"): (1000, 100, 0)}, False, "not ok 3 "),
        ("no packets where none are due", {pair: {"row": ((1000, 100, 0), theirs)}}, pair,
         {("row", "ours"): (1000, 100, 0)}, True, ""),
        ("a packet where none is due", {pair: {"row": ((1000, 100, 0), theirs)}}, pair,
         {("row", "ours"): ours}, False, "not ok 3 "),
        ("no figure in the file", {pair: {"row": ((1000, 100, None), theirs)}}, pair,
         {("row", "ours"): ours}, False, "no figure"),
        ("the row was not measured", budget, pair, {}, False, "not ok 1 "),
        ("no row", {pair: {}}, pair, {}, False, "1..0"),
        ("a new pair, twice as much of both", budget, new, double, True, "0.50 of in-tree"),
        ("a new pair, twice as much of ours", budget, new,
         {**double, ("row", "intree"): theirs}, False, "not ok 1 "),
        ("a new pair, half of both, ours 4 % more", budget, new,
         {("row", "ours"): (520, 50, 2), ("row", "intree"): (1000, 25, 4)}, False, "not ok 1 "),
        ("a new pair, no in-tree row", budget, new, {("row", "ours"): ours}, False,
         "in-tree measured"),
        ("a new pair, no in-tree figure", {pair: {"row": (ours, (2000, 50, None))}}, new, double,
         False, "no figure"),
    )
    failed = False
    for n, (name, figures, key, cost, passes, text) in enumerate(tests, 1):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            good = (not judge(figures, key, cost)) == passes
        good &= text in out.getvalue() and (text == lower) == (lower in out.getvalue())
        failed |= not good
        print(f"{'ok' if good else 'not ok'} {n} budget: {name}: {'passes' if passes else 'fails'}")
    print(f"1..{len(tests)}")
    return failed


def main(mode, kernel, compiler, *files):
    budget = read_budget()
    key = (kernel, compiler)
    if mode == "known":
        sys.exit(key not in budget)
    cost = measured(*files)
    if mode == "figures":
        sys.exit(print_figures(key, cost))
    sys.exit(judge(budget, key, cost))


if __name__ == "__main__":
    if sys.argv[1:] == ["--selfcheck"]:
        sys.exit(selfcheck())
    if len(sys.argv) not in (4, 6):
        sys.exit(__doc__)
    main(*sys.argv[1:])
