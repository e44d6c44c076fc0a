# SPDX-License-Identifier: GPL-2.0-only
"""Hosts as User Mode Linux: one instance each, or two namespaces of one instance.

An instance is a process. Its console is standard output; each host has two serial
lines, the control channel (a socket) and the log (a file). Instances are connected by
pairs of datagram sockets, through relay.py if the link is captured.
"""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

from common import HERE, Failure, TestBed, die_with_parent, vmlinuz


class Uml(TestBed):
    """The test bed of a run whose hosts are processes of this machine."""

    program = "UML"
    cable = socket.SOCK_DGRAM

    def __init__(self, run):
        super().__init__(run)
        opt = run.opt
        cpus = sorted(os.sched_getaffinity(0))
        first = os.getpid() % len(cpus) if opt.core is None else cpus.index(opt.core)
        count = len(self.instances()) if opt.apart else 1
        if count > len(cpus):
            raise Failure(f"--apart needs {count} processors, there are {len(cpus)}")
        self.cores = [cpus[(first + i) % len(cpus)] for i in range(count)]
        self.text = f"UML, {opt.topology}, core {','.join(map(str, self.cores))}"
        if opt.virtual_time:
            self.text += ", virtual time"
        if opt.router or opt.mode != "run":
            raise Failure("UML has no router and no shell and quick modes")
        self.smp = "debug" in run.hosts[0].release
        if self.smp:
            opt.timeout *= 4	# SLOWNESS in guest/lib.sh
        if opt.cpus > 1 and not self.smp:
            raise Failure(f"{run.hosts[0].release} has one processor")
        self.tmp = tempfile.mkdtemp(prefix="uml.", dir=os.environ.get("TMPDIR", "/tmp"))
        self.relays = []	# processes

    def wire(self):
        if self.run.opt.topology == "two":
            super().wire()

    def join(self, near, link, far):
        if far is None or self.run.opt.pcap == "off":
            super().join(near, link, far)
            return
        pairs = [socket.socketpair(type=self.cable) for _ in range(2)]
        near.nets.append((link, pairs[0][0]))
        far.nets.append((None, pairs[1][0]))
        snap = 262144 if self.run.opt.pcap == "full" else 512
        ends = [p[1] for p in pairs]
        fds = [e.fileno() for e in ends]
        self.relays.append(subprocess.Popen(
            [sys.executable, os.path.join(HERE, "relay.py"), *map(str, fds), str(snap),
             os.path.join(self.run.out, f"link{link}.pcap")],
            pass_fds=fds, stdin=subprocess.DEVNULL, preexec_fn=die_with_parent))
        for e in ends:
            e.close()

    def hangs(self, h):
        """About one in eight guests hangs after the last line of its console: while it powers off,
        the kernel goes on scheduling and waits for the process of a program that it has killed."""
        with open(h.console, "rb") as f:
            f.seek(max(0, os.path.getsize(h.console) - 80))
            return f.read().rstrip().endswith(b"reboot: Power down")

    def instances(self):
        """Return lists of hosts that share a kernel."""
        hosts = self.run.hosts
        return [hosts] if self.run.opt.topology == "netns" else [[h] for h in hosts]

    def command(self, hosts, lines):
        """Return the command of an instance. lines: (control, log) descriptors of each host."""
        opt, first = self.run.opt, hosts[0]
        cmd = [vmlinuz(first.release), f"mem={opt.mem}M", f"initrd={first.initrd}",
               f"uml_dir={self.tmp}/", f"umid={first.name}", "seccomp=on",
               "con=null", "con0=null,fd:1", "ssl=null", "noreboot",
               f"loglevel={opt.loglevel}", "panic=-1", "panic_on_warn=1", "oops=panic",
               "net.ifnames=0", f"smcvm.mode={opt.mode}", f"smcvm.topology={opt.topology}",
               f"smcvm.links={opt.links}", f"smcvm.mtu={opt.mtu}", "smcvm.bed=uml",
               f"smcvm.module={first.module}", f"smcvm.host={first.number}",
               "smcvm.nonce=" + ",".join(h.nonce for h in hosts)]
        for i, (ctl, log) in enumerate(lines):
            cmd += [f"ssl{2 * i}=fd:{ctl}", f"ssl{2 * i + 1}=null,fd:{log}"]
        for i, (_, sock) in enumerate(first.nets):
            cmd.append(f"vec{i}:transport=fd,fd={sock.fileno()},mtu={opt.mtu},"
                       f"mac=52:54:00:00:{i:02x}:{first.number:02x}")
        if self.smp:
            # Without these options kmemleak finds false references: in the allocator's arrays
            # of the last allocations; and in the memory of the initrd, which it goes on scanning
            # after that memory was freed and reused, by kmemleak's own records among others.
            cmd += [f"ncpus={opt.cpus}", "slab_debug=F", "retain_initrd"]
            # With two processors kmemleak causes an RCU warning while the second one starts, and
            # then lockdep turns itself off.
            if opt.cpus > 1:
                cmd.append("kmemleak=off")
        if opt.virtual_time:
            # Time stands still while any thread is runnable, so no tick ever preempts a thread.
            # RCU's grace-period thread starts one grace period after another while it waits for a
            # worker to return a batch of waiters, and that worker would never run: with many
            # synchronize_rcu() at once the guest would hang. Without batching each waiter is
            # woken by itself, and that worker is not needed.
            cmd += ["time-travel=inf-cpu", "rcutree.rcu_normal_wake_from_gp=0"]
        return cmd + shlex.split(opt.append)

    def boot(self):
        for i, hosts in enumerate(self.instances()):
            first, core = hosts[0], self.cores[i % len(self.cores)]
            theirs, logs = [], []
            for h in hosts:
                h.ctl, end = socket.socketpair()
                theirs.append(end)
                logs.append(open(h.log, "wb"))
                h.console = first.console
            lines = [(t.fileno(), f.fileno()) for t, f in zip(theirs, logs)]
            fds = [n for pair in lines for n in pair] + [s.fileno() for _, s in first.nets]
            with open(first.console, "wb") as console:
                self.start(first, self.command(hosts, lines), fds, out=console,
                           prepare=lambda: os.sched_setaffinity(0, {core}))
            for h in hosts:
                h.proc = first.proc
            for f in theirs + logs:
                f.close()

    def close(self):
        # Not earlier: after the far end is closed, the driver would sleep in atomic context.
        self.close_cables()
        for p in self.relays:
            p.send_signal(signal.SIGTERM)
            p.wait()
        shutil.rmtree(self.tmp, ignore_errors=True)
