#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check a captured run of cases/wire.sh from the packets alone. Prints KTAP.

Usage: wire.py PCAP [--client ADDR] [--server ADDR] --streams N --bytes N
               [--no-confirm-rkey] [--name NAME]

The capture must be a full one (vm.py --pcap full) of N streams (of that many
bytes each way) between the client and the server of smc_traffic. Checked:
  - tshark decodes every CLC, LLC and CDC message in the capture, and finds no
    malformed one;
  - every message has the length that its type requires;
  - the RDMA WRITE payloads of a direction, without repeated packets, are as
    many bytes as the application has sent in it, its own framing included;
  - TCP carries none of that payload;
  - the addresses of RMBs in Accept and Confirm are no addresses of memory: they are between
    2^46 and 2^47, where neither kernels are nor memory is;
  - with --no-confirm-rkey, there is no CONFIRM RKEY message.
"""

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roce  # pylint: disable=wrong-import-position

REQUEST, VERDICT = 48, 40	# bytes that smc_traffic adds to each stream, per direction
ADD_LINK, RESPONSE = 2, 0x80
V2_RKEYS = 70			# offset of the number of RKeys in ADD LINK
CLC_ALLOWANCE = 1024		# TCP payload of one handshake, per direction


class Report:
    """Numbered results."""

    def __init__(self, name):
        self.prefix = f"{name}." if name else ""
        self.results = []

    def check(self, name, good, *why):
        self.results.append((bool(good), name, [str(w) for w in why]))

    def show(self):
        print("KTAP version 1")
        print(f"1..{len(self.results)}")
        for n, (good, name, why) in enumerate(self.results, 1):
            for text in why:
                print(f"# {self.prefix}{name}: {text}")
            print(f"{'ok' if good else 'not ok'} {n} {self.prefix}{name}")
        return 0 if all(r[0] for r in self.results) else 1


def total(directions, key, want=lambda name: True):
    """Sum a counter by message type over both directions."""
    return sum(n for d in directions.values() for name, n in d[key].items() if want(name))


def v2_llc_offset(data):
    """Return the offset of a version 2 LLC message in an Ethernet frame, or None."""
    if len(data) < 14 + 20 + 8 + 12 + 4 or data[12:14] != b"\x08\x00" or data[23] != 17:
        return None
    udp = 14 + (data[14] & 15) * 4
    bth = udp + 8
    start = bth + roce.BTH.size
    if (struct.unpack_from(">H", data, udp + 2)[0] != roce.ROCE_PORT or
            len(data) < start + 4 or data[bth] not in roce.SENDS):
        return None
    return start if data[start] >> 4 == 2 and data[start] & 15 in roce.LLC_NAMES else None


def swap(data, at):
    if at + 1 < len(data) and data[at + 1] == 0:
        data[at], data[at + 1] = data[at + 1], data[at]


def network_order(src, dst):
    """Copy a capture with the 16-bit numbers of version 2 LLC messages high byte first.

    Linux on x86 writes the length, and in ADD LINK the number of RKeys, low byte
    first; tshark 4.0 does not recognise such a message as LLC. The copy makes it
    decode all the other bytes.
    """
    with open(src, "rb") as f, open(dst, "wb") as out:
        out.write(f.read(24))
        while True:
            rec = f.read(16)
            if len(rec) < 16:
                return
            data = bytearray(f.read(struct.unpack("<I", rec[8:12])[0]))
            at = v2_llc_offset(data)
            if at is not None:
                fields = [1]
                if data[at] & 15 == ADD_LINK and not data[at + 3] & RESPONSE:
                    fields.append(V2_RKEYS)
                for off in fields:
                    swap(data, at + off)
            out.write(rec + data)


def tshark(pcap, condition, column):
    # A client's port may be the well-known port of another protocol: try the payload first.
    # Dissectors of other RDMA protocols guess at the same payload, and some match too early.
    cmd = ["tshark", "-r", pcap, "-o", "tcp.try_heuristic_first:TRUE", "-Y", condition,
           "-T", "fields", "-e", column]
    for other in ("rpcrdma_infiniband", "smb_direct_infiniband", "iser_infiniband",
                  "lnet_ib", "fc_infiniband"):
        cmd += ["--disable-heuristic", other]
    return subprocess.run(cmd, capture_output=True, text=True, check=True).stdout


def malformed(pcap):
    """Return the frames that tshark reports as malformed.

    tshark also tries its SMC dissector on the payload of RDMA WRITEs, which is
    arbitrary application data: these frames do not count.
    """
    r = tshark(pcap, "_ws.malformed && "
               "!(infiniband.bth.opcode >= 6 && infiniband.bth.opcode <= 11)", "frame.number")
    return r.split()


def decoded(pcap):
    """Count the frames that tshark decodes as CLC, LLC and CDC."""
    out = {"clc": 0, "llc": 0, "cdc": 0}
    for info in tshark(pcap, "smc", "_ws.col.Info").splitlines():
        if "CDC Message" in info:
            out["cdc"] += 1
        elif re.search(r"\[SMC-R(v2)?\] ", info):
            out["llc"] += 1
        elif re.search(r"\[SMC-R(v2)?-\w+\]", info):
            out["clc"] += 1
    return out


def check_decoding(rep, directions, pcap):
    with tempfile.TemporaryDirectory() as tmp:
        copy = os.path.join(tmp, "copy.pcap")
        network_order(pcap, copy)
        seen = decoded(copy)
        wrong = malformed(pcap) + malformed(copy)
    clc = total(directions, "clc")
    cdc = sum(d["cdc"] for d in directions.values())
    resent = sum(d["resent"] for d in directions.values())
    llc = total(directions, "llc")
    bad = [b for d in directions.values() for b in d["bad"]]
    other = sum(d["send_other"] for d in directions.values())

    rep.check("malformed", not wrong, f"frames {wrong[:10]}" if wrong else "none")
    rep.check("clc_decoded", 0 < clc <= seen["clc"] <= clc + resent,
              f"{clc} on the wire, tshark decodes {seen['clc']}")
    rep.check("cdc_decoded", 0 < cdc <= seen["cdc"] <= cdc + resent,
              f"{cdc} on the wire, tshark decodes {seen['cdc']}")
    rep.check("llc_decoded", 0 < llc <= seen["llc"] <= llc + resent,
              f"{llc} on the wire, tshark decodes {seen['llc']}")
    rep.check("lengths", not bad and not other,
              *(bad[:10] or ["all right"]), *([f"{other} unknown SENDs"] if other else []))


def check_payload(rep, directions, opt):
    for name, src, dst, extra in (("client_to_server", opt.client, opt.server, REQUEST),
                                  ("server_to_client", opt.server, opt.client, VERDICT)):
        d = directions.get(f"{src}>{dst}")
        if not d:
            rep.check(name, False, f"no packet from {src} to {dst}")
            continue
        want = opt.streams * (opt.bytes + extra)
        rep.check(name, d["write_bytes"] == want,
                  f"{d['write_bytes']} bytes in {d['write_msgs']} WRITEs, the application "
                  f"sent {want}; {d['resent']} packets came again")
        rep.check(name + "_not_tcp", d["tcp_bytes"] <= opt.streams * CLC_ALLOWANCE,
                  f"{d['tcp_bytes']} bytes by TCP")


def check_addresses(rep, directions):
    seen = [a for d in directions.values() for a in d["addresses"]]
    wrong = [a for a in seen if a >> 46 != 1 or a & 0xfff]
    rep.check("addresses", len(seen) >= 2 and not wrong,
              *([f"{a:#x} tells where the memory is" for a in wrong] or
                [f"{len(seen)} addresses of RMBs"]))


def check_llc(rep, directions, opt):
    names = {}
    for d in directions.values():
        for name, n in d["llc"].items():
            names[name] = names.get(name, 0) + n
    text = ", ".join(f"{n} {name}" for name, n in sorted(names.items())) or "none"
    links = sum(n for name, n in names.items() if name.startswith("confirm_link"))
    rep.check("one_first_contact", links == 2, f"LLC: {text}")
    if opt.no_confirm_rkey:
        rkeys = sum(n for name, n in names.items() if name.startswith("confirm_rkey"))
        rep.check("no_confirm_rkey", rkeys == 0, f"{rkeys} in {opt.streams} connects")


def parse(argv):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("pcap")
    p.add_argument("--client", default="10.0.0.2")
    p.add_argument("--server", default="10.0.0.1")
    p.add_argument("--streams", type=int, required=True)
    p.add_argument("--bytes", type=int, required=True)
    p.add_argument("--no-confirm-rkey", action="store_true")
    p.add_argument("--name", default="", help="put before the names of the results")
    return p.parse_args(argv)


def main(argv):
    opt = parse(argv)
    link = roce.Link()
    for data in roce.frames(opt.pcap):
        link.frame(data)
    directions = link.result()
    rep = Report(opt.name)
    check_decoding(rep, directions, opt.pcap)
    check_payload(rep, directions, opt)
    check_addresses(rep, directions)
    check_llc(rep, directions, opt)
    return rep.show()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
