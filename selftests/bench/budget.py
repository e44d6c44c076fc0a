#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what smc_bench cost with budget.txt: instructions and packets. Prints KTAP.

Figures of the kernel and the compiler are held to themselves. On another pair, whose code differs,
the ratio of ours to the in-tree family, measured in the same run, is held to a ratio in the file.

Usage: budget.py known KERNEL COMPILER		exit with 0 if the file has this pair
       budget.py check KERNEL COMPILER COUNTS LOG
       budget.py figures KERNEL COMPILER COUNTS LOG	print lines for the file
"""

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
        # 0: nothing was counted, or no address was found to be the module's. What is TCP has no packets
        # of the RNIC, and its limit is 0.
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
    if len(sys.argv) not in (4, 6):
        sys.exit(__doc__)
    main(*sys.argv[1:])
