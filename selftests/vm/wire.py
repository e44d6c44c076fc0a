#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check a captured run of cases/wire.sh from the packets alone. Prints KTAP.

Usage: wire.py PCAP [--client ADDR] [--server ADDR] --streams N --bytes N
               [--client-tos N] [--server-tos N] [--further PCAP] [--few-confirm-rkeys]
               [--native] [--announces both|client|server|none] [--foreign client|server]
               [--name NAME]

The capture must be a full one (vm.py --pcap full) of N streams (of that many
bytes each way) between the client and the server of smc_traffic. Checked:
  - tshark decodes every CLC, LLC and CDC message in the capture, and finds no
    malformed one;
  - every message has the length that its type requires;
  - the RDMA WRITE payloads of a direction, without repeated packets, are as
    many bytes as the application has sent in it, its own framing included;
  - TCP carries none of that payload;
  - the addresses of RMBs in Accept and Confirm are no addresses of memory: they are between
    2^46 and 2^47, where neither kernels are nor memory is, but for those of the --foreign host;
  - every RoCE packet of the client has --client-tos in its IP header, of the server --server-tos,
    0 unless given;
  - with --further, the same in the capture of the network of the group's second link, which may
    carry some of the payload;
  - with --few-confirm-rkeys, both hosts together add at most two RMBs to those of the first contact;
  - nobody sends an immediate value to a peer that has not sent CAPABILITIES, which --announces does
    (both unless given); unless both do, nobody sends any; with --native both sides send some.
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
    if len(data) < 14 + 20 + 8 + 12 + 4:
        return None
    if data[12:14] == b"\x08\x00" and data[23] == 17:
        udp = 14 + (data[14] & 15) * 4
    elif data[12:14] == b"\x86\xdd" and data[20] == 17:
        udp = 14 + 40
    else:
        return None
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


def read(pcap):
    link = roce.Link()
    for data in roce.frames(pcap):
        link.frame(data)
    return link.result()


def check_payload(rep, directions, further, opt):
    for name, src, dst, extra in (("client_to_server", opt.client, opt.server, REQUEST),
                                  ("server_to_client", opt.server, opt.client, VERDICT)):
        d = directions.get(f"{src}>{dst}")
        if not d:
            rep.check(name, False, f"no packet from {src} to {dst}")
            continue
        want = opt.streams * (opt.bytes + extra)
        parts = [p for p in (d, further.get(f"{src}>{dst}")) if p]
        got, msgs, resent = (sum(p[key] for p in parts)
                             for key in ("write_bytes", "write_msgs", "resent"))
        rep.check(name, got == want,
                  f"{got} bytes in {msgs} WRITEs, the application "
                  f"sent {want}; {resent} packets came again")
        rep.check(name + "_not_tcp", d["tcp_bytes"] <= opt.streams * CLC_ALLOWANCE,
                  f"{d['tcp_bytes']} bytes by TCP")


def check_tos(rep, directions, opt, prefix=""):
    for name, src, dst, want in (("client_tos", opt.client, opt.server, opt.client_tos),
                                 ("server_tos", opt.server, opt.client, opt.server_tos)):
        seen = directions[f"{src}>{dst}"]["tos"] if f"{src}>{dst}" in directions else []
        rep.check(prefix + name, seen == [want],
                  f"{[hex(t) for t in seen]}, expected {want:#x}")


def check_addresses(rep, directions, opt):
    foreign = {"client": opt.client, "server": opt.server}.get(opt.foreign)
    seen = [a for name, d in directions.items() if not foreign or not name.startswith(foreign + ">")
            for a in d["addresses"]]
    wrong = [a for a in seen if a >> 46 != 1 or a & 0xfff]
    rep.check("addresses", len(seen) >= (1 if foreign else 2) and not wrong,
              *([f"{a:#x} tells where the memory is" for a in wrong] or
                [f"{len(seen)} addresses of RMBs"]))


def check_llc(rep, directions, opt):
    names = {}
    for d in directions.values():
        for name, n in d["llc"].items():
            names[name] = names.get(name, 0) + n
    text = ", ".join(f"{n} {name}" for name, n in sorted(names.items())) or "none"
    links = sum(n for name, n in names.items() if name.startswith("confirm_link"))
    # an in-tree client may miss the request, which our server then repeats once (T_CONFIRM_RETRY)
    intree_client = opt.announces == "none" and opt.foreign == "client"
    rep.check("one_first_contact", links in ((2, 3) if intree_client else (2,)), f"LLC: {text}")
    if opt.few_confirm_rkeys:
        # A group begins with an RMB of two elements. A host that is still closing two connections
        # when the next one comes adds a region for many. Then it has enough for all of them.
        rkeys = sum(n for name, n in names.items() if name.startswith("confirm_rkey"))
        rep.check("few_confirm_rkeys", rkeys in (0, 2, 4), f"{rkeys} in {opt.streams} connects")


def check_imms(rep, directions, further, opt):
    wrong, texts = [], []
    for src, dst in ((opt.client, opt.server), (opt.server, opt.client)):
        imms = sum(p[f"{src}>{dst}"]["imms"] for p in (directions, further) if f"{src}>{dst}" in p)
        caps = sum(p[f"{dst}>{src}"]["caps"] for p in (directions, further) if f"{dst}>{src}" in p)
        announces = opt.announces in ("both", "client" if dst == opt.client else "server")
        if (bool(caps) != announces or (imms and opt.announces != "both") or
                (opt.native and not imms)):
            wrong.append(src)
        texts.append(f"{imms} to {dst}, which has sent CAPABILITIES {caps} times")
    rep.check("immediate_values", not wrong, *texts)


def parse(argv):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("pcap")
    p.add_argument("--client", default="10.0.0.2")
    p.add_argument("--server", default="10.0.0.1")
    p.add_argument("--streams", type=int, required=True)
    p.add_argument("--bytes", type=int, required=True)
    p.add_argument("--further", metavar="PCAP")
    for side in "client", "server":
        p.add_argument(f"--{side}-tos", type=lambda s: int(s, 0), default=0)
    p.add_argument("--few-confirm-rkeys", action="store_true")
    p.add_argument("--native", action="store_true")
    p.add_argument("--announces", choices=("both", "client", "server", "none"), default="both")
    p.add_argument("--foreign", choices=("client", "server"))
    p.add_argument("--name", default="", help="put before the names of the results")
    return p.parse_args(argv)


def main(argv):
    opt = parse(argv)
    directions = read(opt.pcap)
    further = {}
    if opt.further:
        # the same hosts, on their second network (setup_net)
        further = {k.replace("10.0.1.", "10.0.0."): d for k, d in read(opt.further).items()}
    rep = Report(opt.name)
    check_decoding(rep, directions, opt.pcap)
    check_payload(rep, directions, further, opt)
    check_tos(rep, directions, opt)
    if opt.further:
        check_tos(rep, further, opt, "further_")
    check_addresses(rep, directions, opt)
    check_llc(rep, directions, opt)
    check_imms(rep, directions, further, opt)
    return rep.show()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
