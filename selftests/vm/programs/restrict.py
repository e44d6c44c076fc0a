#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only
"""Run a program under the RestrictAddressFamilies= of a unit, as systemd does: with a seccomp
filter that rejects sockets of all other families.

Usage: restrict.py UNIT_FILE COMMAND...
"""

import errno
import os
import socket
import sys

import seccomp

AF_MAX = 46	# of the kernel; higher numbers are rejected as well


def allowed(path):
    """Return the numbers of the families that the unit lists."""
    names = []
    with open(path, encoding="utf-8") as unit:
        for line in unit:
            key, _, value = line.strip().partition("=")
            if key == "RestrictAddressFamilies":
                names = names + value.split() if value else []
    if not names or names[0].startswith("~"):
        sys.exit(f"restrict.py: {path} lists no families that are allowed")
    return {getattr(socket, name) for name in names}


def restrict(families):
    rules = seccomp.SyscallFilter(defaction=seccomp.ALLOW)
    refuse = seccomp.ERRNO(errno.EAFNOSUPPORT)
    for number in range(AF_MAX):
        if number not in families:
            rules.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.EQ, number))
    rules.add_rule(refuse, "socket", seccomp.Arg(0, seccomp.GE, AF_MAX))
    rules.load()


restrict(allowed(sys.argv[1]))
os.execvp(sys.argv[2], sys.argv[2:])
