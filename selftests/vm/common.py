# SPDX-License-Identifier: GPL-2.0-only
"""Code that the test beds of vm.py share: the cache, initramfs files, child processes."""

import ctypes
import fcntl
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))


def cache_dir(*args):
    """Return the folder for what all checkouts share, or with "here" for what is of this one."""
    return subprocess.check_output([os.path.join(TOP, "scripts/cache-dir.sh"), *args],
                                   text=True).strip()


CACHE = cache_dir()
RESULTS = cache_dir("here")
MKINITRAMFS = os.path.join(HERE, "mkinitramfs.sh")

SPLAT = re.compile(
    r"WARNING: |BUG: |Oops|int3: \d+ |Call Trace|Kernel panic|general protection fault"
    r"|INFO: task .* blocked|rcu.*(stall|self-detected)|soft lockup|hard LOCKUP"
    r"|possible (circular|recursive) locking|inconsistent lock state"
    r"|suspicious RCU usage|bad unlock balance|sleeping function called"
    r"|scheduling while atomic|unregister_netdevice: waiting|refcount_t:"
    r"|list_(add|del) corruption|UBSAN|KASAN|kmemleak: \d+ new|unable to handle"
    r"|Unable to handle|segfault at|ref_tracker:"
    r"|turning off the locking correctness validator|register non-static key")

PR_SET_PDEATHSIG = 1


class Failure(Exception):
    """The run cannot go on; the message is shown to the user."""


def release_of(kernel):
    """Turn a series (6.12) or a release into the name of a cached release."""
    path = os.path.join(CACHE, "kernels", kernel)
    rel = os.path.basename(os.path.realpath(path))
    if not os.path.exists(os.path.join(path, "boot/vmlinuz")):
        how = "uml/build-kernel.sh" if re.search("uml|kcsan", kernel) else "vm/fetch.sh"
        raise Failure(f"kernel {kernel} is not in {CACHE}: run selftests/{how}")
    return rel


def arch_of(rel):
    """Return the architecture of a kernel, None for this machine's."""
    return "arm64" if "-arm64" in rel else None


def patches_code(rel):
    """Return true if the kernel changes code that may be running."""
    with open(os.path.join(CACHE, "kernels", rel, "headers/.config"), encoding="utf-8") as f:
        return "CONFIG_JUMP_LABEL=y\n" in f


def vmlinuz(rel):
    return os.path.join(CACHE, "kernels", rel, "boot/vmlinuz")


def base_initramfs(rel):
    """Return the cached part of the initramfs, rebuilt when one of its inputs is newer."""
    out = os.path.join(RESULTS, f"base-{rel}.cpio")
    recipe = [MKINITRAMFS, os.path.join(HERE, "modules.txt"),
              os.path.join(CACHE, "kernels", rel, "modules/modules.dep")]
    newest = max(os.path.getmtime(f) for f in recipe)
    os.makedirs(RESULTS, exist_ok=True)
    with open(out + ".lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(out) or os.path.getmtime(out) < newest:
            subprocess.run([MKINITRAMFS, "base", rel, out], check=True)
    return out


def build_initrd(rel, outdir, tag, paths, ours):
    """Write the initrd of a run: the base archive, followed by the archive of the run."""
    run = os.path.join(outdir, f"run-{tag}.cpio")
    cmd = [MKINITRAMFS, "run", rel, run]
    if ours:
        cmd += ["--ours", ours]
    subprocess.run(cmd + paths, check=True)
    out = os.path.join(outdir, f"initrd-{tag}")
    with open(out, "wb") as dst:
        for part in (base_initramfs(rel), run):
            with open(part, "rb") as src:
                shutil.copyfileobj(src, dst)
    os.unlink(run)
    return out


def die_with_parent():
    """Called in the child: kill the guest when the runner ends, however it ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class TestBed:
    """Start the hosts of a run. A test bed has boot(), which gives each host its process and
    its control channel, and text, its description in the report."""

    program = None
    cable = socket.SOCK_STREAM	# type of the socket pair that connects two hosts

    def __init__(self, run):
        self.run = run
        self.unconnected = []	# far ends of cables without a second host, kept open

    def hangs(self, h):
        """Return true if guest h has powered off but its process does not end."""
        return False

    def wire(self):
        """Connect the hosts: one connected pair of sockets per cable."""
        hosts, opt = self.run.hosts, self.run.opt
        for link in range(opt.links):
            if opt.router:
                for h in hosts[:-1]:
                    self.join(h, link, hosts[-1])
            elif opt.hosts == 1:
                self.join(hosts[0], link, None)
            else:
                self.join(hosts[0], link, hosts[1])

    def join(self, near, link, far):
        a, b = socket.socketpair(type=self.cable)
        near.nets.append((link, a))
        if far:
            far.nets.append((None, b))
        else:
            self.unconnected.append(b)

    def close_cables(self):
        """Close our copies of the sockets, so that a host notices when its peer ends."""
        for h in self.run.hosts:
            for _, sock in h.nets:
                sock.close()

    def errors(self, h):
        """Return the path of the file for the errors of the program that runs host h."""
        return os.path.join(self.run.out, f"{h.name}.{self.program.lower()}.err")

    def start(self, h, cmd, fds, out=None, prepare=None):
        """Start the process of host h; out: its standard output (default: the error file)."""
        def child():
            die_with_parent()
            if prepare:
                prepare()

        with open(os.path.join(self.run.out, f"{h.name}.{self.program.lower()}"), "w",
                  encoding="utf-8") as f:
            f.write(shlex.join(cmd) + "\n")
        with open(self.errors(h), "wb") as err:
            h.proc = subprocess.Popen(cmd, pass_fds=fds, stdin=subprocess.DEVNULL,
                                      stdout=out or err, stderr=err, start_new_session=True,
                                      preexec_fn=child)

    def close(self):
        """Stop the helper processes, after the hosts have ended."""
