#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Draws what a command has printed as the picture of a terminal (SVG, for the README).

Usage: make demo 2>&1 | tee build/demo.txt
       scripts/demo-picture.py "make demo" < build/demo.txt > Documentation/demo.svg

Needs Debian's python3-rich, which no test needs.
"""

import io
import pathlib
import re
import sys

try:
    from rich.console import Console
    from rich.text import Text
except ImportError:
    sys.exit("demo-picture: apt-get install python3-rich, and use Debian's python3")

TOP = pathlib.Path(__file__).resolve().parent.parent


def of_any_machine(line):
    """A line without the folders of the machine on which it was printed"""
    return re.sub(", files in .*", "", line.rstrip().replace(f"{TOP}/", ""))


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    lines = [of_any_machine(line) for line in sys.stdin]
    if not any(lines):
        print("demo-picture: standard input is empty", file=sys.stderr)
        return 1
    console = Console(record=True, width=max(map(len, lines)), file=io.StringIO(), highlight=False)
    console.print(Text("\n".join([f"# {sys.argv[1]}", *lines])))
    # a fixed id: the same text is the same file
    svg = console.export_svg(title="AF_SMC", unique_id="demo")
    # a picture fetches nothing: without the font's address the reader's own font is used
    svg = re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL)
    print(svg.replace("<!-- ", "<!-- SPDX-License-Identifier: GPL-2.0-only; ", 1))
    return 0


sys.exit(main())
