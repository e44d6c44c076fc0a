#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Let clang look at sources that gcc has built as a module.

Debian's kernels are configured for gcc, so a build with clang is not possible;
its warnings are. The gcc command lines of a finished build (the .cmd files) are
run again as clang -fsyntax-only, without the flags that only gcc knows.

Usage: clang-syntax.py BUILD_FOLDER
"""
import os
import re
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

GCC_ONLY = re.compile(
    r"-m(function-return|indirect-branch|preferred-stack-boundary|record-mcount|fentry"
    r"|harden-sls|skip-rax-setup|tune).*|-f(conserve-stack|no-allow-store-data-races"
    r"|plugin.*|trivial-auto-var-init.*|zero-call-used-regs.*|min-function-alignment.*"
    r"|no-stack-clash-protection|strict-flex-arrays.*)|-Wp,-MMD.*|-W(imply-.*|packed-not-aligned"
    r"|maybe-uninitialized|stringop.*|cast-function-type)|-Wformat-.*"
    r"|--param=.*|-Wunused-but-set-variable")

# Kbuild takes one of the two kinds of the TCP option, and these only for debug builds or with BTF.
LEFT_OUT = ("base/fault", "base/hs_ctrl", "tcp/option_", "proto/tcp_opt")


def command(cmd_file):
    """The compiler call in a .cmd file as clang's arguments, None if it has none."""
    with open(cmd_file, encoding="utf-8") as f:
        line = f.readline()
    words = shlex.split(line.split(":=", 1)[1].split(";")[0])
    if not words or not re.search(r"gcc(-\d+)?$", words[0]):
        return None
    words = [w for w in words[1:] if not GCC_ONLY.fullmatch(w)]
    out = words.index("-o")
    del words[out:out + 2]
    return ["clang", "-fsyntax-only", "-Wno-unknown-warning-option", "-Wno-gnu",
            "-Wno-unused-command-line-argument", "-Wno-address-of-packed-member",
            "-Wno-unused-const-variable"] + words


def look_at(source, tree):
    """What clang says about a source file; nothing if it is content."""
    folder, name = os.path.split(source)
    cmd_file = os.path.join(tree, folder, f".{name[:-2]}.o.cmd")
    args = command(cmd_file)
    if args is None:
        return f"no compiler call in {cmd_file}"
    # paths in the command are relative to the kernel's build folder
    run = subprocess.run(args, cwd=kernel_dir(tree), capture_output=True, text=True, check=False)
    return complaints(run.stderr, tree) or (run.stderr if run.returncode else "")


def left_out(source, tree):
    """Whether the build does not have this file, and need not have it."""
    folder, name = os.path.split(source)
    return source.startswith(LEFT_OUT) and not os.path.exists(
        os.path.join(tree, folder, f".{name[:-2]}.o.cmd"))


def main(folder):
    tree = os.path.realpath(folder)
    sources = subprocess.run([f"{tree}/scripts/sources.sh", "-c"], check=True, text=True,
                             stdout=subprocess.PIPE).stdout.split()
    sources = [s for s in sources if not left_out(s, tree)]
    if not sources:
        sys.exit(f"{folder} has no build")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        said = list(pool.map(lambda s: look_at(s, tree), sources))
    for source, text in zip(sources, said):
        if text:
            print(f"{source}\n{text}")
    bad = sum(bool(text) for text in said)
    print(f"{len(sources)} files, {bad} with complaints")
    return 1 if bad else 0


def kernel_dir(tree):
    """Where make ran: build-modules.sh leaves a link to it."""
    return os.path.realpath(os.path.join(tree, "kdir"))


def complaints(stderr, tree):
    """Only what concerns our files; the kernel's headers are not ours to mend."""
    blocks = re.split(r"(?m)^(?=\S+:\d+:\d+: (?:warning|error))", stderr)
    top = os.path.dirname(os.path.dirname(tree))
    return "".join(b for b in blocks if b.startswith(top) and "/.cache/" not in b.split(":")[0])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1]))
