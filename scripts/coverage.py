#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Which code of the module the tests have reached, from gcov data of all floors.

Prints a table of the files and checks the functions that no test has reached against
a list of reasons. KTAP. Leaves an lcov trace file for those who want pages of it.
"""

import argparse
import collections
import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

TOP = pathlib.Path(__file__).resolve().parent.parent
GAPS = 25	# longest pieces of code that nothing reached, printed in the report
# what the compiler appends to the names of copies it makes of a function
COPY = re.compile(r"\.(part|constprop|isra|cold)(\.\d+)*$")


class Coverage:
    """Counts of all data files, by source file relative to the top folder."""

    def __init__(self):
        self.lines = collections.defaultdict(collections.Counter)
        self.functions = collections.defaultdict(dict)	# file: name: (first, last line)

    def add(self, name, data):
        for line in data["lines"]:
            self.lines[name][line["line_number"]] += line["count"]
        for function in data["functions"]:
            plain = COPY.sub("", function["name"])
            first, last = function["start_line"], function["end_line"]
            self.functions[name].setdefault(plain, (first, last))

    def reached(self, name, function):
        first, last = self.functions[name][function]
        counts = self.lines[name]
        return any(counts[n] for n in range(first, last + 1) if n in counts)

    def unreached(self):
        return {f"{name}:{function}" for name in self.functions
                for function in self.functions[name] if not self.reached(name, function)}


def is_ours(name):
    path = pathlib.PurePath(name)
    if path.suffix == ".h":
        return name.startswith("include/smc/")
    return path.suffix == ".c" and path.parts[0] not in ("selftests", "tools")


def source_name(path, folders):
    """The name below the top folder; builds are in folders of links to the sources."""
    for folder in folders:
        if path.startswith(folder + os.sep):
            path = os.path.join(TOP, path[len(folder) + 1:])
    path = os.path.realpath(path)
    top = str(TOP) + os.sep
    return path[len(top):] if path.startswith(top) else None


def run_gcov(files, folders, coverage):
    out = subprocess.run(["gcov", "--json-format", "--stdout", *map(str, files)], check=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    for text in out.splitlines():
        if not text.startswith("{"):
            continue
        unit = json.loads(text)
        for data in unit["files"]:
            path = os.path.normpath(os.path.join(unit["current_working_directory"],
                                                 data["file"]))
            name = source_name(path, folders)
            if name and is_ours(name):
                coverage.add(name, data)


def add_build(folder, coverage):
    """Data that programs have left beside their objects."""
    files = sorted(pathlib.Path(folder).rglob("*.gcda"))
    if files:
        run_gcov(files, [], coverage)
    return len(files)


def add_kernel(saved, builds, coverage):
    """Data saved from a kernel's debugfs, which has the paths of the builds."""
    files = [f for f in sorted(pathlib.Path(saved).rglob("*.gcda")) if f.stat().st_size]
    builds = [os.path.realpath(b) for b in builds]
    found = []
    with tempfile.TemporaryDirectory() as tmp:
        for n, data in enumerate(files):
            notes = [pathlib.Path(b, str(data).split(b + os.sep, 1)[1]).with_suffix(".gcno")
                     for b in builds if b + os.sep in str(data)]
            if len(notes) != 1 or not notes[0].exists():
                sys.exit(f"coverage: no notes of the compiler for {data}")
            place = pathlib.Path(tmp, str(n))
            place.mkdir()
            (place / data.name).symlink_to(data.resolve())
            (place / notes[0].name).symlink_to(notes[0])
            found.append(place / data.name)
        if found:
            run_gcov(found, builds, coverage)
    return len(found)


