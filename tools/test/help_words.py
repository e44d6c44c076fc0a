#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print each word of the help of smcctl's objects, behind the words that have to be before it.

Usage: help_words.py SMCCTL

A line has the object, the words that come first, and the word; X is what the user chooses. For
"pnet [show | add ID [netdev NAME]]" these are "pnet show", "pnet add" and "pnet add X netdev".
"""
import re
import subprocess
import sys


def output(*args):
    return subprocess.run(args, stdout=subprocess.PIPE, text=True, check=True).stdout


def alternatives(tokens):
    """The sequences between | up to the closing bracket; what is in brackets is a list of such"""
    found = [[]]
    while tokens and tokens[0] != "]":
        token = tokens.pop(0)
        if token == "[":
            found[-1].append(alternatives(tokens))
            tokens.pop(0)
        elif token == "|":
            found.append([])
        else:
            found[-1].append(token)
    return found


def walk(before, sequence):
    for item in sequence:
        if isinstance(item, list):
            # optional: what is behind the bracket needs none of it
            for one in item:
                walk(before, one)
            continue
        words = item.split("|")
        for word in words:
            if word.islower():
                print(*before, word)
        before = before + [words[0] if words[0].islower() else "X"]


def main():
    smcctl = sys.argv[1]
    for name in re.findall(r"^  ([a-z]+)  ", output(smcctl, "--help"), re.M):
        # the last line says what the object is
        syntax = " ".join(output(smcctl, name, "help").splitlines()[:-1])
        syntax = re.sub(r"^smcctl (\[-[^]]*\] )*\w+", "", syntax).replace("[/PORT]", "")
        for one in alternatives(re.findall(r"[][]|(?<= )\|(?= )|[^][ ]+", syntax)):
            walk([name], one)


if __name__ == "__main__":
    main()
