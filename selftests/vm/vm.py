#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Boot one or two hosts, run a test script on each, report in KTAP.

A host is a QEMU guest or, on the test beds uml and uml-debug, a User Mode Linux
instance or a pair of namespaces in one. A run passes only if every host sends its
nonce over its control channel, after the last case, and no console has a kernel
warning or error. There are no retries. All files of a run are in its output folder:
hN.console, hN.log (output of the scripts), linkN.pcap, ktap.txt, data.json.
"""

import argparse
import json
import os
import re
import secrets
import selectors
import shlex
import shutil
import signal
import subprocess
import sys
import time

import kcsan
from common import RESULTS, SPLAT, TOP, Failure, build_initrd, release_of
from effort import Effort
from qemu import Insn, Qemu
from uml import Uml

ROUTER = 3
POWER_OFF_GRACE = 3	# seconds from the last line of the console until the process must end
GRACE = 30		# seconds that the other guests get after one guest has ended early
RESULT = re.compile(r"\s*(not )?ok \d")
PART = 20		# lines shown of what a test program says of one failure
LAST = 10		# lines shown of its end, besides
BEDS = {"qemu": (Qemu, "6.12"), "insn": (Insn, "6.12"), "uml": (Uml, "uml-plain"),
        "uml-debug": (Uml, "uml-debug")}


def failed_parts(lines):
    """Return what a test program says of its failed tests, subtests included: each "not ok" line,
    and the lines that came since the result before it, but not more than PART of them."""
    parts, part = [], []
    for ln in lines:
        part.append(ln)
        result = RESULT.match(ln)
        if result and result[1]:
            parts += part[-PART:]
        if result:
            part = []
    return parts


class Host:
    """One guest: its process, its end of the control channel, its verdict."""

    def __init__(self, number, kernel, module, outdir):
        self.number = number
        self.name = f"h{number}"
        self.release = release_of(kernel)
        self.module = module
        self.console = os.path.join(outdir, f"{self.name}.console")
        self.log = os.path.join(outdir, f"{self.name}.log")
        self.nonce = secrets.token_hex(8)
        self.initrd = None
        self.proc = None
        self.ctl = None
        self.nets = []
        self.buf = b""
        self.end = None		# exit code of the script
        self.off = None		# time of the power off, while the process still runs
        self.exited = None	# exit code of its process
        self.results = {}	# case number -> KTAP line
        self.said_hello = False
        self.held = []		# messages to send after its hello
        self.effort = None	# processor time of its process; hosts may share one

    @property
    def router(self):
        return self.number == ROUTER

    def lost(self):
        return self.exited is not None and self.end is None

    def done(self):
        return self.exited is not None

    def send(self, line):
        """Send a message, or queue it until the host has sent its hello. A serial line drops
        earlier input, or keeps it without an interrupt when the line is opened."""
        if not self.said_hello:
            self.held.append(line)
            return
        try:
            self.ctl.sendall(line.encode() + b"\n")
        except OSError:
            pass

    def splats(self):
        """Return the lines of the console that fail the run, not those of races of others."""
        try:
            with open(self.console, encoding="utf-8", errors="replace") as f:
                lines = f.read().splitlines()
        except OSError:
            return ["no console output"]
        races = iter(kcsan.reports(lines))
        return [ln.strip() for ln in lines if SPLAT.search(ln) and
                not (kcsan.TITLE.search(ln) and not next(races).ours)]

    def races(self):
        """Return what KCSAN has reported."""
        try:
            with open(self.console, encoding="utf-8", errors="replace") as f:
                return kcsan.reports(f)
        except OSError:
            return []


class Run:
    """A set of guests from boot to verdict."""

    def __init__(self, opt):
        self.opt = opt
        self.out = os.path.abspath(opt.out)
        if os.path.isdir(self.out):
            shutil.rmtree(self.out)
        os.makedirs(self.out)
        self.ktap_file = open(os.path.join(self.out, "ktap.txt"), "w", encoding="utf-8")
        self.data = {}
        self.names = []
        self.plan = None
        self.printed = 0
        self.failed = False
        self.reasons = []
        self.sel = selectors.DefaultSelector()
        kernels = spread(opt.kernel, opt.hosts, "--kernel")
        modules = spread(opt.module, opt.hosts, "--module")
        self.hosts = [Host(i + 1, kernels[i], modules[i], self.out)
                      for i in range(opt.hosts)]
        if opt.router:
            self.hosts.append(Host(ROUTER, kernels[0], "none", self.out))
        self.bed = BEDS[opt.bed][0](self)

    # --- reporting ---

    def say(self, line):
        print(line, flush=True)
        self.ktap_file.write(line + "\n")
        self.ktap_file.flush()

    def reason(self, text):
        if text not in self.reasons:
            self.reasons.append(text)

    def start_report(self, names):
        self.names = names
        self.plan = len(names)
        self.say(f"1..{self.plan + 1}")

    def report_ready(self):
        """Print every case, in order, for which all hosts have reported a result."""
        testers = [h for h in self.hosts if not h.router]
        while self.plan and self.printed < self.plan:
            n = self.printed + 1
            lines = [h.results.get(n) for h in testers]
            if not all(lines):
                return
            self.report_case(n, dict(zip(testers, lines)))

    def report_case(self, n, lines):
        name = self.names[n - 1]
        bad = [h for h, ln in lines.items() if not ln or ln.startswith("not ok")]
        skips = [ln.partition("# SKIP")[2].strip() for ln in lines.values()
                 if ln and "# SKIP" in ln]
        self.printed = n
        if bad:
            self.failed = True
            why = ", ".join(f"{h.name}: {lines[h].partition('# ')[2] or 'failed'}"
                            if lines[h] else f"{h.name}: no result" for h in bad)
            self.say(f"not ok {n} {name} # {why}")
            for h in bad:
                self.show_log(h, name)
        elif skips:
            text = next((s for s in skips if s), "")
            if self.opt.no_skip:
                self.failed = True
                self.say(f"not ok {n} {name} # skipped, and skips count as failures: {text}")
            else:
                self.say(f"ok {n} {name} # SKIP {text}")
        else:
            self.say(f"ok {n} {name}")

    def show_log(self, host, case):
        """Print what the failed parts of the script's output say, and its last lines."""
        try:
            with open(host.log, encoding="utf-8", errors="replace") as f:
                lines = f.read().splitlines()
        except OSError:
            return
        mark = f"==== case {case}"
        if mark in lines:
            lines = lines[lines.index(mark) + 1:]
            end = next((i for i, ln in enumerate(lines) if ln.startswith("==== case")), None)
            lines = lines[:end]
        parts = failed_parts(lines)
        for ln in parts[:self.opt.context] + lines[-(LAST if parts else self.opt.context):]:
            self.say(f"#   {host.name}| {ln}")

    # --- starting ---

    def stage(self):
        """Write the files of this run and build one initramfs per kind of guest."""
        opt = self.opt
        stage = os.path.join(self.out, "stage")
        os.makedirs(stage)
        env = {"HOSTS": opt.hosts, "LINKS": opt.links, "MTU": opt.mtu, "CPUS": opt.cpus,
               "ROUTER": "1" if opt.router else "", "BED": opt.bed,
               "TOPOLOGY": opt.topology, "ROOT_TREE": opt.root or "",
               "KERNELS": " ".join(h.release for h in self.hosts),
               "MODULES": " ".join(h.module for h in self.hosts)}
        for item in opt.env:
            key, _, value = item.partition("=")
            env[key] = value
        with open(os.path.join(stage, "env.sh"), "w", encoding="utf-8") as f:
            for key, value in env.items():
                f.write(f"export {key}={shlex.quote(str(value))}\n")
        for h in self.hosts:
            script = getattr(opt, f"script{h.number}", None) or opt.script
            if not h.router and script:
                shutil.copy(script, os.path.join(stage, f"script{h.number}.sh"))

        built = {}
        for h in self.hosts:
            ours = None
            if h.module in ("ours", "old"):
                ours = getattr(opt, h.module).replace("{kver}", h.release)
                if not os.path.exists(os.path.join(ours, "smc.ko")):
                    raise Failure(f"no smc.ko in {ours} (see --{h.module})")
            key = (h.release, ours)
            if key not in built:
                built[key] = build_initrd(h.release, self.out, str(len(built)),
                                          [stage] + opt.add, ours)
            h.initrd = built[key]
        shutil.rmtree(stage)

    def boot(self):
        self.bed.boot()
        efforts = {}
        for h in self.hosts:
            self.sel.register(h.ctl, selectors.EVENT_READ, h)
            h.effort = efforts.setdefault(h.proc.pid, Effort(h.proc.pid))

    # --- running ---

    def handle(self, h, line):
        word, _, rest = line.partition(" ")
        if word == "hello":
            h.said_hello = True
            for held in h.held:
                h.send(held)
            h.held = []
        elif word == "sync":
            for o in self.hosts:
                if o is not h:
                    o.send(f"sync {rest}")
        elif word == "run":
            number, _, what = rest.partition(" ")
            target = next((o for o in self.hosts if str(o.number) == number), None)
            if target:
                target.send(f"run {what}")
            else:
                h.send(f"sync ran.{what.split(' ')[0]} 127")
        elif word == "plan":
            h.plan = int(rest)
        elif word == "case":
            h.cases = getattr(h, "cases", []) + [rest]
            if len(h.cases) == h.plan and self.plan is None:
                self.start_report(h.cases)
        elif word == "ktap":
            m = re.match(r"(?:not )?ok (\d+) ", rest)
            if m:
                h.results[int(m.group(1))] = rest
                self.report_ready()
        elif word == "diag":
            self.say(f"# {h.name}: {rest}")
        elif word == "data":
            key, _, value = rest.partition(" ")
            self.data.setdefault(h.name, {}).setdefault(key, []).append(value)
        elif word == "end":
            nonce, _, rc = rest.partition(" ")
            if nonce == h.nonce and rc.isdigit():
                h.end = int(rc)
        elif word:
            self.say(f"# {h.name}: unknown message: {line}")

    def read_ctl(self, h):
        try:
            chunk = h.ctl.recv(65536)
        except ConnectionResetError:
            chunk = b""
        if not chunk:
            self.sel.unregister(h.ctl)
            return
        h.buf += chunk
        *lines, h.buf = h.buf.split(b"\n")
        for ln in lines:
            self.handle(h, ln.decode("utf-8", "replace").rstrip("\r"))

    def loop(self):
        deadline = time.monotonic() + self.opt.timeout
        aborted = False
        while not all(h.done() for h in self.hosts):
            for key, _ in self.sel.select(timeout=0.2):
                self.read_ctl(key.data)
            for h in self.hosts:
                h.effort.sample(time.monotonic())
                if h.exited is None and h.proc.poll() is not None:
                    while h.ctl in self.sel.get_map():
                        self.read_ctl(h)
                    h.exited = h.proc.returncode
                elif h.exited is None and self.bed.hangs(h):
                    h.off = h.off or time.monotonic()
                    if time.monotonic() - h.off > POWER_OFF_GRACE:
                        self.say(f"# {h.name}: {self.bed.program} stayed after its power off")
                        os.killpg(h.proc.pid, signal.SIGKILL)
                        h.proc.wait()
                        for peer in self.hosts:
                            if peer.proc is h.proc:
                                peer.exited = 0
            if not aborted and any(h.lost() for h in self.hosts):
                gone = next(h for h in self.hosts if h.lost())
                self.reason(f"{gone.name} ended without a sign of success")
                for h in self.hosts:
                    h.send(f"abort host {gone.number} is gone")
                deadline = min(deadline, time.monotonic() + GRACE)
                aborted = True
            testers = [h for h in self.hosts if not h.router]
            if self.opt.router and not aborted and all(h.done() for h in testers):
                self.hosts[-1].send("abort the tests are over")
                aborted = True
            if time.monotonic() > deadline:
                for h in self.hosts:
                    if not h.done():
                        self.reason(f"{h.name} was still running at the time limit of "
                                    f"{self.opt.timeout} s" if not aborted else
                                    f"{h.name} did not end after the other was lost")
                return

    def kill(self):
        for h in self.hosts:
            if h.proc and h.proc.poll() is None:
                os.killpg(h.proc.pid, signal.SIGKILL)
                h.proc.wait()

    def verdict(self):
        if self.plan is None:
            self.start_report([])
        testers = [h for h in self.hosts if not h.router]
        while self.printed < self.plan:
            n = self.printed + 1
            self.report_case(n, {h: h.results.get(n) for h in testers})
        for h in self.hosts:
            splats = h.splats()
            if splats:
                self.reason(f"{h.name} console: {splats[0]}")
            if h.end is None:
                self.reason(f"{h.name} gave no sign of success"
                            + ("" if h.said_hello else " (and did not boot)"))
            elif h.end:
                self.reason(f"{h.name} script ended with {h.end}")
            if not h.router and len(h.results) != self.plan:
                self.reason(f"{h.name} has {len(h.results)} results for {self.plan} cases")
            if h.exited:
                self.reason(f"{h.name} {self.bed.program} ended with {h.exited}")
        n = self.plan + 1
        if self.reasons:
            self.failed = True
            self.say(f"not ok {n} clean_end # {'; '.join(self.reasons)}")
            for h in self.hosts:
                if h.end is None or h.splats():
                    self.show_end(h)
        else:
            self.say(f"ok {n} clean_end")

    def show_end(self, h):
        for path in (h.console, self.bed.errors(h)):
            try:
                with open(path, encoding="utf-8", errors="replace") as f:
                    lines = f.read().splitlines()
            except OSError:
                continue
            splats = h.splats()
            first = next((i for i, ln in enumerate(lines) if ln.strip() in splats), None)
            lines = lines[-8:] if first is None else lines[max(0, first - 3):first + 40]
            for ln in lines:
                self.say(f"#   {h.name} {os.path.basename(path)[3:]}| {ln}")

    def report_races(self):
        """List all races, those of other modules as well."""
        for h in self.hosts:
            for race in h.races():
                self.say(f"# {h.name}: race{'' if race.ours else ' of others'}: {race}")

    def report_efforts(self):
        """Report the processor time of the guests: a guest without a processor looks faulty."""
        names_of = {}
        for h in self.hosts:
            if h.effort:
                names_of.setdefault(h.effort, []).append(h.name)
                self.data.setdefault(h.name, {})["processor"] = {
                    "ran": round(h.effort.ran, 1), "waited": round(h.effort.waited, 1)}
        for effort, names in names_of.items():
            self.say(f"# {', '.join(names)}: {effort}"
                     + (": the machine may have been too slow" if effort.starved() else ""))

    def run(self):
        opt = self.opt
        started = time.monotonic()
        self.say("KTAP version 1")
        self.say(f"# {opt.name}: " + ", ".join(
            f"{h.name} {h.release} {h.module}" for h in self.hosts)
            + f"; {opt.links} link(s), MTU {opt.mtu}, {opt.cpus} CPU(s), {self.bed.text}")
        try:
            self.stage()
            self.bed.wire()
            self.boot()
            self.loop()
        except Failure as e:
            self.reason(str(e))
        finally:
            self.kill()
            self.bed.close()
        self.verdict()
        self.report_races()
        self.report_efforts()
        for h in self.hosts:
            if h.initrd and os.path.exists(h.initrd):
                os.unlink(h.initrd)
        with open(os.path.join(self.out, "data.json"), "w", encoding="utf-8") as f:
            json.dump(self.data, f, indent=1, sort_keys=True)
        self.say(f"# {opt.name}: {'FAILED' if self.failed else 'passed'} in "
                 f"{time.monotonic() - started:.0f} s, files in {os.path.relpath(self.out)}")
        return 1 if self.failed else 0