def add_static(build, coverage):
    """Functions of objects without data of a kernel count as not reached."""
    notes = sorted(n for n in pathlib.Path(build).rglob("*.gcno")
                   if "selftests" not in n.parts and not n.name.endswith(".mod.gcno"))
    with tempfile.TemporaryDirectory() as tmp:
        found = []
        for n, note in enumerate(notes):
            place = pathlib.Path(tmp, str(n))
            place.mkdir()
            (place / note.name).symlink_to(note.resolve())
            found.append(place / note.name)
        if found:
            run_gcov(found, [os.path.realpath(build)], coverage)
    return len(found)


def read_reasons(path):
    """file:function REASON, one a line."""
    reasons, bad = {}, []
    for text in path.read_text().splitlines():
        if not text.strip() or text.startswith("#"):
            continue
        name, _, reason = text.partition(" ")
        if not reason.strip() or name in reasons:
            bad.append(text)
        reasons[name] = reason.strip()
    return reasons, bad


def print_table(coverage):
    total = [0, 0, 0, 0]
    print(f"# {'file':32} {'lines':>13} {'':>6} {'functions':>12}")
    for name in sorted(coverage.lines):
        lines = coverage.lines[name]
        functions = coverage.functions[name]
        row = [sum(1 for n in lines if lines[n]), len(lines),
               sum(1 for f in functions if coverage.reached(name, f)), len(functions)]
        total = [a + b for a, b in zip(total, row)]
        print_row(name, row)
    print_row("all", total)


def print_row(name, row):
    share = 100 * row[0] / row[1] if row[1] else 100
    print(f"# {name:32} {row[0]:>5} of {row[1]:>4} {share:>4.0f} % {row[2]:>4} of {row[3]:>4}")


def gaps(coverage):
    """Lines that nothing reached, in pieces within one function: (lines, file, first, last,
    function), longest first."""
    found = []
    for name, lines in coverage.lines.items():
        for function, (first, last) in coverage.functions[name].items():
            piece = []
            for n in sorted(n for n in lines if first <= n <= last) + [None]:
                if n is not None and not lines[n]:
                    piece.append(n)
                elif piece:
                    found.append((len(piece), name, piece[0], piece[-1], function))
                    piece = []
    return sorted(found, key=lambda g: (-g[0], g[1:]))


def print_gaps(coverage):
    print(f"# the {GAPS} longest pieces that nothing reached:")
    for count, name, first, last, function in gaps(coverage)[:GAPS]:
        print(f"# {count:>4} lines {name}:{first}-{last} {function}()")


def write_trace(coverage, path):
    with open(path, "w", encoding="ascii") as out:
        for name in sorted(coverage.lines):
            out.write(f"SF:{TOP / name}\n")
            for function, (first, _) in sorted(coverage.functions[name].items()):
                count = int(coverage.reached(name, function))
                out.write(f"FN:{first},{function}\nFNDA:{count},{function}\n")
            for line, count in sorted(coverage.lines[name].items()):
                out.write(f"DA:{line},{count}\n")
            out.write("end_of_record\n")


# User Mode Linux cannot call BPF programs; hs_ctrl.sh reaches this file in kernels without counters.
ELSEWHERE = {"base/hs_ctrl.c"}


def missing(coverage, sources):
    """Sources that no build had: their functions would go by unseen."""
    return sorted(set(sources) - set(coverage.lines) - ELSEWHERE)


def stale(coverage, reasons):
    """Entries of the list that are not true (any more)."""
    unreached = coverage.unreached()
    for name in sorted(set(reasons) - unreached):
        source, _, function = name.partition(":")
        known = function in coverage.functions.get(source, {})
        yield f"{name}: {'is reached' if known else 'no such function'}"


def check_coverage(coverage, reasons, bad, sources):
    unreached = coverage.unreached()
    checks = (
        ("each source file is part of a build that has run", missing(coverage, sources)),
        ("each entry of the list has a reason", bad),
        ("each function that no test reaches has a reason", sorted(unreached - set(reasons))),
        ("no test reaches a function that has a reason", list(stale(coverage, reasons))),
    )
    for number, (what, faults) in enumerate(checks, 1):
        print(f"{'not ok' if faults else 'ok'} {number} coverage: {what}")
        for fault in faults:
            print(f"# {fault}")
    for name in sorted(unreached & set(reasons)):
        print(f"# not reached: {name}: {reasons[name]}")
    print(f"1..{len(checks)}")
    return not any(faults for _, faults in checks)


