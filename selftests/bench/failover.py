#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""How long do connections stand still when they lose a link?

Reads what cases/failover.sh logs with TRACE=y: the trace points of each host, by its own
clock. Prints, in milliseconds, the distribution over all failures of all hosts of

  fence          queue pair of a link with connections to ERR, until the device is silent
  first write    the host knows that the link has failed (smc_link_fail), until the first
                 connection of it has posted an RDMA WRITE over another link
  each write     the same for each connection that had to move and has written since; one
                 that has nothing to send when it moves counts when it has

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
    """The events of each case: (seconds, name, fields)."""
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
    failed, begun, fence, left, first = {}, {}, {}, {}, {}
    for at, name, f in events:
        if name == "smc_link_fail":
            failed[f["link"]] = at
        elif name == "smc_fence_begin":
            begun[f["link"]] = at
        elif name == "smc_fence_end" and f["link"] in begun:
            fence[f["link"]] = at - begun[f["link"]]
        elif name == "smc_conn_move":
            left[f["token"]] = f["from"]
        elif name == "smc_conn_resume":
            link = left.pop(f["token"], None)
            # one that was deleted in order has not failed
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
