#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print the man page of net.smc.*, smc-sysctl(7), from the table of Documentation/tuning.rst.

tools/man/smc-sysctl.7 is its output; tools/test/test_docs.sh compares.
"""

import os
import re
import sys

TOP = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
HEAD = r'''.\" SPDX-License-Identifier: GPL-2.0-only
.\" printed by scripts/sysctl-page.py from Documentation/tuning.rst
.TH SMC\-SYSCTL 7 2026-11-28 "AF_SMC" "Miscellaneous Information"
.SH NAME
smc\-sysctl \- settings of SMC sockets
.SH SYNOPSIS
.nf
.BI "sysctl net.smc." NAME
.BI "sysctl \-w net.smc." NAME = VALUE
.BI "smcctl setting set " "NAME VALUE"
.fi
.SH DESCRIPTION
The module of SMC has these settings as files below
.IR /proc/sys/net/smc ,
as long as it is loaded.
Each network namespace has its own values, except where one value for all is mentioned.
A setting applies to objects that are created afterwards, if nothing else is said.
.PP
.B "smcctl save"
writes them to a file that is restored whenever the module is loaded; see
.BR smcctl (8).
'''
FOOT = r'''.SH FILES
.TP
.I /etc/sysctl.d/*.conf
read again for
.I net.smc.*
each time the module is loaded
.SH SEE ALSO
.BR af_smc (7),
.BR smcctl (8),
.BR sysctl (8)
'''


def rows():
    """Yield name, default and meaning of each row of the table."""
    with open(os.path.join(TOP, "Documentation/tuning.rst"), encoding="utf-8") as f:
        lines = f.read().split("\nSettings\n====", 1)[1].splitlines()
    edges = [i for i, line in enumerate(lines) if re.match(r"=+ =+ =+$", line)]
    columns = [m.start() for m in re.finditer(r"=+", lines[edges[0]])]
    row = None
    for line in lines[edges[1] + 1:edges[2]]:
        name = line[:columns[1]].strip()
        if name:
            if row:
                yield row
            row = [name, line[columns[1]:columns[2]].strip(), line[columns[2]:].strip()]
        else:
            row[2] += "\n" + line.strip()
    yield row


def roff(text):
    """Without the marks of reStructuredText and links to other pages, which are not installed."""
    text = re.sub(r" \(`[^`<]*<[^`]*>`__?\)", "", text.replace("\n", " "))
    text = re.sub(r" \([a-z-]*\.rst\)", "", text)
    text = text.replace("``", "").replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"([.;]) +(?=[A-Z0-9])", r"\1\n", text)


def main():
    out = HEAD + ".SH SETTINGS\n"
    for name, default, meaning in rows():
        names = name.replace(", ", ' ", " ')
        out += f'.TP\n.BR {names} " (" {roff(default).strip("()")} )\n{roff(meaning)}\n'
    sys.stdout.write(out + FOOT)


if __name__ == "__main__":
    main()
