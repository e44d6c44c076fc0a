#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Instructions by module and function, from the counts of insn_plugin.c and the log of the guest.

The log has a JSON line of smc_bench for each section of the counts, in the same order, and the
symbols of the guest's kernel after each label (cases/insn.sh). Figures are per unit of the row: a
round trip, 64 KB, a connection. With two labels or more the functions of the last one are compared
with those of the one before.

Usage: profile.py COUNTS LOG [FUNCTIONS]	(default: the 40 that cost most)
"""

import bisect
import collections
import json
import sys

USER = 1	# as in insn_plugin.c


class Symbols:
    """Functions of a kernel and its modules by address."""

    def __init__(self):
        self.found = {}

    def add(self, line):
        """A line of /proc/kallsyms: ADDRESS TYPE NAME [MODULE]"""
        words = line.split()
        module = words[3].strip("[]") if len(words) > 3 else "kernel"
        self.found[int(words[0], 16)] = (module, words[2])

    def sort(self):
        self.addresses = sorted(self.found)

    def at(self, address):
        if address == USER:
            return ("programs", "programs")
        i = bisect.bisect_right(self.addresses, address) - 1
        return self.found[self.addresses[i]] if i >= 0 else ("unknown", "unknown")


class Section:
    """What was counted between two marks: by (module, function); packets: of the RNIC, or None."""

    def __init__(self):
        self.lines = []
        self.packets = None

    def resolve(self, symbols, units):
        self.insns = collections.Counter()
        self.calls = collections.Counter()
        self.callers = collections.defaultdict(collections.Counter)
        for words in self.lines:
            to, n = symbols.at(int(words[-2], 16)), int(words[-1]) / units
            if len(words) == 2:
                self.insns[to] += n
                continue
            self.calls[to] += n
            self.callers[to][symbols.at(int(words[0], 16))[1]] += n
        self.modules = collections.Counter()
        for (module, _), n in self.insns.items():
            self.modules[module] += n


def read_sections(name):
    sections = []
    with open(name, encoding="ascii") as f:
        for line in f:
            if line == "section\n":
                sections.append(Section())
            else:
                sections[-1].lines.append(line.split())
    return sections


def read_log(name):
    """Yield (row, label, units, packets, symbols) of each measurement, its symbols being known."""
    kernel, waiting, symbols = Symbols(), [], None
    with open(name, encoding="utf-8", errors="replace") as f:
        for line in f:
            if line.startswith("{"):
                item = json.loads(line)
                # what is no cost, as memory, lies between no marks
                if "units" not in item:
                    continue
                waiting.append((item["row"], item["label"], item["units"], item.get("packets")))
            elif line.startswith("symbols of "):
                symbols = Symbols()
                symbols.found.update(kernel.found)
            elif line.startswith("end of symbols"):
                if not kernel.found:
                    kernel.found = {a: s for a, s in symbols.found.items() if s[0] == "kernel"}
                symbols.sort()
                yield from ((*w, symbols) for w in waiting)
                waiting, symbols = [], None
            elif symbols:
                symbols.add(line)


def callers_text(section, function):
    """The functions that call one, the most frequent ones first, each with its share by calls.

    The share is an estimate: the plugin does not see how long each call takes, nor jumps into it.
    """
    each = section.insns[function] / (section.calls[function] or 1)
    return ", ".join(f"{name} {n:.1f} (~{n * each:.0f})"
                     for name, n in section.callers[function].most_common(3))


def show(row, label, section, before, top):
    total = sum(section.insns.values())
    packets = "" if section.packets is None else f", {section.packets:.2f} packets of the RNIC"
    print(f"\n{row}, {label}: {total:.0f} instructions{packets}")
    for module, n in section.modules.most_common(12):
        then = f"  before {before.modules[module]:9.0f}" if before else ""
        print(f"  {n:9.0f}  {100 * n / total:5.1f} %{then}  {module}")
    print(f"  {'insns':>9}" + (f"  {'before':>9}" if before else "") +
          f"  {'calls':>7}  function, and who calls it how often (~: instructions by calls)")
    for function, n in section.insns.most_common(top):
        then = f"  {before.insns[function]:9.0f}" if before else ""
        print(f"  {n:9.0f}{then}  {section.calls[function]:7.1f}  {function[0]}:{function[1]}"
              f"  {callers_text(section, function)}")


def read(counts, log):
    """Yield (row, label, section) of each measurement."""
    sections = read_sections(counts)
    measured = list(read_log(log))
    if len(sections) != len(measured):
        sys.exit(f"profile: {len(sections)} sections of counts, {len(measured)} measurements")
    for section, (row, label, units, packets, symbols) in zip(sections, measured):
        section.resolve(symbols, units)
        section.packets = packets
        yield row, label, section


def main(counts, log, top="40"):
    before = {}
    for row, label, section in read(counts, log):
        show(row, label, section, before.get(row), int(top))
        before[row] = section


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
