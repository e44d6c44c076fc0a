#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Find words of scripts/words.txt in any tracked file, names of files included. Prints KTAP.

Usage: check-words.py [-c]	(-c: print only how often each word stands where)
"""
import collections
import fnmatch
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
LIST = "scripts/words.txt"
# A word ends where letters end: it is found in snake_case names, too.
EDGE = r"(?<![A-Za-z]){}(?![A-Za-z])"


class Word:
    def __init__(self, pattern, instead):
        self.pattern = pattern
        self.regex = re.compile(EDGE.format(f"(?:{pattern})"), re.IGNORECASE)
        self.instead = instead
        self.exceptions = []	# (path pattern, line pattern or None)
        self.used = set()

    def excuse(self, path, line):
        for n, (where, what) in enumerate(self.exceptions):
            if fnmatch.fnmatch(path, where) and (not what or what.search(line)):
                self.used.add(n)
                return True
        return False


def read_list(path):
    """(words, what is wrong with the list)"""
    words, bad = [], []
    for n, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if not line.startswith("!"):
            pattern, _, instead = line.partition("\t")
            if not instead.strip():
                bad.append(f"{LIST}:{n}: nothing to write instead")
            words.append(Word(pattern.strip(), instead.strip()))
            continue
        m = re.match(r"!\s*(\S+)(?:\s+/(.*)/)?\s+--\s+(\S.*)$", line)
        if not m or not words:
            bad.append(f"{LIST}:{n}: not '! PATH [/PATTERN/] -- REASON'")
            continue
        words[-1].exceptions.append((m[1], re.compile(m[2]) if m[2] else None))
    return words, bad


def tracked():
    out = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    return [f for f in out.split("\0") if f and f != LIST and (TOP / f).is_file()]


def find(words):
    """(word, path, line number or 0 for the path itself, line)"""
    every = re.compile("|".join(w.regex.pattern for w in words), re.IGNORECASE)
    for path in tracked():
        try:
            text = (TOP / path).read_text()
        except UnicodeDecodeError:
            continue
        for n, line in enumerate([path] + text.splitlines()):
            if not every.search(line):
                continue
            for word in words:
                if word.regex.search(line) and not word.excuse(path, line):
                    yield word, path, n, line.strip()


def main(args):
    words, bad = read_list(TOP / LIST)
    found = list(find(words))
    if args == ["-c"]:
        count = collections.Counter((w.pattern, p.split("/")[0]) for w, p, _, _ in found)
        for (word, where), n in sorted(count.items()):
            print(f"{n:5} {word:36} {where}")
        return 0
    stale = [f"{w.pattern}: no line needs the exception {w.exceptions[n][0]}"
             for w in words for n in range(len(w.exceptions)) if n not in w.used]
    print("1..2")
    print(f"{'not ok' if found or not words else 'ok'} 1 words: no word that the tree has given up")
    for word, path, n, line in found[:200]:
        print(f"# {path}:{n}: write {word.instead}: {line[:100]}")
    if len(found) > 200:
        print(f"# and {len(found) - 200} more")
    print(f"{'not ok' if bad or stale else 'ok'} 2 words: the list is well-formed, each exception needed")
    for fault in bad + stale:
        print(f"# {fault}")
    return 1 if found or bad or stale or not words else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["-c"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
