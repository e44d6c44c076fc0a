#!/usr/bin/env drgn
# SPDX-License-Identifier: GPL-2.0-only
"""Print the link groups, links and connections of the SMC module, with their states and what the module
remembers of the last changes: an example for drgn. Documentation/troubleshooting.rst explains it.

drgn -s smc.ko smc_objects.py				this host, as root
drgn -c vmcore -s vmlinux -s smc.ko smc_objects.py	a memory image

smc.ko is the one that was loaded, with debugging information. Nothing is locked: on a host that runs,
an object may go away while it is read.
"""
import ipaddress

from drgn import FaultError, Object, ProgramFlags, cast
from drgn.helpers.linux.list import list_for_each_entry

# struct xa_node on 64-bit kernels, which only vmlinux describes
XA_SLOTS_OFFSET = 40
XA_SLOTS = 64


def find_symbol(name):
    """Address of a symbol of the module: drgn 0.0.22 does not find out where modules of Linux 6.12 are"""
    if prog.flags & ProgramFlags.IS_LIVE:
        with open("/proc/kallsyms", encoding="ascii") as symbols:
            for line in symbols:
                if line.split()[2:] == [name, "[smc]"]:
                    return int(line.split()[0], 16)
        raise LookupError("the module is not loaded")
    for module in list_for_each_entry("struct module", prog["modules"].address_of_(), "list"):
        table = module.kallsyms
        if module.name.string_() == b"smc":
            for i in range(table.num_symtab):
                symbol = table.symtab[i]
                if (table.strtab + symbol.st_name).string_().decode() == name:
                    return symbol.st_value.value_()
    raise LookupError("the module is not loaded")


def xa_entries(entry):
    """The pointers in an xarray"""
    if entry & 3 == 2 and entry > 4096:	# a node
        for slot in range(XA_SLOTS):
            yield from xa_entries(prog.read_u64(entry - 2 + XA_SLOTS_OFFSET + slot * 8))
    elif entry and entry & 3 == 0:
        yield entry


def name_of(value, prefix):
    """Of an enum: SMC_LINK_ACTIVE without its prefix is "active"."""
    for e in value.type_.enumerators:
        if e.value == value.value_():
            return e.name.removeprefix(prefix).lower()
    return str(value.value_())


def reason(value):
    return name_of(cast("enum smc_link_reason", value), "SMC_LINK_")


def address(addr):
    """of a struct in6_addr or a union ib_gid"""
    ip = ipaddress.IPv6Address(addr.to_bytes_())
    return str(ip.ipv4_mapped or ip)


def endpoint(end):
    return f"{address(end.addr)} port {end.port.value_()}"


def show(depth, what, *facts):
    """Facts are texts, or pairs of a text and whether it is true."""
    true = [f if isinstance(f, str) else f[0] for f in facts if isinstance(f, str) or f[1]]
    print("  " * depth + what + ": " + ", ".join(true))


def show_link(link, linked):
    state = cast("enum smc_link_state", link.state.counter)
    show(1, f"link {link.uid.value_():08x}", name_of(state, "SMC_LINK_"),
         f"{link.path.dev.name.string_().decode()} port {link.path.port.value_()}",
         f"peer {address(link.peer_gid)} queue pair {link.peer_qpn.value_()}",
         f"{link.nconns.counter.value_()} connections",
         (f"usable since {link.usable_since.value_()} s after boot", link.usable_since),
         (f"failed: {reason(link.reason.counter)}", link.reason.counter),
         (f"to be removed: {reason(link.removal_reason)}", link.removal_reason),
         ("out of the link set", not linked), ("connections held", link.conns_held),
         ("fence begun", link.fence_begun and not link.fenced), ("fenced", link.fenced),
         f"last message at {link.last_rx.value_()} jiffies")


def show_conn(conn):
    tx, rx = conn.tx, conn.rx
    bits = ((0x80, "D"), (0x40, "C"), (0x20, "A"))	# SMC_CDC_S_*
    sent, got = ("".join(c for bit, c in bits if s.value_() & bit) for s in (tx.state, rx.peer_state))
    moved = conn.tcpinfo.moves.value_()
    show(1, f"connection {conn.token.value_():08x}", name_of(conn.state, "SMC_CONN_"),
         f"over {conn.link.uid.value_():08x}",
         f"{endpoint(conn.path.local)} to {endpoint(conn.path.remote)}",
         f"{(tx.ring.prepared - tx.ring.completed).value_()} bytes to send",
         f"{(rx.ring.produced - rx.ring.consumed).value_()} bytes to read",
         (f"sent {sent}", sent), (f"received {got}", got), (f"errno {conn.err.value_()}", conn.err),
         (f"{moved} moves, the last at {conn.tcpinfo.moved_at.value_()} s after boot: "
          f"{reason(conn.tcpinfo.move_reason)}", moved),
         (f"move {name_of(tx.move.state, 'SMC_MOVE_')}", tx.move.state),
         ("waits for a slot or a held link", tx.waiting), ("stopped", tx.stopped),
         (f"{tx.inflight.value_()} requests in flight", tx.inflight))


def show_group(lgr):
    lost = lgr.link_loss
    show(0, f"group {lgr.id.value_():08x}", name_of(lgr.role, "SMC_"),
         "dead" if lgr.dead else "ready" if lgr.ready else "first contact",
         f"peer {address(lgr.peer.tcp_addr)}", f"{lgr.nconns.value_()} connections",
         (f"{lgr.reserved.value_()} in their handshake", lgr.reserved),
         (f"phased out: {reason(lgr.phase_out_reason)}", lgr.phase_out_reason),
         (f"ended: {reason(lgr.reason)}", lgr.reason),
         (f"{lost.count.counter.value_()} links lost, the last at {lost.at.value_()} s after boot: "
          f"{reason(lost.reason)}", lost.count.counter),
         (f"{lgr.conn_moves.counter.value_()} moves", lgr.conn_moves.counter),
         f"LLC: {name_of(lgr.llc.running, 'SMC_LLC_X_')}")
    for linked, links in (True, lgr.links), (False, lgr.unlinked):
        for link in links:
            if link:
                show_link(link, linked)
    for entry in xa_entries(lgr.conns.xa_head.value_()):
        show_conn(Object(prog, "struct smc_lgr_conn_entry *", value=entry).conn)


registry = Object(prog, "struct smc_lgr_registry", address=find_symbol("smc_registry"))
for group in list_for_each_entry("struct smc_lgr", registry.groups.address_of_(), "entry"):
    try:
        show_group(group)
    except FaultError as e:
        print(f"group at {group.value_():#x}: cannot be read to its end: {e}")
