#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check the SYNs and SYN-ACKs of a captured run of cases/option.sh, from the bytes alone.

Usage: option.py PCAP CASE...

Each case has its server port. Prints KTAP: per case which segments carried the SMC option,
and that no IP or TCP checksum is wrong (by tshark's own arithmetic).
"""

import argparse
import os
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roce  # pylint: disable=wrong-import-position

OPTION = bytes.fromhex("fe06e2d4c3d9")
SYN, ACK = 0x02, 0x10
YES, NO, MIXED = "all", "none", "three of each connection's"

# In one's complement arithmetic ffff is 0, too, and a kernel without checksum offload sends it for
# a checksum of 0 (one packet in 65536). tshark calls it bad.
GOOD = "(tcp.checksum.status == 1 || tcp.checksum == 0xffff && tcp.checksum_calculated == 0)"

# case -> port, SYNs with the option, SYN-ACKs with it, least number of SYNs and SYN-ACKs
CASES = {
    "agree": (4501, YES, YES, 1, 1),
    "mapped": (4502, YES, YES, 1, 1),
    "v6": (4503, YES, YES, 1, 1),
    "plain_server": (4504, YES, NO, 1, 1),
    "plain_client": (4505, NO, NO, 1, 1),
    "many": (4506, YES, YES, 40, 40),
    "lost_syn": (4507, YES, YES, 3, 1),
    "lost_synack": (4508, YES, YES, 1, 3),
    "repeated": (4509, YES, YES, 10, 5),
    # the client omits the option from its fourth SYN on, and only then gets an answer
    "filtered": (4510, MIXED, NO, 4, 1),
    "cookies": (4511, YES, NO, 5, 5),
    "fastopen": (4512, NO, NO, 1, 1),
    "no_room": (4513, NO, NO, 1, 1),
    "conntrack": (4514, YES, YES, 1, 1),
    "nat": (4515, YES, YES, 1, 1),
}


def tcp_header(frame):
    """Return the TCP header with its options, or None."""
    kind = struct.unpack_from(">H", frame, 12)[0]
    if kind == 0x0800 and len(frame) >= 34 and frame[23] == 6:
        if struct.unpack_from(">H", frame, 20)[0] & 0x1fff:
            return None		# a later fragment
        at = 14 + (frame[14] & 15) * 4
    elif kind == 0x86dd and len(frame) >= 54 and frame[20] == 6:
        at = 54
    else:
        return None
    if len(frame) < at + 20:
        return None
    return frame[at:at + (frame[at + 12] >> 4) * 4]


def options(header):
    """Yield each option as bytes, split by the lengths in the header alone."""
    rest = header[20:]
    while rest:
        if rest[0] == 0:
            return
        size = 1 if rest[0] == 1 else rest[1] if len(rest) > 1 else 0
        if not 0 < size <= len(rest):
            raise SystemExit(f"malformed options: {header.hex()}")
        yield rest[:size]
        rest = rest[size:]


def read(pcap):
    """Return a map: server port -> ([SYN has the option], [SYN-ACK has the option])."""
    seen = {}
    for frame in roce.frames(pcap):
        header = tcp_header(frame)
        if header is None or not header[13] & SYN:
            continue
        ack = bool(header[13] & ACK)
        port = struct.unpack_from(">HH", header)[0 if ack else 1]
        seen.setdefault(port, ([], []))[ack].append(OPTION in options(header))
    return seen


def tshark(pcap, condition, *fields):
    """Return a line with the fields of each frame that meets the condition.

    What RDMA carries is data: tshark's dissector of RoCE takes data that begins with 08 00 00 00
    for an IP packet, and judges its checksum.
    """
    columns = [arg for f in fields for arg in ("-e", f)]
    return subprocess.run(
        ["tshark", "-n", "-r", pcap, "-o", "ip.check_checksum:TRUE",
         "-o", "tcp.check_checksum:TRUE", "-d", f"udp.port=={roce.ROCE_PORT},data",
         "-Y", condition, "-T", "fields", *columns],
        check=True, capture_output=True, text=True).stdout.splitlines()


def describe(pcap, number):
    """Return a frame's protocols and its captured bytes."""
    protocols = tshark(pcap, f"frame.number == {number}", "frame.protocols")
    for n, frame in enumerate(roce.frames(pcap), 1):
        if n == int(number):
            return f"frame {number} ({' '.join(protocols)}): {frame.hex()}"
    return f"frame {number}"


def marks(have):
    return "".join("+" if x else "-" for x in have)


def fits(have, want, least):
    if len(have) < least:
        return False
    if want == MIXED:
        return bool(re.fullmatch(r"(\+\+\+-)+", marks(have)))
    return all(x == (want == YES) for x in have)


def main(argv):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("pcap")
    p.add_argument("cases", nargs="+", choices=CASES)
    opt = p.parse_args(argv)
    seen = read(opt.pcap)
    results = []
    for case in opt.cases:
        port, syn, synack, least_syn, least_synack = CASES[case]
        have = seen.get(port, ([], []))
        ok = fits(have[0], syn, least_syn) and fits(have[1], synack, least_synack)
        text = " ".join(marks(direction) or "." for direction in have)
        results.append((ok, f"{case}: option in {syn} SYN, {synack} SYN-ACK", f"seen {text}"))
    syns = sum(len(a) + len(b) for a, b in seen.values())
    good = tshark(opt.pcap, f"tcp.flags.syn == 1 && {GOOD}", "frame.number")
    results.append((len(good) == syns > 0, "SYNs have good checksums", f"{len(good)} of {syns}"))
    bad = tshark(opt.pcap, f"ip.checksum.status == 0 || tcp.checksum.status == 0 && !{GOOD}",
                 "frame.number")
    results.append((not bad, "no bad checksum",
                    "; ".join(describe(opt.pcap, n) for n in bad[:10]) or "none"))

    print(f"KTAP version 1\n1..{len(results)}")
    for i, (ok, name, detail) in enumerate(results, 1):
        print(f"{'ok' if ok else 'not ok'} {i} wire: {name}")
        print(f"# {detail}")
    return 0 if all(r[0] for r in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
