#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Count the SMC-R traffic on a captured link, without any SMC code.

Usage: roce.py [--tshark] PCAP

Prints JSON. Per direction ("10.0.0.1>10.0.0.2", "fd00::1>fd00::2"):
  write_bytes    RDMA WRITE payload, without retransmissions
  write_msgs     RDMA WRITE messages
  imms           of these: with an immediate value, in place of a CDC message
  caps           LLC messages CAPABILITIES, of native peers
  write_targets  different (rkey, 1 MiB of address) pairs written to
  addresses      where the sender's Accepts and Confirms say that its RMBs are
  cdc, llc       SENDs with a CDC message; LLC messages by name
  send_other     SENDs with neither; each is a bug
  resent         RoCE packets seen again
  tos            values of TOS or traffic class of the RoCE packets, ACKs included
  tcp_bytes      TCP payload, retransmissions included
  clc            CLC messages by name, found by their eye catcher
  bad            CLC or LLC messages whose length does not fit their type
With --tshark also the result of tshark, as "tshark": frames that it decodes
as clc, llc and cdc, and "malformed" ones, by number. tshark 4.0 of Debian 12
does not recognise a v2 LLC message whose length has its low byte first.
Works with captures cut at 512 bytes a frame: lengths come from the headers.
"""

import collections
import json
import re
import socket
import struct
import subprocess
import sys

ROCE_PORT = 4791
BTH = struct.Struct(">BBHII")	# opcode, flags, key, QP number, PSN
RETH_LEN = 16
IMM_LEN = 4
ICRC_LEN = 4

# Opcodes of the RC transport (low 5 bits, high 3 bits zero).
RC = 0
SEND_FIRST, SEND_MIDDLE, SEND_LAST, SEND_LAST_IMM, SEND_ONLY, SEND_ONLY_IMM = range(6)
WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM = range(6, 12)
SENDS = {SEND_ONLY, SEND_ONLY_IMM, 0x17}
WRITES = {WRITE_FIRST, WRITE_MIDDLE, WRITE_LAST, WRITE_LAST_IMM, WRITE_ONLY, WRITE_ONLY_IMM}

CDC = 0xfe
CAPS = b"\xb0\x2c\0\0\xd2SM"	# type, length, OUI: optional to others, tshark does not know it
LLC_NAMES = {1: "confirm_link", 2: "add_link", 3: "add_link_cont", 4: "delete_link",
             6: "confirm_rkey", 7: "test_link", 8: "confirm_rkey_cont", 9: "delete_rkey",
             5: "request_add_link"}
LLC_LEN = 44
CLC_ADDRESS = 52		# offset of the address of the RMB in Accept and Confirm
CLC_NAMES = {1: "proposal", 2: "accept", 3: "confirm", 4: "decline"}
EYECATCHERS = (b"\xe2\xd4\xc3\xd9", b"\xe2\xd4\xc3\xc4")


def new_direction():
    return {"write_bytes": 0, "write_msgs": 0, "imms": 0, "caps": 0, "write_targets": set(),
            "addresses": set(), "cdc": 0,
            "llc": collections.Counter(), "send_other": 0, "resent": 0, "tos": set(), "tcp_bytes": 0,
            "clc": collections.Counter(), "bad": []}


def frames(path):
    """Yield the captured bytes of each frame of a classic pcap file."""
    with open(path, "rb") as f:
        head = f.read(24)
        if len(head) < 24:
            raise SystemExit(f"{path} is not a pcap file")
        magic = struct.unpack("<I", head[:4])[0]
        order = {0xa1b2c3d4: "<", 0xd4c3b2a1: ">", 0xa1b23c4d: "<"}.get(magic)
        if not order:
            raise SystemExit(f"{path} is not a pcap file")
        while True:
            rec = f.read(16)
            if len(rec) < 16:
                return
            length = struct.unpack(order + "IIII", rec)[2]
            data = f.read(length)
            if len(data) < length:
                return
            yield data


class Link:
    """The counters of one capture."""

    def __init__(self):
        self.dirs = collections.defaultdict(new_direction)
        self.seen = collections.defaultdict(dict)

    def frame(self, data):
        if len(data) < 34:
            return
        proto, off = struct.unpack_from(">H", data, 12)[0], 14
        if proto == 0x8100:
            proto, off = struct.unpack_from(">H", data, 16)[0], 18
        if proto == 0x0800:
            ihl = (data[off] & 15) * 4
            total = struct.unpack_from(">H", data, off + 2)[0]
            src, dst = (".".join(map(str, data[o:o + 4])) for o in (off + 12, off + 16))
            l4, payload, size = data[off + 9], off + ihl, total - ihl
            tos = data[off + 1]
        elif proto == 0x86dd:
            size = struct.unpack_from(">H", data, off + 4)[0]
            src, dst = (socket.inet_ntop(socket.AF_INET6, data[o:o + 16])
                        for o in (off + 8, off + 24))
            l4, payload = data[off + 6], off + 40
            tos = struct.unpack_from(">H", data, off)[0] >> 4 & 255
        else:
            return
        direction = f"{src}>{dst}"
        if l4 == 6:
            self.tcp(direction, data, payload, size)
        elif l4 == 17 and len(data) >= payload + 20:
            if struct.unpack_from(">H", data, payload + 2)[0] == ROCE_PORT:
                self.dirs[direction]["tos"].add(tos)
                self.roce(direction, data, payload + 8, size - 8)

    def tcp(self, direction, data, off, size):
        if len(data) < off + 20:
            return
        hlen = (data[off + 12] >> 4) * 4
        body = data[off + hlen:off + size]
        d = self.dirs[direction]
        d["tcp_bytes"] += size - hlen
        if size - hlen >= 8 and body[:4] in EYECATCHERS:
            kind, length = body[4], struct.unpack_from(">H", body, 5)[0]
            d["clc"][CLC_NAMES.get(kind, f"type_{kind}")] += 1
            if length != size - hlen or kind not in CLC_NAMES:
                d["bad"].append(f"CLC type {kind} has length field {length}, is {size - hlen}")
            elif CLC_NAMES[kind] in ("accept", "confirm") and len(body) >= CLC_ADDRESS + 8:
                d["addresses"].add(struct.unpack_from(">Q", body, CLC_ADDRESS)[0])

    def roce(self, direction, data, off, size):
        opcode, flags, _, qpn, psn = BTH.unpack_from(data, off)
        qpn &= 0xffffff
        psn &= 0xffffff
        op = opcode & 31
        if opcode >> 5 != RC or (op not in SENDS and op not in WRITES):
            return
        d = self.dirs[direction]
        # Only the same bytes under the same PSN are a repetition: PSNs wrap,
        # and queue pair numbers are used again.
        seen = self.seen[direction, qpn]
        key = (psn, opcode, data[off + 12:off + 60])
        if seen.get(psn) == key:
            d["resent"] += 1
            return
        seen[psn] = key

        pad = flags >> 4 & 3
        length = size - BTH.size - ICRC_LEN - pad
        body = off + BTH.size
        if op in SENDS:
            self.send(d, data[body:body + length], length)
            return
        if op in (WRITE_FIRST, WRITE_ONLY, WRITE_ONLY_IMM):
            addr, rkey, _ = struct.unpack_from(">QII", data, body)
            d["write_msgs"] += 1
            d["write_targets"].add((rkey, addr >> 20))
            length -= RETH_LEN
        if op in (WRITE_LAST_IMM, WRITE_ONLY_IMM):
            length -= IMM_LEN
            d["imms"] += 1
        d["write_bytes"] += length

    @staticmethod
    def send(d, body, length):
        kind = body[0] if body else -1
        if kind == CDC:
            d["cdc"] += 1
            if length != LLC_LEN or body[1] != LLC_LEN:
                d["bad"].append(f"CDC of {length} bytes")
            return
        if body.startswith(CAPS) and length == LLC_LEN:
            d["caps"] += 1
            return
        name = LLC_NAMES.get(kind & 15) if kind >> 4 in (0, 2) else None
        if not name:
            d["send_other"] += 1
            return
        v2 = kind >> 4 == 2
        d["llc"][name + ("_v2" if v2 else "")] += 1
        # v1 has 8 bits of length; v2 has 16, which Linux on x86 writes with
        # the low byte first.
        fields = {body[1]}
        if v2:
            fields = {struct.unpack_from(o + "H", body, 1)[0] for o in "<>"}
        if length not in fields:
            d["bad"].append(f"LLC {name} of {length} bytes has length field {sorted(fields)}")

    def result(self):
        out = {}
        for direction, d in self.dirs.items():
            d["write_targets"] = len(d["write_targets"])
            d["addresses"] = sorted(d["addresses"])
            d["tos"] = sorted(d["tos"])
            out[direction] = d
        return out


def run_tshark(path):
    """Count the frames as tshark decodes them, independently of this program."""
    # Dissectors of other RDMA protocols guess at the same payload, and some match too early.
    cmd = ["tshark", "-r", path, "-Y", "smc || _ws.malformed", "-T", "fields",
           "-e", "frame.number", "-e", "_ws.malformed", "-e", "_ws.col.Info"]
    for other in ("rpcrdma_infiniband", "smb_direct_infiniband", "iser_infiniband",
                  "lnet_ib", "fc_infiniband"):
        cmd += ["--disable-heuristic", other]
    r = subprocess.run(cmd, capture_output=True, text=True, check=True)
    out = {"clc": 0, "llc": 0, "cdc": 0, "malformed": []}
    for line in r.stdout.splitlines():
        number, malformed, info = line.split("\t", 2)
        if malformed:
            out["malformed"].append(int(number))
        elif "CDC Message" in info:
            out["cdc"] += 1
        elif re.search("Proposal|Accept|Confirm|Decline", info) and "[SMC-R]" not in info:
            out["clc"] += 1
        else:
            out["llc"] += 1
    return out


def main():
    args = sys.argv[1:]
    tshark = "--tshark" in args
    if tshark:
        args.remove("--tshark")
    if len(args) != 1 or args[0].startswith("-"):
        raise SystemExit(__doc__)
    link = Link()
    for data in frames(args[0]):
        link.frame(data)
    out = link.result()
    if tshark:
        out["tshark"] = run_tshark(args[0])
    json.dump(out, sys.stdout, indent=1, sort_keys=True)
    print()


if __name__ == "__main__":
    main()
