# SPDX-License-Identifier: GPL-2.0-only
"""Hosts as QEMU guests with Debian's kernels."""

import os
import secrets
import shlex
import socket
import subprocess
import tempfile

from common import CACHE, TestBed, arch_of, build_initrd, patches_code, vmlinuz

PROBE_LIMIT = 12	# seconds in which a KVM guest must print its nonce


# what differs by architecture: machine, console, virtual CPU of TCG
MACHINES = {
    None: (["qemu-system-x86_64"], "ttyS0", "max,-cx16"),
    # (pointers are signed by a hash that is quick to emulate)
    "arm64": (["qemu-system-aarch64", "-machine", "virt,gic-version=3"], "ttyAMA0",
              "max,pauth-impdef=on")}


def qemu_base(accel, cpus, mem, arch=None):
    # Under TCG the flags after a CMPXCHG16B can be wrong for one instruction: an interrupt at
    # that moment returns with TF set, and the guest panics in exc_debug_kernel().
    program, _, tcg_cpu = MACHINES[arch]
    cpu = "host" if accel == "kvm" else tcg_cpu
    acc = {"kvm": "kvm", "icount": "tcg,thread=single"}.get(accel, "tcg,thread=multi")
    # One nanosecond of the guest is one instruction, and idle time passes at once.
    count = ["-icount", "shift=0,align=off,sleep=off"] if accel == "icount" else []
    # With maxcpus=1 TCG omits barriers and locked instructions. But QEMU's I/O thread runs beside
    # the processor: the kick of a NIC is lost, and the NIC never sends again.
    smp = f"{cpus},maxcpus={max(cpus, 2)}"
    return program + ["-nodefaults", "-display", "none", "-no-reboot",
                      "-accel", acc, "-cpu", cpu, "-smp", smp, "-m", str(mem)] + count


def kvm_works(rel):
    """Boot a guest with KVM for a moment: /dev/kvm may exist, but guests hang with it."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            stamp = f.read().strip()
    except OSError:		# /proc is not mounted
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


class Qemu(TestBed):
    """The test bed of a run whose hosts are virtual machines."""

    program = "QEMU"
    parameters = ""		# more kernel parameters

    def __init__(self, run):
        super().__init__(run)
        self.accel = self.choose_accel(run.hosts[0].release)
        # Most kernels patch running code under a temporary breakpoint. With a second processor, which
        # translates that code while the first one writes it, TCG keeps a translation of the
        # breakpoint that the kernel has removed, and the guest dies of an unknown trap. One TCG
        # thread for all processors is no way out: it omits locked instructions, see qemu_base().
        if self.accel != "kvm" and any(patches_code(h.release) for h in run.hosts):
            run.opt.cpus = 1
        self.text = self.accel

    def choose_accel(self, rel):
        if arch_of(rel):
            return "tcg"
        return os.environ.get("SMC_VM_ACCEL") or ("kvm" if kvm_works(rel) else "tcg")

    def command(self, h, guest_ctl):
        opt = self.run.opt
        arch = arch_of(h.release)
        mode = "router" if h.router else opt.mode
        # a guest that gets no processor while it checks its timer would report a broken timer
        cmdline = (f"console={MACHINES[arch][1]} loglevel={opt.loglevel} panic=-1 panic_on_warn=1 oops=panic "
                   f"no_timer_check net.ifnames=0 smcvm.host={h.number} smcvm.mode={mode} "
                   f"smcvm.module={h.module} smcvm.nonce={h.nonce} {self.parameters} "
                   f"{opt.append}")
        serial = f"file:{h.console}"
        if opt.mode == "shell":
            serial = (f"unix:{os.path.join(self.run.out, h.name + '.tty')},server=on,wait=off")
        cmd = qemu_base(self.accel, opt.cpus, opt.mem, arch) + [
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
        self.close_cables()


class Insn(Qemu):
    """The test bed of a host whose clock counts its instructions. Times that programs measure do
    not depend on the machine, nor on what else runs there."""

    # The guest has no other clock, and its functions are at the addresses of System.map.
    parameters = "mitigations=off nokaslr tsc=reliable clocksource=tsc"

    def choose_accel(self, rel):
        return "icount"
