#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Read the reports of KCSAN, the kernel's detector of data races, from the console of a host.

Usage: kcsan.py CONSOLE...	prints each report in one line: "ours" or "other", and its accesses

A report has two accesses, or one whose counterpart was not seen, each with its stack. An access
belongs to the module that is the first one on its stack: what a function of the kernel does for its
caller counts for the caller. Reports without an access of ours are listed, and fail no run: races
inside Soft-RoCE, the RDMA core or TCP are not for this module to mend.
"""

import re
import sys

OURS = {"smc", "smc_diag", "smc_lo", "planted"}

STAMP = re.compile(r"^\[[ \d.]+\] ?")
TITLE = re.compile(r"BUG: KCSAN: (.*)")
RULER = re.compile(r"^={10,}$")
ACCESS = re.compile(r"^(?:race at unknown origin, with )?((?:read|write|read-write|assert)\b.*?) to "
                    r"0x[0-9a-f]+ of \d+ bytes by ")
FRAME = re.compile(r"^ +([\w.]+)\+0x[0-9a-f]+/0x[0-9a-f]+(?: \[(\w+)\])?")
# What an interrupt has interrupted is no caller of its code.
BOUNDARY = re.compile(r"^(asm_(common_interrupt|sysvec_)|handle_softirqs$|__do_softirq$|do_softirq$)")


class Report:
    """One report: its title, and of each access what it was, its function and its module."""

    def __init__(self, title):
        self.title = title
        self.lines = []
        self.accesses = []
        self.in_stack = False

    def add(self, line):
        self.lines.append(line)
        access = ACCESS.match(line)
        if access:
            self.accesses.append({"what": access[1], "where": None, "module": None})
            self.in_stack = True
            return
        frame = FRAME.match(line)
        if not line:
            self.in_stack = False
        if not frame or not self.in_stack:
            return
        last = self.accesses[-1]
        if BOUNDARY.match(frame[1]):
            self.in_stack = False
            return
        last["where"] = last["where"] or line.strip()
        last["module"] = last["module"] or frame[2]

    @property
    def ours(self):
        """Return true if one of the accesses is ours, or if there is none that can be read."""
        return not self.accesses or any(a["module"] in OURS or not a["where"]
                                        for a in self.accesses)

    def __str__(self):
        return self.title + ": " + "; ".join(
            f"{a['what']} in {a['where']}" + (f" for {a['module']}" if a["module"] and
                                              f"[{a['module']}]" not in str(a["where"]) else "")
            for a in self.accesses)


def reports(lines):
    """Return the reports among the lines of a console."""
    found, current = [], None
    for line in lines:
        line = STAMP.sub("", line.rstrip())
        title = TITLE.search(line)
        if title:
            current = Report(title[1])
            found.append(current)
        elif current and RULER.match(line):
            current = None
        elif current:
            current.add(line)
    return found


def main(argv):
    for path in argv:
        with open(path, encoding="utf-8", errors="replace") as f:
            for r in reports(f):
                print(f"{'ours' if r.ours else 'other'}: {r}")


if __name__ == "__main__":
    main(sys.argv[1:])
