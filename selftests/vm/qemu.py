# SPDX-License-Identifier: GPL-2.0-only
"""Hosts as QEMU guests with Debian's kernels."""

import os
import secrets
import shlex
import socket
import subprocess
import tempfile

from common import CACHE, Bed, build_initrd, vmlinuz

PROBE_LIMIT = 12	# seconds in which a KVM guest must say something


def qemu_base(accel, cpus, mem):
    # Under TCG flags that a CMPXCHG16B leaves can be garbage for an instruction: an interrupt
    # just then comes back with TF set, and the guest panics in exc_debug_kernel().
    cpu = "host" if accel == "kvm" else "max,-cx16"
    acc = "kvm" if accel == "kvm" else "tcg,thread=multi"
    # With room for one processor only, TCG leaves barriers and locked instructions out. QEMU's own
    # thread is another one, though: a NIC's kick gets lost, and it never sends again.
    smp = f"{cpus},maxcpus={max(cpus, 2)}"
    return ["qemu-system-x86_64", "-nodefaults", "-display", "none", "-no-reboot",
            "-accel", acc, "-cpu", cpu, "-smp", smp, "-m", str(mem)]


def kvm_works(rel):
    """Boot a guest with KVM for a moment: /dev/kvm may exist and yet hang."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            stamp = f.read().strip()
    except OSError:		# a tree without /proc
        stamp = "unknown"
    cached = os.path.join(CACHE, "kvm.probe")
    try:
        with open(cached, encoding="ascii") as f:
            boot, answer = f.read().split()
        if boot == stamp != "unknown":
            return answer == "yes"
    except (OSError, ValueError):
        pass

    answer = "no"
    if os.access("/dev/kvm", os.R_OK | os.W_OK):
        with tempfile.TemporaryDirectory() as tmp:
            initrd = build_initrd(rel, tmp, "probe", [], None)
            nonce = secrets.token_hex(8)
            cmd = qemu_base("kvm", 1, 512) + [
                "-serial", "stdio", "-kernel", vmlinuz(rel), "-initrd", initrd, "-append",
                f"console=ttyS0 panic=-1 quiet smcvm.mode=probe smcvm.nonce={nonce}"]
            try:
                r = subprocess.run(cmd, stdin=subprocess.DEVNULL, capture_output=True,
                                   timeout=PROBE_LIMIT, check=False)
                if f"smcvm-alive {nonce}".encode() in r.stdout:
                    answer = "yes"
            except subprocess.TimeoutExpired:
                pass
    with open(cached, "w", encoding="ascii") as f:
        f.write(f"{stamp} {answer}\n")
    return answer == "yes"


class Qemu(Bed):
    """The bed of a run whose hosts are virtual machines."""

    program = "QEMU"

    def __init__(self, run):
        super().__init__(run)
        rel = run.hosts[0].release
        self.accel = os.environ.get("SMC_VM_ACCEL") or ("kvm" if kvm_works(rel) else "tcg")
        self.text = self.accel

    def command(self, h, guest_ctl):
        opt = self.run.opt
        mode = "router" if h.router else opt.mode
        # a guest that stands still while it tries its timer would take it for broken
        cmdline = (f"console=ttyS0 loglevel={opt.loglevel} panic=-1 panic_on_warn=1 oops=panic "
                   f"no_timer_check net.ifnames=0 smcvm.host={h.number} smcvm.mode={mode} "
                   f"smcvm.module={h.module} smcvm.nonce={h.nonce} {opt.append}")
        serial = f"file:{h.console}"
        if opt.mode == "shell":
            serial = (f"unix:{os.path.join(self.run.out, h.name + '.tty')},server=on,wait=off")
        cmd = qemu_base(self.accel, opt.cpus, opt.mem) + [
            "-serial", serial, "-kernel", vmlinuz(h.release), "-initrd", h.initrd,
            "-append", cmdline.strip(), "-device", "virtio-rng-pci",
            "-device", "virtio-serial-pci",
            "-chardev", f"socket,id=ctl,fd={guest_ctl}",
            "-device", "virtserialport,chardev=ctl,name=ctl",
            "-chardev", f"file,id=log,path={h.log}",
            "-device", "virtserialport,chardev=log,name=log"]
        for i, (link, sock) in enumerate(h.nets):
            cmd += ["-netdev", f"stream,id=n{i},server=off,addr.type=fd,addr.str={sock.fileno()}",
                    "-device", f"virtio-net-pci,netdev=n{i},host_mtu={opt.mtu},romfile=,"
                    f"mac=52:54:00:00:{i:02x}:{h.number:02x}"]
            if link is not None and opt.pcap != "off" and h.number == 1:
                snap = 262144 if opt.pcap == "full" else 512
                path = os.path.join(self.run.out, f"link{link}.pcap")
                cmd += ["-object", f"filter-dump,id=d{i},netdev=n{i},file={path},maxlen={snap}"]
        if opt.root:
            cmd += ["-virtfs", f"local,path={opt.root},mount_tag=root,security_model=none,"
                    "readonly=on,multidevs=remap"]
            cmd += ["-virtfs", f"local,path={self.run.out},mount_tag=out,security_model=none,"
                    "multidevs=remap"]
        return cmd + shlex.split(opt.qemu)

    def boot(self):
        for h in self.run.hosts:
            h.ctl, theirs = socket.socketpair()
            fds = [s.fileno() for _, s in h.nets] + [theirs.fileno()]
            self.start(h, self.command(h, theirs.fileno()), fds)
            theirs.close()
        self.let_go()
