#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Every call of the kernel that may fail has a fault site (include/smc/base/fault.h).

Looks at each function call of the module's files: what allocates, registers,
creates, or asks the RDMA core or the clcsock for something has to stand inside
smc_fault_null(), smc_fault_ptr() or smc_fault_rc(), or behind smc_fault_hit() in
one of the two lines before. Then compares enum, table and code. Prints KTAP.

Usage: check-faults.py [FOLDER]
"""
import itertools
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)

# What may fail, by name. Whoever adds a call of another kind adds its name.
FALLIBLE = re.compile(
    r"""(
    \w*alloc\w* | kmem\w*dup\w* | kmemdup\w* | kstrdup\w* | kasprintf | kvmemdup
    | \w*_get_free_pages? | get_zeroed_page\w* | mempool_\w+ | dup_\w+
    | \w*xa_(?:alloc|store|insert|reserve|cmpxchg)\w* | i[dr][ra]_(?:alloc|get)\w*
    | \w*register\w* | \w*_create\w* | proc_\w+ | kthread_\w+
    | ib_(?:create|modify|map|dma_map|post|query|get_cached|resize|rereg|reg)_?\w*
    | rdma_(?:resolve|find|get|read|create|query)_\w+
    | dma_map_\w+ | sg_\w*alloc\w* | (?:gen)?nlmsg_new | rhashtable_(?:init|\w*insert\w*)
    | kernel_(?:accept|sendmsg|recvmsg|bind|listen|connect|sendpage|getsockname)
    | sock_(?:map_fd|alloc\w*) | get_unused_fd\w*
    )$""",
    re.VERBOSE,
)
# ... and what looks so but does not fail, or is not ours to make fail.
HARMLESS = re.compile(
    r"(\w*unregister\w*|\w*dealloc\w*|\w*_destroy\w*|proc_do\w+|ib_register_event_handler"
    r"|sock_diag_register|vmalloc_to_page|is_vmalloc_addr|\w*_mapping_error|memalloc_\w+_(?:save|restore))$"
)
# Places where the call cannot fail: (file or folder/*, call) -> why
EXEMPT = {
    ("lgr/conns.c", "__xa_store"): "replaces the index's mark, needs no memory",
    ("tcp/clcsock.c", "kernel_recvmsg"): "only drops what TCP has at hand",
    ("tcp/clcsock.c", "__netns_tracker_alloc"): "a debugging aid of the kernel, which goes without",
    ("smc_ib.c", "rdma_read_gid_attr_ndev_rcu"): "looks at a pointer, to tell a number by netlink",
    ("rdma/region.c", "__vmalloc"): "REGION_MEM fails it with what stands around it",
    ("rdma/region.c", "alloc_pages_exact"): "REGION_PIECE fails the one; the other only asks whether it would",
    ("socket/inet.c", "inet_register_protosw"): "does not say whether it did",
    ("base/hs_ctrl.c", "register_bpf_struct_ops"): "the module goes without, as a build without BTF does",
    ("handshake/upgradable.c", "kvcalloc"): "net.smc.upgrade_bytes is off there; nothing is remembered",
    ("socket/upgrade.c", "kzalloc"): "net.smc.upgrade_bytes is off there; the connection is TCP",
    ("base/fault.c", "*"): "is not part of the module that users run",
    ("netlink/sock_diag.c", "*"): "a module of its own: one registration, the rest is netlink's memory",
    ("loopback/*", "*"): "smc_lo, a module of its own: a device that fails is what smc.ko's own sites make",
}
WRAP = re.compile(r"\bsmc_fault_(?:null|ptr|rc)\s*\(")
CALL = re.compile(r"(?<![\w.>])([a-z_]\w*)\s*\(")
USE = re.compile(r"\bsmc_fault_(?:null|ptr|rc)\s*\(\s*([A-Z]\w*)|\bSMC_FAULT_([A-Z]\w*)")


def blank(m):
    """Same length, same lines, nothing in it."""
    return re.sub(r"[^\n]", " ", m.group(0))


def code_of(path):
    text = path.read_text()
    text = re.sub(r"/\*.*?\*/|//[^\n]*", blank, text, flags=re.DOTALL)
    text = re.sub(r'"(?:\\.|[^"\\\n])*"', blank, text)
    # a directive with its continuation lines
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", blank, text, flags=re.MULTILINE)


def closing(text, i):
    depth = 0
    for j in range(i, len(text)):
        depth += {"(": 1, ")": -1}.get(text[j], 0)
        if not depth:
            return j
    return len(text)


def is_definition(text, call):
    """At the beginning of a line stands its return type, and behind it a body or nothing."""
    line = text.rfind("\n", 0, call.start()) + 1
    head = text[line:call.start()]
    return bool(re.match(r"[a-z][\w \t*]*$", head)) and not head.startswith(("return", "else"))


def main():
    listed = subprocess.run([TOP / "scripts/sources.sh", "-c"], check=True, text=True,
                            stdout=subprocess.PIPE).stdout.split()
    # proto/ calls nothing of the kernel
    texts = {f: code_of(TOP / f) for f in listed if not f.startswith("proto/")}
    own = set()
    for t in texts.values():
        own |= {c.group(1) for c in CALL.finditer(t) if is_definition(t, c)}
    bare, used = [], {}
    for name, t in texts.items():
        inside = [(m.end() - 1, closing(t, m.end() - 1)) for m in WRAP.finditer(t)]
        for m in USE.finditer(t):
            site = m.group(1) or m.group(2)
            if name != "base/fault.c" and site != "SITES":
                used.setdefault(site, []).append(f"{name}:{t.count(chr(10), 0, m.start()) + 1}")
        lines = t.split("\n")
        for c in CALL.finditer(t):
            f = c.group(1)
            # ours check themselves; wrappers of include/compat/ are the kernel's
            if not FALLIBLE.match(f) or HARMLESS.match(f) or f in own:
                continue
            if f.startswith("smc_") and not f.startswith("smc_compat_"):
                continue
            folder = name.rpartition("/")[0] + "/*"
            if not EXEMPT.keys().isdisjoint({(name, f), (name, "*"), (folder, "*")}):
                continue
            if any(a < c.start() < b for a, b in inside):
                continue
            n = t.count("\n", 0, c.start())
            if any("smc_fault_hit(" in x for x in lines[max(0, n - 2):n + 1]):
                continue
            bare.append(f"{name}:{n + 1}: {f}() has no fault site")

    header = (TOP / "include/smc/base/fault.h").read_text()
    enum = re.findall(r"^\tSMC_FAULT_([A-Z]\w*),$", header, flags=re.MULTILINE)
    table = re.findall(r"^\tSITE\(([A-Z]\w*), \"(\w+)\"\),$",
                       (TOP / "base/fault.c").read_text(), flags=re.MULTILINE)
    odd = [f"{s}: in code, not in fault.h" for s in used if s not in enum]
    odd += [f"{s}: in fault.h, not in code" for s in enum if s not in used]
    odd += [f"{s}: in {' and '.join(w)}: one name for each place"
            for s, w in used.items() if len(w) > 1]
    odd += [f"{e} in the enum, {t} in the table"
            for e, (t, _) in itertools.zip_longest(enum, table, fillvalue=("nothing", ""))
            if e != t][:1]

    print("KTAP version 1\n1..2")
    for i, (what, bad) in enumerate((("every call that may fail has a site", bare),
                                     ("each site has one place, and is listed", odd)), 1):
        print(f"{'not ok' if bad or not enum else 'ok'} {i} faults: {what}")
        for b in bad:
            print(f"# {b}")
    return 1 if bare or odd or not enum else 0


if __name__ == "__main__":
    sys.exit(main())
