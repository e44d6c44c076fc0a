#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Prove that the folders of the module are layers (scripts/layers.txt).

From the objects of a build: no symbol is used upward between folders, the objects of one
folder use each other without a cycle, proto/ needs nothing of the kernel but memory
functions. From the sources: every file belongs to a layer, no #include names a header of
a higher layer, a private header stays within its folder. From both: Documentation/layers.svg
is up to date. Prints KTAP.

Usage: check-layers.py [BUILD_FOLDER]	(default: the newest below build/)
       check-layers.py --draw		(writes Documentation/layers.svg)
"""
import collections
import pathlib
import re
import subprocess
import sys
from xml.sax.saxutils import escape

TOP = pathlib.Path(__file__).resolve().parent.parent
PICTURE = TOP / "Documentation/layers.svg"
# What gcc and the kernel's headers call for memcpy() and the like, canaries and WARN().
PURE = re.compile(r"(mem(cpy|set|cmp|move)|__(x86_|fentry|(ref_)?stack_chk|fortify|warn_printk|SCT__WARN_trap"
                  r"|ubsan|popc|ctz|sw_hweight)|fortify_panic|__fortify_panic|str(len|nlen))")
# Built as a module of its own: uses what smc.ko exports, like a layer above netlink/.
DIAG = "netlink/sock_diag"


class Layers:
    """What layers.txt says."""

    def __init__(self, path):
        self.order = []		# folders, lowest first
        self.about = {}
        self.doors = {}		# entry point: its folder
        self.apart = []
        for line in path.read_text().splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            name, _, rest = line.partition(":")
            if name == "apart":
                self.apart.append(set(rest.split()))
                continue
            doors, _, about = rest.partition("|")
            self.order.append(name)
            self.about[name] = about.strip()
            for door in doors.split():
                self.doors[door] = name

    def of_object(self, obj):
        """The folder of an object (a path without its ending), or None."""
        folder, _, name = obj.rpartition("/")
        return self.doors.get(name) if not folder else folder if folder in self.order else None

    def allows(self, user, used):
        if user == used:
            return True
        if any({user, used} <= pair for pair in self.apart):
            return False
        return self.order.index(user) > self.order.index(used)


def sources(*options):
    return subprocess.run([TOP / "scripts/sources.sh", *options], check=True, text=True,
                          stdout=subprocess.PIPE).stdout.split()


# ---- sources ----

def unplaced(layers, files):
    """Files without a layer, and layers or entry points without a file."""
    objects = [f[:-2] for f in files if f.endswith(".c")]
    for o in objects:
        if layers.of_object(o) is None:
            yield f"{o}.c is in no layer"
    for door in layers.doors:
        if door not in objects:
            yield f"{door}: no such file"
    for folder in layers.order:
        if not any(layers.of_object(o) == folder for o in objects):
            yield f"{folder}: no file"


def includes(layers, files):
    """(file, its folder, folder of a header that it includes, is the header private?)"""
    for f in files:
        if f.startswith("include/smc/"):
            own = f.split("/")[2]
        else:
            own = layers.of_object(f[:-2])
        for line in (TOP / f).read_text().splitlines():
            m = re.match(r'#include (?:<smc/([a-z]+)/\w+\.h>|"([\w/.]+)")', line)
            if not m:
                continue
            if m[1]:
                yield f, own, m[1], False
                continue
            path = (pathlib.Path(f).parent / m[2]).as_posix()
            yield f, own, layers.of_object(path[:-2]), True


def bad_includes(layers, found):
    for f, own, used, private in found:
        if used not in layers.order:
            yield f"{f} includes a header of {used}, which is no layer"
        elif private and own != used:
            yield f"{f} includes a private header of {used}/"
        elif not layers.allows(own, used):
            yield f"{f} ({own}) includes a header of {used}"


# ---- objects ----

def symbols(build, objects):
    """{object: symbols it defines}, {object: symbols it needs}"""
    defined, needed = {}, {}
    for o in objects:
        path = build / f"{o}.o"
        if not path.exists():
            continue
        out = subprocess.run(["nm", path], check=True, text=True, stdout=subprocess.PIPE).stdout
        defined[o], needed[o] = set(), set()
        for line in out.splitlines():
            kind, name = line.split()[-2:]
            if kind in "TDRBGS":
                defined[o].add(name)
            elif kind == "U":
                needed[o].add(name)
    return defined, needed


def uses(defined, needed):
    """(object, object that it needs, symbol)"""
    home = {name: o for o, names in defined.items() for name in names if o != DIAG}
    for o in sorted(needed):
        for name in sorted(needed[o]):
            if name in home and home[name] != o:
                yield o, home[name], name


def upward(layers, found):
    for user, used, name in found:
        a, b = layers.of_object(user), layers.of_object(used)
        if a and b and not layers.allows(a, b):
            yield f"{user} ({a}) needs {name} of {used} ({b})"


def cycles(layers, found):
    """Objects of one folder that need each other, as 'a -> b -> a'."""
    edges = collections.defaultdict(set)
    for user, used, _ in found:
        if layers.of_object(user) == layers.of_object(used):
            edges[user].add(used)
    state = {}

    def visit(o, path):
        if state.get(o) == "done":
            return
        if o in path:
            yield " -> ".join(path[path.index(o):] + [o])
            return
        for other in sorted(edges[o]):
            yield from visit(other, path + [o])
        state[o] = "done"

    for o in sorted(edges):
        yield from visit(o, [])


def impure(defined, needed):
    own = set().union(*(names for o, names in defined.items() if o.startswith("proto/")))
    for o in sorted(needed):
        if o.startswith("proto/"):
            for name in sorted(needed[o] - own):
                if not PURE.match(name):
                    yield f"{o} needs {name}"


# ---- the picture ----

ROW, LEFT, WIDTH, STEP, CHARS = 58, 20, 640, 26, 104


def wrap(words):
    lines = [""]
    for word in words:
        if len(lines[-1]) + len(word) > CHARS:
            lines.append("")
        lines[-1] += word + " "
    return [line.strip() for line in lines]


def draw(layers, files, found):
    """Layers as a stack with their files, and which folder uses which as a matrix."""
    order = layers.order[::-1]
    pairs = {(own, used) for _, own, used, _ in found if own != used}
    matrix = LEFT + WIDTH + 60
    height = 60 + ROW * len(order) + 30
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{matrix + STEP * len(order) + 20}" '
           f'height="{height}" font-family="sans-serif" font-size="12">',
           "<!-- SPDX-License-Identifier: GPL-2.0-only; drawn by scripts/check-layers.py -->",
           '<rect width="100%" height="100%" fill="white"/>',
           f'<text x="{LEFT}" y="24" font-size="15">A folder uses only folders below it</text>',
           f'<text x="{matrix}" y="24" font-size="15">row uses column</text>']
    for n, folder in enumerate(order):
        y = 44 + ROW * n
        mine = [f for f in files if f.endswith(".c") and layers.of_object(f[:-2]) == folder]
        names = [f for f in mine if "/" not in f] + [f.split("/")[1] for f in mine if "/" in f]
        out.append(f'<rect x="{LEFT}" y="{y}" width="{WIDTH}" height="{ROW - 6}" rx="4" '
                   'fill="#eef3f8" stroke="#7890a8"/>')
        title = folder + "/" if any("/" in f for f in mine) else folder
        out.append(f'<text x="{LEFT + 10}" y="{y + 16}"><tspan font-weight="bold">{title}</tspan>'
                   f'  {escape(layers.about[folder])}</text>')
        for k, line in enumerate(wrap(names)[:2]):
            out.append(f'<text x="{LEFT + 10}" y="{y + 31 + 14 * k}" font-size="10.5" '
                       f'fill="#334">{escape(line)}</text>')
        for k, other in enumerate(order):
            x, mid = matrix + STEP * k, y + (ROW - 6) / 2
            fill = "#2a5a8a" if (folder, other) in pairs else "none" if k <= n else "#eee"
            if k == n:
                out.append(f'<text x="{x + 16}" y="{mid + 4}" font-size="11" '
                           f'text-anchor="end">{folder}</text>')
            elif k > n:
                out.append(f'<circle cx="{x + 8}" cy="{mid}" r="6" fill="{fill}"/>')
    return "\n".join(out) + "\n</svg>\n"


# ---- results ----

def newest_build():
    built = sorted(TOP.glob("build/*/smc.ko"), key=lambda p: p.stat().st_mtime)
    if not built:
        sys.exit(f"no built module below {TOP}/build: run scripts/build-modules.sh")
    return built[-1].parent


def main(args):
    layers = Layers(TOP / "scripts/layers.txt")
    files = sources()
    found_includes = list(includes(layers, files))
    picture = draw(layers, files, found_includes)
    if args == ["--draw"]:
        PICTURE.write_text(picture)
        return 0
    build = pathlib.Path(args[0]) if args else newest_build()
    if not (build / "smc.ko").exists():
        sys.exit(f"no built module in {build}: run scripts/build-modules.sh")
    defined, needed = symbols(build, [f[:-2] for f in files if f.endswith(".c")])
    found = list(uses(defined, needed))
    stale = [] if PICTURE.exists() and PICTURE.read_text() == picture else \
        ["run scripts/check-layers.py --draw"]
    checks = (
        ("every file belongs to a layer", list(unplaced(layers, files))),
        ("symbols are used downward only", list(upward(layers, found))),
        ("no cycle inside a folder", list(cycles(layers, found))),
        ("headers are included downward only", list(bad_includes(layers, found_includes))),
        ("proto/ needs no kernel services", list(impure(defined, needed))),
        ("Documentation/layers.svg is up to date", stale),
    )
    print(f"1..{len(checks)}")
    for n, (what, faults) in enumerate(checks, 1):
        if not found:
            faults = faults + [f"no object in {build} uses another one"]
        print(f"{'not ok' if faults else 'ok'} {n} layers: {what}")
        for fault in faults:
            print(f"# {fault}")
    return 1 if any(faults for _, faults in checks) or not found else 0


if __name__ == "__main__":
    if len(sys.argv) > 2 or sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1:]))
