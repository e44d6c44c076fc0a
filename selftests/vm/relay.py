#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Carry frames between two datagram sockets and write them to a capture file.

Usage: relay.py FD FD SNAPLEN FILE. Ends when both sides are gone, or on SIGTERM.
"""

import selectors
import signal
import socket
import struct
import sys
import time


def main(argv):
    ends = [socket.socket(fileno=int(fd)) for fd in argv[1:3]]
    snap = int(argv[3])
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sel = selectors.DefaultSelector()
    for i, e in enumerate(ends):
        sel.register(e, selectors.EVENT_READ, ends[1 - i])
    with open(argv[4], "wb") as out:
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, snap, 1))
        while sel.get_map():
            for key, _ in sel.select():
                try:
                    frame = key.fileobj.recv(65536)
                except ConnectionError:
                    sel.unregister(key.fileobj)
                    continue
                now = time.time()
                kept = frame[:snap]
                out.write(struct.pack("<IIII", int(now), int(now % 1 * 1000000),
                                      len(kept), len(frame)) + kept)
                try:
                    key.data.send(frame)
                except ConnectionError:
                    pass	# the other side has ended
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
