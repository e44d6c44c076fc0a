#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Table of a demo run: which program's bytes went by RDMA.

Reads the guests' reports (data.json) and the capture of the cable (link0.pcap).
The capture is independent of the module: RDMA WRITE requests have their length
in the clear. Exits with 1 if a byte or a connection did not go by RDMA.
"""

import argparse
import json
import os
import struct
import sys

PROGRAMS = (("redis", "redis-server + redis-benchmark"),
            ("nginx", "nginx + curl"),
            ("iperf3", "iperf3"))
HOST_ADDR = {bytes((10, 0, 0, 1)): 1, bytes((10, 0, 0, 2)): 2}

ETH_LEN = 14
ETHERTYPE_IPV4 = b"\x08\x00"
PROTO_ICMP, PROTO_TCP, PROTO_UDP = 1, 6, 17
ROCE_PORT = 4791
BTH_LEN = 12
# Reliable connection: WRITE first, only, only with immediate carry a RETH
# (address 8, key 4, length 4); a later packet of the same WRITE does not.
WRITE_STARTS = (0x06, 0x0a, 0x0b)
MARK_BASE = 1000	# see mark() in demo.sh
ICMP_ECHO = 8


def frames(path):
    """Yield the frames of a capture, as far as they were captured."""
    with open(path, "rb") as f:
        data = f.read()
    if len(data) < 24:
        raise SystemExit(f"demo: {path} holds no capture")
    order = "<" if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
    pos = 24
    while pos + 16 <= len(data):
        size = struct.unpack_from(order + "I", data, pos + 8)[0]
        yield data[pos + 16:pos + 16 + size]
        pos += 16 + size


class Wire:
    """The traffic of one case on the cable, per receiving host."""

    def __init__(self):
        self.written = {1: 0, 2: 0}
        self.tcp = {1: 0, 2: 0}
        self.seen = set()
        self.ended = False

    def roce(self, to, frame, start):
        """Add a WRITE's length once, even if the WRITE was retransmitted."""
        if len(frame) < start + BTH_LEN + 16 or frame[start] not in WRITE_STARTS:
            return
        qp_psn = frame[start + 5:start + 8] + frame[start + 9:start + 12]
        addr = frame[start + BTH_LEN:start + BTH_LEN + 12]
        key = (to, qp_psn, addr)
        if key not in self.seen:
            self.seen.add(key)
            self.written[to] += struct.unpack_from("!I", frame, start + BTH_LEN + 12)[0]


