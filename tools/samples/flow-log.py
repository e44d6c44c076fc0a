#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write a flow log: a line of CSV for each connection over RDMA that has ended.

An example of what can be made of the events of the module. It reads the output of
"smcctl --json monitor connections":

    smcctl --json monitor connections | python3 flow-log.py >> flows.csv

A line with the word "lost" in place of the group says that events were lost there. The names of the
columns are written first, unless the file has something already.
"""
import csv
import datetime
import json
import os
import sys

COLUMNS = ["begin", "end", "group", "role", "local_addr", "local_port", "peer_addr", "peer_port",
           "tx_bytes", "rx_bytes", "tx_messages", "rx_messages", "tx_again_bytes", "rtt_usecs",
           "closed_usecs", "moves", "error"]


def flow(event):
    """Return the columns of one event, or None if it is not about a connection."""
    end = datetime.datetime.fromisoformat(event["time"].replace("Z", "+00:00"))
    begin = end - datetime.timedelta(milliseconds=event.get("msecs", 0))
    row = dict(event, begin=begin.isoformat(timespec="milliseconds"),
               end=end.isoformat(timespec="milliseconds"))
    if event["event"] == "lost":
        row["group"] = "lost"
    elif event["event"] != "connection end":
        return None
    return [row.get(name, "") for name in COLUMNS]


def main():
    out = csv.writer(sys.stdout, lineterminator="\n")
    # a pipe has no size: a reader of one gets the names at each start
    if os.fstat(sys.stdout.fileno()).st_size == 0:
        out.writerow(COLUMNS)
    for line in sys.stdin:
        row = flow(json.loads(line))
        if row:
            out.writerow(row)
            sys.stdout.flush()


if __name__ == "__main__":
    main()
