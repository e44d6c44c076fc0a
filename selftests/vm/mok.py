#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""A machine owner key (MOK) is enrolled in a guest, as Documentation/selinux-secure-boot.rst says.

Usage: mok.py SERIES SIGNED OURS

The firmware of the guest trusts Microsoft's keys alone and is in Secure Boot mode; it starts Debian's shim, which
starts Debian's grub and kernel, all as their packages have signed them. guest/mok.sh calls mokutil and starts the
guest again; then shim's MokManager asks on the console, where this program answers. SIGNED is what sign.sh has made:
modules signed with a key that no kernel trusts, and that key. OURS is the folder with modules without a signature.
Prints KTAP. The console is kept beside SIGNED.
"""

import os
import select
import shutil
import subprocess
import sys
import tempfile
import time

from common import CACHE, TOP, build_initrd, die_with_parent, release_of, vmlinuz
from qemu import qemu_base

LIMIT = 900		# seconds for both boots
PACKAGES = ["shim-signed", "shim-helpers-amd64-signed", "grub-efi-amd64-signed"]
OVMF = "/usr/share/OVMF"
PASSWORD = "once-only"
DOWN, ENTER = b"\x1b[B", b"\r"

# what MokManager shows, and the keys that lead on from there
DIALOG = [
    (b"Press any key", [b" "]),
    (b"Enroll MOK", [DOWN, ENTER]),
    (b"Continue", [DOWN, ENTER]),
    (b"Enroll the key", [DOWN, ENTER]),
    (b"Password", [PASSWORD.encode() + ENTER]),
    (b"Reboot", [ENTER]),
]

GRUB = """set timeout=0
menuentry guest {
	linux /vmlinuz console=ttyS0 loglevel=4 panic=-1 smcvm.mode=mok smcvm.module=ours
	initrd /initrd
}
"""


def boot_programs():
    """Return the folder with what the packages have in /usr/lib, unpacked in the cache."""
    folder = os.path.join(CACHE, "mok")
    if not os.path.exists(os.path.join(folder, "done")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        for package in PACKAGES:
            files = subprocess.run([os.path.join(TOP, "scripts/apt-private.sh"), os.path.join(CACHE, "apt"),
                                    "files", package], check=True, stdout=subprocess.PIPE).stdout
            subprocess.run(["tar", "-xf", "-", "-C", folder], input=files, check=True)
        with open(os.path.join(folder, "done"), "w", encoding="ascii"):
            pass
    return os.path.join(folder, "usr/lib")


def make_disk(tmp, series, signed, ours):
    """Return an EFI system partition from which the guest starts."""
    rel = release_of(series)
    programs = boot_programs()
    password = os.path.join(tmp, "password")
    with open(password, "w", encoding="ascii") as f:
        f.write(f"{PASSWORD}\n{PASSWORD}\n")
    grub = os.path.join(tmp, "grub.cfg")
    with open(grub, "w", encoding="ascii") as f:
        f.write(GRUB)
    initrd = build_initrd(rel, tmp, "mok", [os.path.join(signed, "t"), os.path.join(signed, "foreign.der"), password,
                                            os.path.join(TOP, "scripts/load.sh"), "/usr/bin/mokutil"], ours)
    disk = os.path.join(tmp, "disk")
    with open(disk, "wb") as f:
        f.truncate(256 << 20)
    subprocess.run(["mformat", "-i", disk, "-F", "::"], check=True)
    subprocess.run(["mmd", "-i", disk, "::/EFI", "::/EFI/BOOT", "::/EFI/debian"], check=True)
    for source, to in ((f"{programs}/shim/shimx64.efi.signed", "EFI/BOOT/BOOTX64.EFI"),
                       (f"{programs}/shim/mmx64.efi.signed", "EFI/BOOT/mmx64.efi"),
                       (f"{programs}/grub/x86_64-efi-signed/grubx64.efi.signed", "EFI/BOOT/grubx64.efi"),
                       (grub, "EFI/debian/grub.cfg"), (vmlinuz(rel), "vmlinuz"), (initrd, "initrd")):
        subprocess.run(["mcopy", "-i", disk, source, "::/" + to], check=True)
    return disk


class Console:
    """The serial console of the guest."""

    def __init__(self, tmp, disk, log):
        variables = os.path.join(tmp, "variables")
        shutil.copy(f"{OVMF}/OVMF_VARS_4M.ms.fd", variables)
        # its second boot is a reset, so without -no-reboot
        cmd = [a for a in qemu_base("tcg", 1, 1024) if a != "-no-reboot"] + [
            "-machine", "q35", "-serial", "stdio",
            "-drive", f"if=pflash,format=raw,unit=0,readonly=on,file={OVMF}/OVMF_CODE_4M.fd",
            "-drive", f"if=pflash,format=raw,unit=1,file={variables}",
            "-drive", f"if=virtio,format=raw,file={disk}"]
        self.proc = subprocess.Popen(cmd, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                     bufsize=0, preexec_fn=die_with_parent)
        self.log = open(log, "wb", buffering=0)
        self.text = b""		# since the last answer
        self.end = time.monotonic() + LIMIT

    def read(self):
        """Read for a second at most. Return false when there is nothing more to come."""
        if time.monotonic() > self.end:
            return False
        if select.select([self.proc.stdout], [], [], 1)[0]:
            data = os.read(self.proc.stdout.fileno(), 65536)
            if not data:
                return False
            self.log.write(data)
            self.text += data
        return True

    def until(self, *words):
        """Read until one of the words comes. Return true if it came."""
        while not any(w in self.text for w in words):
            if not self.read():
                return False
        return True

    def press(self, keys):
        """Press keys, one by one: MokManager drops what comes while it draws."""
        self.text = b""
        for key in keys:
            time.sleep(1.5)
            self.proc.stdin.write(key)

    def close(self):
        self.proc.kill()
        self.proc.wait()
        self.log.close()


def reports(text):
    """Return what guest/mok.sh has said, by its first word."""
    found = {}
    for line in text.decode("utf-8", "replace").splitlines():
        if line.startswith("mok: "):
            word, _, rest = line[5:].strip().partition(": ")
            found[word] = rest
    return found


def refused(said, why):
    return said.startswith("smc: smc.ko was refused: this kernel loads only modules with a trusted signature "
                           f"(lockdown: integrity, module.sig_enforce: Y), and {why};")


def guest_run(console):
    """Boot twice. Yield the name of each test, and whether it has passed."""
    console.until(b"mok: import")
    console.read()	# the rest of the line
    before = reports(console.text)
    none, unknown = "smc.ko has none", "that of smc.ko is not trusted"
    yield "shim, grub and kernel of Debian start in Secure Boot mode", before.get("state") == "SecureBoot enabled"
    yield ("modules without a signature, and those of a key that is not enrolled, are refused",
           refused(before.get("unsigned", ""), none) and refused(before.get("signed", ""), unknown))
    yield "mokutil requests the enrolment", console.until(b"mok: import: 0")
    asked = all(console.until(words) and (console.press(keys) or True) for words, keys in DIALOG)
    yield "MokManager enrols the key", asked
    console.until(b"mok: end", b"mok: import")
    after = reports(console.text)
    yield "modules that are signed with it are loaded", after.get("signed", "").startswith("smc: loaded;")
    yield "... and those without a signature are still refused", refused(after.get("unsigned", ""), none)


def main(argv):
    if len(argv) != 4:
        sys.exit(__doc__)
    series, signed, ours = argv[1:]
    failed = False
    n = 0
    log = os.path.join(signed, "mok.console")
    print("KTAP version 1")
    with tempfile.TemporaryDirectory() as tmp:
        console = Console(tmp, make_disk(tmp, series, signed, ours), log)
        try:
            for name, passed in guest_run(console):
                n += 1
                print(f"{'ok' if passed else 'not ok'} {n} {name}", flush=True)
                failed = failed or not passed
        finally:
            console.close()
    print(f"1..{n}")
    if failed:
        print(f"# the console is in {log}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv))
