#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print parts of a man page as text, to be compared with what programs say.

Usage: man_page.py synopsis PAGE		a line for each form of the SYNOPSIS
       man_page.py synopsis PAGE NAME		the form of NAME in the section OTHER NAMES
       man_page.py options PAGE NAME		the options of NAME there, sorted, a line for each

The options of all names stand before the first entry of that section and behind the last one.
"""
import re
import shlex
import sys

FONTS = ("B", "I", "R", "BR", "RB", "RI", "IR", "BI", "IB")


def plain(line):
    """The text of a line; None for a macro that has no text"""
    macro = re.match(r"\.(\w+)( .*|$)", line)
    if macro and macro[1] not in FONTS:
        return None
    if macro:
        # two letters are two fonts, which alternate: nothing is between the words
        line = ("" if len(macro[1]) == 2 else " ").join(shlex.split(macro[2]))
    return re.sub(r"\\f[BIPR]", "", line).replace("\\-", "-").strip()


def section(page, title):
    with open(page, encoding="utf-8") as f:
        text = f.read()
    return re.search(rf"^\.SH {title}\n(.*?)(?=^\.SH |\Z)", text, re.M | re.S)[1].splitlines()


def forms(lines):
    """Joined between the macros that begin a new line"""
    found = [[]]
    for line in lines:
        if re.match(r"\.(PP|br)\b", line):
            found.append([])
        elif plain(line):
            found[-1].append(plain(line))
    return [" ".join(form) for form in found if form]


def entries(lines):
    """{name: (heading, lines)} of the section OTHER NAMES; the name "" has what is said of all"""
    found = {"": ("", [])}
    name, heading = "", False
    for line in lines:
        if re.match(r"\.(TP|PP)\b", line):
            name, heading = "", line.startswith(".TP")
        elif heading:
            name, heading = plain(line).split()[0], False
            found[name] = (plain(line), [])
        elif plain(line):
            found[name][1].append(plain(line))
    return found


def main(what, page, name=None):
    if not name:
        print("\n".join(forms(section(page, "SYNOPSIS"))))
        return
    names = entries(section(page, "OTHER NAMES"))
    if what == "synopsis":
        print(names[name][0])
        return
    text = " ".join(names[""][1] + names[name][1])
    print("\n".join(sorted(set(re.findall(r"(?<![\w-])(?:-\w|--[a-z][a-z-]*)(?![\w-])", text)))))


if __name__ == "__main__":
    main(*sys.argv[1:])