def module_sources():
    """All that Kbuild can make a module of."""
    return subprocess.run([TOP / "scripts/sources.sh", "-c"], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()


SAMPLE = """
int used(int a) { return a + 1; }
int unused(int a) { return a; }
int main(void) { return used(-1); }
"""


def sample(folder):
    """What gcov says of a program with a function that is not called."""
    coverage = Coverage()
    pathlib.Path(folder, "sample.c").write_text(SAMPLE)
    subprocess.run(["gcc", "-O0", "--coverage", "-o", "sample", "sample.c"], cwd=folder,
                   check=True)
    subprocess.run(["./sample"], cwd=folder, check=True)
    files = list(pathlib.Path(folder).glob("*.gcda"))
    here = os.getcwd()
    os.chdir(folder)
    run_gcov(files, [os.path.realpath(folder)], coverage)
    os.chdir(here)
    return coverage


def selfcheck():
    """Check that check_coverage() fails where it must, and only there."""
    with tempfile.TemporaryDirectory() as tmp:
        coverage = sample(tmp)
        lists = {}
        for name, text in (("listed", "sample.c:unused for a test\n"), ("empty", "# none\n"),
                           ("no_reason", "sample.c:unused\n"),
                           ("reached", "sample.c:unused for a test\nsample.c:used reached\n"),
                           ("gone", "sample.c:unused for a test\nsample.c:gone no more\n")):
            path = pathlib.Path(tmp, name)
            path.write_text(text)
            lists[name] = read_reasons(path)
    rc = 0
    rows = (("listed", ["sample.c"], True), ("empty", ["sample.c"], False),
            ("no_reason", ["sample.c"], False), ("reached", ["sample.c"], False),
            ("gone", ["sample.c"], False), ("listed", ["sample.c", "unbuilt.c"], False))
    for number, (name, sources, wanted) in enumerate(rows, 1):
        with contextlib.redirect_stdout(io.StringIO()):
            good = check_coverage(coverage, *lists[name], sources) == wanted
        rc |= not good
        print(f"{'ok' if good else 'not ok'} {number} coverage: list {name}, sources {sources}:"
              f" {'passes' if wanted else 'fails'}")
    print(f"1..{len(rows)}")
    sys.exit(rc)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", action="append", default=[], metavar="DIR",
                        help="build folder of user-space programs that have run")
    parser.add_argument("--kernel", metavar="DIR", help="what was saved of debugfs")
    parser.add_argument("--build", action="append", default=[], metavar="DIR",
                        help="build folder of a module of which data was saved")
    parser.add_argument("--reasons", type=pathlib.Path,
                        default=TOP / "selftests/coverage-unreached.txt")
    parser.add_argument("--trace", type=pathlib.Path, help="write an lcov trace file")
    parser.add_argument("--selfcheck", action="store_true", help="test this program")
    args = parser.parse_args()
    if args.selfcheck:
        selfcheck()
    coverage = Coverage()
    for folder in args.programs:
        n = add_build(folder, coverage)
        print(f"# {n} data files of programs in {folder}")
        if not n:
            sys.exit(f"coverage: no data in {folder}")
    for build in args.build:
        add_static(build, coverage)
    if args.kernel:
        n = add_kernel(args.kernel, args.build, coverage)
        print(f"# {n} data files of kernels in {args.kernel}")
        if not n:
            sys.exit(f"coverage: no data in {args.kernel}")
    print_table(coverage)
    print_gaps(coverage)
    if args.trace:
        write_trace(coverage, args.trace)
    sys.exit(0 if check_coverage(coverage, *read_reasons(args.reasons), module_sources()) else 1)


if __name__ == "__main__":
    main()
