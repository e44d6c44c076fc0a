#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the names of the module's functions, so that a stack trace reads by itself.

Every function, static ones too, is [smc_]OBJECT_VERB...: its name begins with an object of
scripts/objects.txt and goes on with at least one more word. No two functions share a name,
but for the two implementations of the TCP option. Reads the sources (universal-ctags),
because functions that are inlined have no symbol. Prints KTAP.

Usage: check-names.py [-l]	(-l: print the names and where they are defined)
"""
import collections
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
# Files of which a build takes one: the two implementations of the TCP option, and fault sites or BPF
# objects or their empty stand-ins.
ALTERNATIVES = ({"tcp/option_core.c", "tcp/option_own.c"},
                {"base/fault.c", "include/smc/base/fault.h"},
                {"base/hs_ctrl.c", "include/smc/base/hs_ctrl.h"})
# Named like inet_sk() and tcp_sk() of the kernel.
CONVENTIONAL = {"smc_sk"}


def output(*command):
    return subprocess.run(command, cwd=TOP, check=True, text=True, stdout=subprocess.PIPE).stdout


def read_objects(path):
    """(the objects, what is wrong with the list)"""
    words = [w for line in path.read_text().splitlines()
             for w in line.split("#")[0].split()]
    twice = [w for w, n in collections.Counter(words).items() if n > 1]
    return set(words), [f"{w} is listed twice" for w in twice]


def functions():
    """(name, file) of every definition."""
    files = output("scripts/sources.sh").split()
    tags = output("ctags-universal", "-f", "-", "--languages=C", "--langmap=C:.c.h", "--kinds-C=f",
                  "--fields=", "-I", "__must_hold+,__acquires+,__releases+,__printf+", *files)
    found = []
    for line in tags.splitlines():
        if not line.startswith("!"):
            name, path = line.split("\t")[:2]
            found.append((name, path))
    seen = {path for _, path in found}
    return found, [f"no function in {f}: is it read at all?"
                   for f in files if f.endswith(".c") and f not in seen]


def object_of(name, objects):
    """The longest object that the name begins with and goes on after, or None."""
    words = re.sub(r"^_*(smc_)?", "", name).split("_")
    for n in range(len(words) - 1, 0, -1):
        if "_".join(words[:n]) in objects:
            return "_".join(words[:n])
    return None


def twice(found):
    places = collections.defaultdict(set)
    for name, path in found:
        places[name].add(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1 and paths not in ALTERNATIVES:
            yield f"{name}() is defined in {' and '.join(sorted(paths))}"


def main(args):
    objects, bad_list = read_objects(TOP / "scripts/objects.txt")
    found, unread = functions()
    if args == ["-l"]:
        for name, path in found:
            print(name, path)
        return 0
    used = {object_of(name, objects) for name, _ in found}
    checks = (
        ("every source file is read", unread),
        ("every name begins with an object and goes on",
         [f"{path}: {name}()" for name, path in found
          if name not in CONVENTIONAL and not object_of(name, objects)]),
        ("no name stands for two functions", list(twice(found))),
        ("every object has a function",
         bad_list + [f"{o}: no function of it" for o in sorted(objects - used)]),
    )
    print(f"1..{len(checks)}")
    for n, (what, faults) in enumerate(checks, 1):
        print(f"{'not ok' if faults else 'ok'} {n} names: {what}")
        for fault in faults:
            print(f"# {fault}")
    return 1 if any(faults for _, faults in checks) else 0


if __name__ == "__main__":
    if sys.argv[1:] not in ([], ["-l"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
