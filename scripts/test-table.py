#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print Documentation/test-table.rst: which case runs on which kernel, and when.

Usage: test-table.py > Documentation/test-table.rst

The runs are those that check-uml.sh and check-vm.sh declare (--list); targets of the Makefile name those
that a gate does without. A case script whose sockets are not all AF_SMC has a line "# Entry points: WORD...":
words of ENTRIES, or $NAME for the words of that variable of the run. scripts/test-table.txt says why a
case does not run; the script fails if a reason is missing or needless.
"""
import fnmatch
import pathlib
import re
import subprocess
import sys
import textwrap

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "selftests/vm"))
import vm	# noqa: E402

REASONS = "scripts/test-table.txt"
LISTS = {"check-uml.sh plain": "gate", "check-uml.sh debug": "debug", "check-vm.sh": "gate"}
# a case that runs on several levels is on the first of these
LEVELS = ("gate", "debug", "long", "programs", "name")
KERNELS = {"uml-plain": "UML", "uml-debug": "debug", "6.12": "6.12", "6.1": "6.1", "7": "7",
           "6.12-rt": "6.12-rt",
           "6.12-arm64": "arm64", "kcsan": "kcsan"}
ENTRIES = {"smc": "AF_SMC", "ipproto": "IPPROTO_SMC",
           "smc_to_inet": "AF_SMC, peer without the option",
           "ipproto_to_inet": "IPPROTO_SMC, peer without the option",
           "smc_declined": "AF_SMC, after a Decline",
           "ipproto_declined": "IPPROTO_SMC, after a Decline"}
# scripts that no run of those two has: benchmarks, the test bed itself (planted faults among it),
# packages (check-packages.sh), the third host of "routed"
OTHERS = {"bench", "insn", "harness", "planted", "packages", "router"}
HEAD = """.. SPDX-License-Identifier: GPL-2.0-only

What runs where
###############

The cases of ``selftests/vm/cases``, and ``tools/test/vm_tools.sh``, by entry point, kernel and number of processors.
``scripts/test-table.py`` prints this page from the runs that ``scripts/check-uml.sh`` and ``scripts/check-vm.sh`` declare,
and from ``scripts/test-table.txt``, which has the reasons; ``scripts/check-docs.sh`` compares. `testing.rst <testing.rst>`_
says what the cases do.

Kernels: ``UML`` and ``debug`` are the two of User Mode Linux, the newest series; ``kcsan`` is of that series and runs in QEMU, as do
the others, which are Debian's. ``/2``: with two processors, of which a host in QEMU with one of Debian's kernels has one only,
unless there is KVM.

Cells: ``gate`` in ``make check``, ``debug`` in ``make check-debug``, ``long`` in ``make check-long``, ``programs`` in
``make check-programs``, ``name`` if the run is named on the command line; the first of these that has the case. A number:
never, for the reason below.

