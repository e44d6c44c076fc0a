#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Judge a captured run of cases/wire.sh from the packets alone. KTAP.

Usage: wire.py PCAP [--client ADDR] [--server ADDR] --streams N --bytes N
               [--no-confirm-rkey] [--name NAME]

The capture must be a full one (vm.py --pcap full) of N streams (of that many
bytes each way) between the client and the server of smc_traffic. Wanted:
  - tshark finds nothing malformed, and knows every CLC, CDC and (unless the
    build of tshark cannot) LLC message that is there;
  - every message has the length that its type asks for;
  - the RDMA WRITE payloads of a direction, without repeated packets, are as
    many bytes as the application has sent in it, its own framing included;
  - none of that payload is found in TCP;
  - on request, no CONFIRM RKEY at all.
"""

import argparse
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import roce  # pylint: disable=wrong-import-position

REQUEST, VERDICT = 48, 40	# what smc_traffic adds to each stream, per direction
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


def total(ways, key, want=lambda name: True):
    """Sum a counter by message type over both directions."""
    return sum(n for d in ways.values() for name, n in d[key].items() if want(name))


def judge_decoding(rep, ways, pcap):
    seen = roce.ask_tshark(pcap)
    clc = total(ways, "clc")
    cdc = sum(d["cdc"] for d in ways.values())
    resent = sum(d["resent"] for d in ways.values())
    llc1 = total(ways, "llc", lambda name: not name.endswith("_v2"))
    llc2 = total(ways, "llc", lambda name: name.endswith("_v2"))
    bad = [b for d in ways.values() for b in d["bad"]]
    other = sum(d["send_other"] for d in ways.values())

    rep.check("malformed", not seen["malformed"],
              f"frames {seen['malformed'][:10]}" if seen["malformed"] else "none")
    rep.check("clc_decoded", 0 < clc <= seen["clc"] <= clc + resent,
              f"{clc} on the wire, tshark decodes {seen['clc']}")
    rep.check("cdc_decoded", 0 < cdc <= seen["cdc"] <= cdc + resent,
              f"{cdc} on the wire, tshark decodes {seen['cdc']}")
    # What tshark 4.0 cannot recognise is checked by length below.
    rep.check("llc_decoded", llc1 <= seen["llc"] <= llc1 + llc2 + resent and llc1 + llc2 > 0,
              f"{llc1} of version 1 and {llc2} of version 2 on the wire, "
              f"tshark decodes {seen['llc']}")
    rep.check("lengths", not bad and not other,
              *(bad[:10] or ["all right"]), *([f"{other} unknown SENDs"] if other else []))


def judge_payload(rep, ways, opt):
    for name, src, dst, extra in (("client_to_server", opt.client, opt.server, REQUEST),
                                  ("server_to_client", opt.server, opt.client, VERDICT)):
        d = ways.get(f"{src}>{dst}")
        if not d:
            rep.check(name, False, f"no packet from {src} to {dst}")
            continue
        want = opt.streams * (opt.bytes + extra)
        rep.check(name, d["write_bytes"] == want,
                  f"{d['write_bytes']} bytes in {d['write_msgs']} WRITEs, the application "
                  f"sent {want}; {d['resent']} packets came again")
        rep.check(name + "_not_tcp", d["tcp_bytes"] <= opt.streams * CLC_ALLOWANCE,
                  f"{d['tcp_bytes']} bytes by TCP")


def judge_llc(rep, ways, opt):
    names = {}
    for d in ways.values():
        for name, n in d["llc"].items():
            names[name] = names.get(name, 0) + n
    said = ", ".join(f"{n} {name}" for name, n in sorted(names.items())) or "none"
    links = sum(n for name, n in names.items() if name.startswith("confirm_link"))
    rep.check("one_first_contact", links == 2, f"LLC: {said}")
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
    ways = link.result()
    rep = Report(opt.name)
    judge_decoding(rep, ways, opt.pcap)
    judge_payload(rep, ways, opt)
    judge_llc(rep, ways, opt)
    return rep.show()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
