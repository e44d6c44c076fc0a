#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Print what is allocated for a connection, and for a group: tables of performance.rst.

The sizes of structures are those of debugging information: DWARF of our smc.ko (made by
scripts/build-modules.sh without -n), and for the in-tree family the BTF of its module and of its
kernel (scripts/extract-vmlinux of a kernel source makes VMLINUX of a vmlinuz). They are rounded up
to what kmalloc() takes for them. Sizes of rings are the defaults. Fails if a structure is not
found.

Needs pahole ($PAHOLE), which no test installs: where it is, builds of the module make BTF, too.

Usage: sizes.py SMC_KO INTREE_KO VMLINUX
"""

import os
import pathlib
import re
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
PAHOLE = os.environ.get("PAHOLE", "pahole")
KMALLOC = (8, 16, 32, 64, 96, 128, 192, 256, 512, 1024, 2048, 4096, 8192)


def sizes(*args):
    """Return {structure: bytes}."""
    out = subprocess.run([PAHOLE, *args, "-s"], check=True, text=True, stdout=subprocess.PIPE)
    return {name: int(size) for name, size, _ in
            (line.split("\t") for line in out.stdout.splitlines() if line.count("\t") == 2)}


def taken(size):
    """Return what kmalloc() takes; above two pages these are pages, a power of two of them."""
    for k in KMALLOC:
        if size <= k:
            return k
    return 1 << (size - 1).bit_length()


def number_of(name, path):
    """Return the number that a source file defines, in its first word that is one."""
    m = re.search(rf"^#define {name}\s+\(?(\d+)", (TOP / path).read_text(), re.M)
    if not m:
        sys.exit(f"sizes: {path} does not define {name}")
    return int(m[1])


def value_of(name):
    """Return a default of net.smc.*, as tuning.rst has it."""
    text = (TOP / "Documentation/tuning.rst").read_text()
    m = re.search(rf"^(?:\w+, )?{name}\b\S*\s+(\d+)", text, re.M) or \
        re.search(rf"^{name}, \w+\s+(\d+)", text, re.M)
    if not m:
        sys.exit(f"sizes: tuning.rst has no {name}")
    return int(m[1])


def connection(ours, theirs, kernel):
    """Rows of a connection: what, ours, in-tree, when."""
    ring, rmbe = value_of("wmem"), value_of("rmem")
    clcsock = kernel["tcp_sock"] + kernel["socket_alloc"]
    desc = taken(theirs["smc_buf_desc"])
    upgrade = ours["smc_conn"] + ours["smc_conn_upgrade"]
    return (
        ("``struct smc_sock``", ours["smc_sock"], theirs["smc_sock"], "from socket() on"),
        ("clcsock: ``struct tcp_sock``, ``struct socket_alloc``", clcsock, clcsock,
         "from socket() on"),
        ("``struct smc_conn``", taken(ours["smc_conn"]), 0,
         f"SMC-R; in-tree {theirs['smc_connection']} of ``smc_sock``"),
        ("entry of the table of tokens", taken(ours["smc_lgr_conn_entry"]), 0, "SMC-R"),
        ("RMBE", rmbe, rmbe + desc, "SMC-R; in-tree with a descriptor"),
        ("send ring", number_of("SMC_ELEM_SIZE_FIRST", "include/smc/rdma/region.h"), ring + desc,
         "SMC-R; in-tree with a descriptor"),
        ("a bigger one beside or instead", ring, 0, "from a write of more on"),
        ("... of a stream", 4 * ring, 0, "while it is one"),
        ("``struct smc_hs_msgs``", taken(ours["smc_hs_msgs"]), None, "handshake of two ends with SMC"),
        ("``struct smc_orphan``", taken(ours["smc_orphan"]), 0, "after close(), until TCP's end"),
        ("``struct smc_deferred``", taken(ours["smc_deferred"]), 0, "begins as TCP"),
        ("``struct smc_conn`` with an upgrade", taken(upgrade), 0, "began as TCP, in its place"),
    )


def group(ours, theirs):
    """Rows of a group with one link: what, ours, in-tree, when."""
    llc_slots = number_of("LLC_SLOTS", "rdma/qp.c") + 1 + \
        number_of("SMC_TAIL_PROBES", "rdma/internal.h")
    slots = value_of("smcr_max_send_wr") * number_of("SEND_BATCHES", "rdma/qp.c") + llc_slots
    recvs = value_of("smcr_max_recv_wr") * number_of("RECV_BATCHES", "rdma/qp.c")
    piece = number_of("PIECE_MSGS", "rdma/qp.c") * number_of("MSG_STRIDE", "rdma/qp.c")
    pieces = -(-slots // number_of("PIECE_MSGS", "rdma/qp.c"))
    spills = number_of("SMC_WR_SPILLS", "include/smc/rdma/wr.h")
    recv_pieces = -(-recvs // number_of("PIECE_MSGS", "rdma/qp.c"))
    longest = number_of("SMC_WR_LLC_MAX", "include/smc/rdma/wr.h")
    return (
        ("``struct smc_lgr``, ``smc_llc``", taken(ours["smc_lgr"]) + taken(ours["smc_llc"]),
         taken(theirs["smc_link_group"]), "a group; in-tree with its links"),
        ("tokens of the peer's RMBs",
         taken(ours["smc_rtoken"] * number_of("SMC_LGR_RTOKEN_PIECE", "include/smc/lgr/lgr.h")),
         0, "a group; grows to 16 times that"),
        ("``struct smc_link``, ``smc_qp``", taken(ours["smc_link"]) + taken(ours["smc_qp"]), 0,
         "a link; in-tree within the group"),
        (f"{slots} send slots", taken(slots * ours["smc_wr_slot"]), None, "a link"),
        ("... their messages", pieces * piece + longest, None, "a link"),
        (f"{recvs} receives", taken(recvs * ours["smc_wr_recv"]), None, "a link"),
        ("... their messages", recv_pieces * piece + spills * longest, None, "a link"),
        ("``struct smc_region``, ``smc_mapping``",
         taken(ours["smc_region"]) + taken(ours["smc_mapping"]) + taken(ours["smc_mapping_dma"]),
         0, "each region of eight elements"),
    )


def table(rows):
    """Return the rows as a table of reStructuredText."""
    lines = [("allocation", "ours", "in-tree", "when")]
    for what, ours, theirs, when in rows:
        lines.append((what, *("-" if n is None else f"{n}" for n in (ours, theirs)), when))
    width = [max(len(line[i]) for line in lines) for i in range(4)]
    rule = "  ".join("=" * w for w in width)
    out = ["  ".join((a.ljust(width[0]), b.rjust(width[1]), c.rjust(width[2]), d)).rstrip()
           for a, b, c, d in lines]
    return "\n".join([rule, out[0], rule, *out[1:], rule])


def main(ours, theirs, vmlinux):
    kernel = sizes(vmlinux)
    mine, intree = sizes(ours), sizes("--btf_base", vmlinux, theirs)
    print(table(connection(mine, intree, kernel)))
    print()
    print(table(group(mine, intree)))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