def spread(text, n, what):
    items = text.split(",")
    if len(items) == 1:
        items *= n
    if len(items) != n:
        raise Failure(f"{what} {text}: give one value, or one per host")
    return items


def parse(argv):
    p = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--name", default="run", help="name of the run in the report")
    p.add_argument("--bed", choices=tuple(BEDS), default="qemu",
                   help="test bed of the hosts: QEMU (default), one QEMU guest whose clock counts "
                   "instructions, User Mode Linux, or User Mode Linux with a debug kernel")
    p.add_argument("--topology", choices=("two", "netns", "lo"), default="two",
                   help="two: each host has a kernel (default); on UML also netns: two "
                   "namespaces of one kernel; lo: one host with RDMA on lo")
    p.add_argument("--kernel", help="series or release; A,B for one per host (default: "
                   + ", ".join(f"{b} {v[1]}" for b, v in BEDS.items()) + ")")
    p.add_argument("--module", default="intree",
                   help="ours, old (scripts/build-old.sh), intree or none; A,B for one per host "
                   "(default %(default)s)")
    p.add_argument("--ours", default=os.path.join(TOP, "build", "{kver}"),
                   help="folder with our smc.ko; {kver} stands for the release")
    p.add_argument("--old", default=os.path.join(TOP, "build", "{kver}-old"),
                   help="folder with the smc.ko of the last released version")
    p.add_argument("--hosts", type=int, default=2, choices=(1, 2))
    p.add_argument("--router", action="store_true", help="a third host forwards between the two")
    p.add_argument("--links", type=int, default=1)
    p.add_argument("--mtu", type=int, default=1500)
    p.add_argument("--cpus", type=int, default=1)
    p.add_argument("--mem", type=int, default=768, help="MiB per guest")
    p.add_argument("--core", type=int, help="UML: the processor to run on (default: any one)")
    p.add_argument("--apart", action="store_true",
                   help="UML: each instance on a processor of its own")
    p.add_argument("--virtual-time", action="store_true",
                   help="UML: waiting takes no time (one kernel without SMP)")
    p.add_argument("--script", help="test script for every host (see guest/lib.sh)")
    p.add_argument("--script1", help="another one for host 1")
    p.add_argument("--script2", help="another one for host 2")
    p.add_argument("--add", action="append", default=[],
                   help="file, or folder with files, to put into /t (repeatable)")
    p.add_argument("--env", action="append", default=[], metavar="KEY=VALUE",
                   help="for the script's environment (repeatable)")
    p.add_argument("--timeout", type=float, default=300,
                   help="seconds for the whole run; it ends as hanging after three times as many")
    p.add_argument("--out", help="output folder (emptied first; default .cache/vm/out/NAME)")
    p.add_argument("--pcap", choices=("off", "head", "full"),
                   help="capture each link: nothing (default on UML), 512 bytes a frame "
                   "(default on QEMU), all")
    p.add_argument("--no-skip", action="store_true",
                   default=bool(os.environ.get("SMC_TEST_NO_SKIP")),
                   help="a skipped case counts as failed (also: SMC_TEST_NO_SKIP=1)")
    p.add_argument("--context", type=int, default=40, help="log lines shown for a failed case")
    p.add_argument("--loglevel", type=int, default=6, help="of the guests' console")
    p.add_argument("--append", default="", help="more kernel parameters")
    p.add_argument("--qemu", default="", help="more QEMU arguments")
    p.add_argument("--mode", choices=("run", "shell", "quick"), default="run",
                   help=argparse.SUPPRESS)
    p.add_argument("--root", metavar="TREE",
                   help="a system that hosts can mount (guest/tree.sh), read-only")
    opt = p.parse_args(argv)
    opt.timeout *= 3	# HANG in guest/lib.sh
    if opt.kernel is None:
        opt.kernel = BEDS[opt.bed][1]
    if opt.bed == "insn":
        opt.topology, opt.pcap = "lo", "off"
    elif opt.bed == "qemu" and (opt.topology == "netns" or opt.virtual_time):
        p.error("--topology netns and --virtual-time need --bed uml")
    if opt.virtual_time and (opt.topology == "two" or opt.kernel != "uml-plain"):
        p.error("--virtual-time needs one instance of the plain kernel")
    if opt.topology == "lo":
        opt.hosts, opt.links = 1, 0
    if opt.topology == "netns" and (opt.hosts != 2 or opt.router or "," in opt.module):
        p.error("--topology netns needs two hosts with one module")
    if opt.pcap is None:
        opt.pcap = "head" if opt.bed == "qemu" else "off"
    if opt.out is None:
        opt.out = os.path.join(RESULTS, "out", opt.name)
    if opt.mode == "run" and not opt.script and not (opt.script1 and
                                                     (opt.hosts == 1 or opt.script2)):
        p.error("--script is missing")
    return opt


def main(argv):
    for s in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(s, lambda *_: sys.exit(143))
    try:
        return Run(parse(argv)).run()
    except Failure as e:
        print(f"vm: {e}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
