# SPDX-License-Identifier: GPL-2.0-only
"""How much of the machine a guest got.

A guest that is not run for want of a processor does not know: it misses ticks, and what it counts
as idle is no measure. Its kernel's timers, its RNICs and its peer's all wait as long. The kernel of
the machine does know, for each thread, how long it could have run and did not.
"""

import os

LOOK_EACH = 1.0		# seconds: threads that live shorter may be missed


def threads_of(group):
    """Folders in /proc of the threads of a process group."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(pid)) == group:
                for tid in os.listdir(f"/proc/{pid}/task"):
                    yield f"/proc/{pid}/task/{tid}"
        except OSError:		# gone meanwhile
            continue


class Effort:
    """Of one guest: of the processes in the group of its first one."""

    def __init__(self, group):
        self.group = group
        self.threads = {}	# folder in /proc -> seconds run, seconds waited
        self.looked = None	# when

    def look(self, now):
        """Once in a while, and while they live."""
        if self.looked is not None and now - self.looked < LOOK_EACH:
            return
        self.looked = now
        for thread in threads_of(self.group):
            try:
                with open(f"{thread}/schedstat", encoding="ascii") as f:
                    ran, waited, _ = map(int, f.read().split())
            except (OSError, ValueError):
                continue
            self.threads[thread] = (ran / 1e9, waited / 1e9)

    @property
    def ran(self):
        return sum(ran for ran, _ in self.threads.values())

    @property
    def waited(self):
        return sum(waited for _, waited in self.threads.values())

    def starved(self):
        """It waited longer than it ran, and long enough that somebody could notice."""
        return self.waited > max(self.ran, 10)

    def __str__(self):
        if not self.threads:
            return "nothing known"
        return f"ran {self.ran:.0f} s, waited {self.waited:.0f} s for a processor"
