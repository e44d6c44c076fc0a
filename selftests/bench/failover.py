#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Measure how long connections transfer nothing after they lose a link.

Reads the output of cases/failover.sh with TRACE=y: the trace points of each host, with the
timestamps of its clock. Prints, in milliseconds, the distribution over all failures of

  fence          from the queue pair of a link with connections going to ERR, until the device
                 has completed all its work requests
  first write    from the host detecting that the link has failed (smc_link_fail), until the
                 first of its connections has posted an RDMA WRITE over another link
  each write     the same for each moved connection that has written since; a connection with
                 nothing to send when it moves counts once it sends

Usage: failover.py LOG...
"""
import collections
import re
import sys

GOAL_MS = 100

LINE = re.compile(r"^TRACE (\d+\.\d+) (smc_\w+): (.*)$")


def fields(text):
    return dict(part.split("=") for part in text.split())


def cases(path):
    """Yield the events of each case: (seconds, name, fields)."""
    events = []
    for line in open(path, errors="replace"):
        line = line.rstrip()
        if line == "TRACE case":
            if events:
                yield events
            events = []
        m = LINE.match(line)
        if m:
            events.append((float(m[1]), m[2], fields(m[3])))
    if events:
        yield events


def measure(events, found):
    failed, begun, fence, previous, first = {}, {}, {}, {}, {}
    for at, name, f in events:
        if name == "smc_link_fail":
            failed[f["link"]] = at
        elif name == "smc_fence_begin":
            begun[f["link"]] = at
        elif name == "smc_fence_end" and f["link"] in begun:
            fence[f["link"]] = at - begun[f["link"]]
        elif name == "smc_conn_move":
            previous[f["token"]] = f["from"]
        elif name == "smc_conn_resume":
            link = previous.pop(f["token"], None)
            # a link that was deleted in an orderly way has not failed
            if link in failed:
                found["each write"].append(at - failed[link])
                first.setdefault(link, at)
    for link, at in first.items():
        found["first write"].append(at - failed[link])
        if link in fence:
            found["fence"].append(fence[link])


def quantile(values, q):
    return values[min(len(values) - 1, int(len(values) * q))]


def main():
    found = collections.defaultdict(list)
    for path in sys.argv[1:]:
        for events in cases(path):
            measure(events, found)
    if not found["first write"]:
        print("failover: no connection went on over another link", file=sys.stderr)
        return 1
    print(f"{'ms':12} {'number':>7} {'min':>8} {'median':>8} {'95 %':>8} {'max':>8}")
    for name in sorted(found, key=["fence", "first write", "each write"].index):
        v = sorted(1000 * t for t in found[name])
        print(f"{name:12} {len(v):7} {v[0]:8.2f} {quantile(v, 0.5):8.2f} "
              f"{quantile(v, 0.95):8.2f} {v[-1]:8.2f}")
    v = found["first write"]
    print(f"within {GOAL_MS} ms: {sum(1000 * t < GOAL_MS for t in v)} of {len(v)} first writes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