def read_wire(path):
    """Return {case number: Wire}; marks in the capture delimit each case."""
    cases, current = {}, None
    for frame in frames(path):
        if frame[12:14] != ETHERTYPE_IPV4 or len(frame) < ETH_LEN + 20:
            continue
        total = struct.unpack_from("!H", frame, ETH_LEN + 2)[0]
        start = ETH_LEN + (frame[ETH_LEN] & 15) * 4
        proto = frame[ETH_LEN + 9]
        to = HOST_ADDR.get(frame[ETH_LEN + 16:ETH_LEN + 20])
        if proto == PROTO_ICMP and frame[start] == ICMP_ECHO:
            mark = total - 28 - MARK_BASE
            if mark > 0 and mark % 2 == 0:
                current = cases.setdefault(mark // 2, Wire())
            elif mark > 0 and current:
                current.ended = True
                current = None
        elif current and to and proto == PROTO_UDP:
            if struct.unpack_from("!H", frame, start + 2)[0] == ROCE_PORT:
                current.roce(to, frame, start + 8)
        elif current and to and proto == PROTO_TCP:
            current.tcp[to] += total - (start - ETH_LEN) - (frame[start + 12] >> 4) * 4
    return cases


def size(n):
    """Format a number of bytes with a unit."""
    for unit, factor in (("MB", 1e6), ("KB", 1e3)):
        if n >= factor:
            return f"{n / factor:.1f} {unit}"
    return f"{n} B"


class Row:
    """One program: its numbers, and the faults in them."""

    def __init__(self, name, title, data, wire):
        self.name, self.title, self.wire = name, title, wire
        self.data = data
        self.faults = []
        self.modes = {s.split()[2] for h in ("h1", "h2") for s in self.all(h, "socket")}
        self.connections = self.one("h1", "accepted") + self.one("h2", "accepted")
        self.fallbacks = sum(self.one(h, "fallbacks") for h in ("h1", "h2"))
        self.counted = {1: self.one("h2", "bytes"), 2: self.one("h1", "bytes")}

    def all(self, host, key):
        """Return every value that a host has sent under that key."""
        return self.data.get(host, {}).get(f"{self.name}.{key}", [])

    def one(self, host, key):
        """Return the value of that key; report a fault unless there is exactly one."""
        values = self.all(host, key)
        if len(values) != 1:
            self.faults.append(f"{host} sent {len(values)} values of '{key}', not one")
            return 0
        return int(values[0])

    def check(self):
        """Fill in the faults."""
        if self.modes != {"SMCR"}:
            self.faults.append("sock_diag saw the modes " + (", ".join(sorted(self.modes)) or
                                                              "of no connection"))
        if not self.connections:
            self.faults.append("no connection was counted")
        if self.fallbacks:
            self.faults.append(f"{self.fallbacks} fallback(s) to TCP")
        if self.wire is None or not self.wire.ended:
            self.faults.append("its marks are not in the capture")
            return
        for to in (1, 2):
            payload, written = self.one("h2", f"to{to}"), self.wire.written[to]
            if written < payload:
                self.faults.append(f"the program received {payload} bytes on host {to}, but "
                                   f"RDMA WRITEs brought {written}")
            if self.counted[to] < payload:
                self.faults.append(f"the program received {payload} bytes on host {to}, but "
                                   f"the module counted {self.counted[to]}")
            if not self.one(f"h{3 - to}", "packets"):
                self.faults.append(f"rxe of host {3 - to} sent no packet")

    def cells(self):
        """Return the columns of the table."""
        sampled = len(self.all("h2", "socket"))
        mode = {frozenset({"SMCR"}): "SMC-R"}.get(frozenset(self.modes),
                                                   "+".join(sorted(self.modes)) or "none")
        wire = self.wire or Wire()
        packets = self.one("h1", "packets") + self.one("h2", "packets")
        return [self.title, str(self.connections), f"{mode} ({sampled} seen)",
                size(wire.written[1]), size(wire.written[2]),
                f"{size(self.counted[1])} / {size(self.counted[2])}", str(packets),
                size(wire.tcp[1] + wire.tcp[2]), str(self.fallbacks)]


HEAD = ["program", "connections", "mode (sock_diag)", "RDMA to server", "RDMA to client",
        "module's count", "RDMA packets", "left in TCP", "fallbacks"]


def print_table(rows):
    """Print the rows with aligned columns."""
    lines = [HEAD] + [r.cells() for r in rows]
    width = [max(len(ln[i]) for ln in lines) for i in range(len(HEAD))]
    for n, ln in enumerate(lines):
        print("  ".join(c.ljust(w) if i in (0, 2) else c.rjust(w)
                        for i, (c, w) in enumerate(zip(ln, width))).rstrip())
        if n == 0:
            print("  ".join("-" * w for w in width))


def main():
    """Print the table and the verdict."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="output folder of the run")
    args = parser.parse_args()

    with open(os.path.join(args.out, "data.json"), encoding="utf-8") as f:
        data = json.load(f)
    wire = read_wire(os.path.join(args.out, "link0.pcap"))
    rows = [Row(name, title, data, wire.get(n))
            for n, (name, title) in enumerate(PROGRAMS, 1)]
    for row in rows:
        row.check()
    print_table(rows)
    print("\nRDMA to server, to client: lengths of the RDMA WRITE requests captured on the"
          " cable.\nRDMA packets: what the two Soft-RoCE devices sent.  Left in TCP: the"
          " handshakes.")
    faults = [f"{r.title}: {text}" for r in rows for text in dict.fromkeys(r.faults)]
    for text in faults:
        print(f"demo: {text}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
