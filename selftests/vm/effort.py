# SPDX-License-Identifier: GPL-2.0-only
"""Measure how much processor time a guest got.

A guest cannot measure how long it waited for a processor: it misses ticks, and its idle time is
no measure. The timers of its kernel and its RNICs wait as long, and so does its peer. The kernel
of the machine counts, for each thread, how long the thread was runnable and did not run.
"""

import os

SAMPLE_INTERVAL = 1.0	# seconds: threads with a shorter life may be missed


def threads_of(group):
    """Yield the folders in /proc of the threads of a process group."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getpgid(int(pid)) == group:
                for tid in os.listdir(f"/proc/{pid}/task"):
                    yield f"/proc/{pid}/task/{tid}"
        except OSError:		# has ended meanwhile
            continue


class Effort:
    """Processor time of one guest: of all processes in the process group of its first one."""

    def __init__(self, group):
        self.group = group
        self.threads = {}	# folder in /proc -> seconds run, seconds waited
        self.sampled = None	# time of the last sample

    def sample(self, now):
        """Read the times of all threads, at most once in SAMPLE_INTERVAL."""
        if self.sampled is not None and now - self.sampled < SAMPLE_INTERVAL:
            return
        self.sampled = now
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
        """Return true if the guest waited longer than it ran, and more than 10 seconds."""
        return self.waited > max(self.ran, 10)

    def __str__(self):
        if not self.threads:
            return "nothing known"
        return f"ran {self.ran:.0f} s, waited {self.waited:.0f} s for a processor"