"""


class Reason:
    def __init__(self, line):
        patterns, _, self.text = line.partition(": ")
        self.patterns = [p.split(",") for p in patterns.split()]
        if len(self.patterns) != 3 or not self.text:
            sys.exit(f"{REASONS}: {line}")
        self.used = False

    def match(self, *cell):
        return all(any(fnmatch.fnmatchcase(value, p) for p in patterns)
                   for value, patterns in zip(cell, self.patterns))


def named_runs(target):
    """Names of runs in the commands of a target of the Makefile"""
    commands = subprocess.run(["make", "-n", "-C", TOP, target], check=True, text=True,
                              stdout=subprocess.PIPE).stdout.replace("\\\n", " ")
    return {word for line in commands.splitlines() if re.search(r"check-(uml|vm)\.sh ", line)
            for word in line.split()[1:]}


def case_of(opt):
    """(name, entry points) of the case of a run"""
    script = pathlib.Path(opt.script)
    env = dict(e.split("=", 1) for e in opt.env)
    words = []
    line = re.search("^# Entry points: (.*)$", script.read_text(), re.MULTILINE)
    for word in line[1].split() if line else ["smc"]:
        words += env.get(word[1:], "smc").split() if word.startswith("$") else [word]
    # addresses have no columns, and what inet does is for comparison
    words = {re.sub("(6|_mapped|_to_smc)(?=_|$)", "", w) for w in words if not w.startswith("inet")}
    return script.stem, words & ENTRIES.keys()


def column(kernel, cpus):
    return KERNELS[kernel] + (f"/{cpus}" if cpus > 1 else "")


def read_runs():
    """{(case, entry point, column): level}"""
    runs = {}
    named = {level: named_runs(target) for level, target in
             (("long", "check-long"), ("programs", "check-programs"))}
    for command, gate in LISTS.items():
        script, *flavour = command.split()
        listed = subprocess.run([TOP / "scripts" / script, "--list", *flavour], check=True,
                                text=True, stdout=subprocess.PIPE).stdout
        for line in listed.splitlines():
            kind, name, *arguments = line.split("\t")
            levels = {level for level, names in named.items() if name in names} | {"name"}
            if kind == "gate":
                levels = {gate}
            opt = vm.parse(arguments)
            kernels = vm.spread(opt.kernel, opt.hosts, "--kernel")
            modules = vm.spread(opt.module, opt.hosts, "--module")
            ours = {k for k, m in zip(kernels, modules) if m == "ours"}
            if any(f.endswith("/smc.ko") for f in opt.add):	# the script loads it
                ours = set(kernels)
            case, entries = case_of(opt)
            for kernel in ours:
                for entry in entries:
                    cell = case, entry, column(kernel, opt.cpus)
                    runs[cell] = min(levels | {runs.get(cell, "name")}, key=LEVELS.index)
    return runs


def print_table(rows):
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    rule = " ".join("=" * w for w in widths)
    print(rule)
    for n, row in enumerate(rows):
        print(" ".join(text.ljust(w) for text, w in zip(row, widths)).rstrip())
        if n == 0:
            print(rule)
    print(rule)


def print_item(mark, text):
    print(textwrap.fill(text, 120, initial_indent=mark, subsequent_indent=" " * len(mark),
                        break_long_words=False, break_on_hyphens=False))


def main():
    runs = read_runs()
    columns = [c for k in KERNELS for cpus in (1, 2) if (c := column(k, cpus)) in {r[2] for r in runs}]
    reasons = [Reason(line) for line in (TOP / REASONS).read_text().splitlines()
               if line and not line.startswith("#")]
    numbers, elsewhere, missing = {}, {}, []

    def never(*cell):
        for reason in reasons:
            if reason.match(*cell):
                reason.used = True
                return reason.text
        missing.append(" ".join(cell))
        return ""

    rows = [["case", "entry point", *columns]]
    for case in sorted({r[0] for r in runs}):
        for entry, title in ENTRIES.items():
            if not any((case, entry, c) in runs for c in columns):
                elsewhere.setdefault(never(case, entry, "nowhere"), {})[title] = None
                continue
            row = [case, title]
            for c in columns:
                level = runs.get((case, entry, c))
                row.append(level or str(numbers.setdefault(never(case, entry, c), len(numbers) + 1)))
            rows.append(row)
    bad = [f"no reason for {cell}" for cell in missing]
    scripts = {path.stem for path in (TOP / "selftests/vm/cases").glob("*.sh")}
    bad += [f"no run has {case}.sh" for case in sorted(scripts - OTHERS - {r[0] for r in runs})]
    bad += [f"never needed: {r.text}" for r in reasons if not r.used]
    if bad:
        sys.exit("\n".join(f"{REASONS}: {b}" for b in bad))
    print(HEAD, end="")
    print_table(rows)
    print()
    for text, number in numbers.items():
        print_item(f"{number}. ", text)
    print("\nEntry points without a row in a case:\n")
    for text, titles in elsewhere.items():
        print_item("* ", f"{'; '.join(titles)}: {text}")


main()
