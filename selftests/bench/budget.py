#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compares what smc_bench cost with budget.txt. Prints KTAP.

Figures of the kernel and the compiler are held to themselves. On another pair, whose code differs,
the ratio of ours to the in-tree family, measured in the same run, is held to a ratio in the file.

Usage: budget.py known KERNEL COMPILER		exit with 0 if the file has this pair
       budget.py check KERNEL COMPILER COUNTS LOG
"""

import os
import sys

import profile as profiles

SLACK = 1.03
LOOSE = 0.97	# a row below it has room for twice the slack
FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "budget.txt")


def read_budget():
    """Return {(kernel, compiler): {row: [ours, own, intree, intree_own]}}, in the file's order."""
    budget = {}
    with open(FILE, encoding="ascii") as f:
        for line in f:
            words = line.split("#")[0].split()
            if words:
                pair = budget.setdefault((words[0], words[1]), {})
                pair[words[2]] = [float(w) for w in words[3:7]]
    return budget


def measured(counts, log):
    """Return {(row, label): (all instructions, those of the module)}."""
    out = {}
    for row, label, section in profiles.read(counts, log):
        out[row, label] = (sum(section.insns.values()), section.modules["smc"])
    return out


def verdicts(budget, key, cost):
    """Yield (text, figure, limit) of each comparison."""
    known = key in budget
    for row, limits in budget[key if known else next(iter(budget))].items():
        for i, what in enumerate(("all", "the module")):
            if (row, "ours") not in cost:
                yield f"{row}, {what}: measured", 1, 0
                continue
            figure, limit, unit = cost[row, "ours"][i], limits[i], "instructions"
            if not known:
                if not cost.get((row, "intree"), (0, 0))[i]:
                    yield f"{row}, {what}: in-tree measured", 1, 0
                    continue
                figure /= cost[row, "intree"][i]
                limit /= limits[2 + i]
                unit = "of in-tree"
            shown = f"{figure:.0f}" if known else f"{figure:.2f}"
            most = f"{limit * SLACK:.0f}" if known else f"{limit * SLACK:.2f}"
            yield f"{row}, {what}: {shown} {unit}, at most {most}", figure, limit * SLACK


def judge(budget, key, cost):
    """Print the comparisons as KTAP and return whether one of them failed, or there was none."""
    failed, n = 0, 0
    for text, figure, limit in verdicts(budget, key, cost):
        n += 1
        # 0: nothing was counted, or no address was found to be the module's
        bad = not figure or figure > limit
        failed |= bad
        print(f"{'not ' if bad else ''}ok {n} {text}")
        if figure and figure < limit * LOOSE / SLACK:
            print("# less than the figure of the file: lower it, if runs do not differ as much")
    print(f"1..{n}")
    return failed or not n


def main(mode, kernel, compiler, *files):
    budget = read_budget()
    key = (kernel, compiler)
    sys.exit(key not in budget if mode == "known" else judge(budget, key, measured(*files)))


if __name__ == "__main__":
    if len(sys.argv) not in (4, 6):
        sys.exit(__doc__)
    main(*sys.argv[1:])
