#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Make the config.json of containers for cases/oci.sh: what a kubelet and its runtime make of the manifests
samples/kubernetes-pod.yaml and samples/kubernetes-node.yaml.

Usage: oci.py FOLDER

writes FOLDER/oci/NAME.json, with @POD@ for the name of the pod, @BUNDLE@ for the folder of the bundle and, if the
container is privileged, "@DEVICES@" for the list of the host's devices, and FOLDER/oci/sysctls: a name and a value
of the manifest on each line.

A container gets the settings, the script, the volumes and the capabilities that its manifest has, and what
Kubernetes and containerd give to one that does not ask for more: namespaces of its own, but the network
namespace that the network plugin has made; the capabilities of CAPABILITIES; /proc/sys that cannot be written.
Its seccomp profile is the default one of Podman and CRI-O, which is taken from a package of Debian that need not
be installed. A privileged one has what containerd gives to it: all capabilities, /sys and the devices of the host,
no profile. Its image is the guest's programs. Needs python3-yaml.
"""

import io
import json
import pathlib
import subprocess
import sys
import tarfile

from common import CACHE, TOP

sys.path.insert(0, f"{TOP}/tools/test")
import kubernetes	# noqa: E402

PACKAGE = "golang-github-containers-common"
PROFILE = "usr/share/containers/seccomp.json"
MEMORY = 64 << 20	# resources.limits.memory of the pods
CAPABILITIES = ("CHOWN DAC_OVERRIDE FSETID FOWNER MKNOD NET_RAW SETGID SETUID SETFCAP SETPCAP "
                "NET_BIND_SERVICE SYS_CHROOT KILL AUDIT_WRITE").split()
EVERY_CAPABILITY = CAPABILITIES + (
    "DAC_READ_SEARCH LINUX_IMMUTABLE NET_BROADCAST NET_ADMIN IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_PTRACE "
    "SYS_PACCT SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG LEASE AUDIT_CONTROL MAC_OVERRIDE "
    "MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE").split()
MASKED = "acpi kcore keys latency_stats timer_list timer_stats sched_debug scsi".split()
READ_ONLY = "bus fs irq sys sysrq-trigger".split()


def read_profile():
    """Return the default profile; the package is downloaded once."""
    kept = pathlib.Path(CACHE) / "seccomp.json"
    if not kept.exists():
        files = subprocess.run([f"{TOP}/scripts/apt-private.sh", f"{CACHE}/apt", "files", PACKAGE],
                               check=True, stdout=subprocess.PIPE).stdout
        with tarfile.open(fileobj=io.BytesIO(files)) as archive:
            kept.write_bytes(archive.extractfile(f"./{PROFILE}").read())
    return json.loads(kept.read_text())


def applies(rule, capabilities):
    """Is this rule of the profile for such a container on x86-64?"""
    include, exclude = rule.get("includes") or {}, rule.get("excludes") or {}
    if "amd64" not in include.get("arches", ["amd64"]) or "amd64" in exclude.get("arches", []):
        return False
    held = {f"CAP_{name}" for name in capabilities}
    return held.issuperset(include.get("caps", [])) and held.isdisjoint(exclude.get("caps", []))


def seccomp(capabilities):
    """Return the default profile in the form of config.json."""
    profile = read_profile()
    calls = []
    for rule in profile["syscalls"]:
        if applies(rule, capabilities):
            call = {key: rule[key] for key in ("names", "action", "args", "errnoRet") if rule.get(key)}
            calls.append(call)
    return {"defaultAction": profile["defaultAction"],
            "defaultErrnoRet": profile.get("defaultErrnoRet", 1),
            "architectures": ["SCMP_ARCH_X86_64", "SCMP_ARCH_X86", "SCMP_ARCH_X32"],
            "syscalls": calls}


def mounts(volumes):
    """Return the mounts of every container, and those of its volumes (destination, source, option)."""
    made = [("/proc", "proc", "proc", ["nosuid", "noexec", "nodev"]),
            ("/dev", "tmpfs", "tmpfs", ["nosuid", "mode=755"]),
            ("/dev/pts", "devpts", "devpts", ["nosuid", "noexec", "newinstance", "ptmxmode=0666"]),
            ("/dev/shm", "tmpfs", "shm", ["nosuid", "noexec", "nodev"]),
            ("/dev/mqueue", "mqueue", "mqueue", ["nosuid", "noexec", "nodev"]),
            ("/sys", "sysfs", "sysfs", ["nosuid", "noexec", "nodev", "ro"]),
            ("/sys/fs/cgroup", "cgroup", "cgroup", ["nosuid", "noexec", "nodev", "ro"]),
            ("/tmp", "tmpfs", "tmpfs", ["nosuid", "nodev"])]
    made += [(path, "bind", path, ["rbind", "ro"]) for path in ("/bin", "/etc", "/lib", "/lib64", "/usr", "/t")]
    made += [("/c", "bind", "@BUNDLE@/c", ["rbind", "ro"])]
    made = [one for one in made if one[0] not in [to for to, _, _ in volumes]]
    made += [(to, "bind", source, ["rbind", *options]) for to, source, options in volumes]
    return [{"destination": to, "type": kind, "source": source, "options": options}
            for to, kind, source, options in made]


def config(sysctls=None, capabilities=CAPABILITIES, user=0, unmasked=(), host=(), env=(), volumes=()):
    """Return a config.json.

    unmasked: folders of /proc that are not protected; host: namespaces that are the host's
    """
    held = [f"CAP_{name}" for name in capabilities]
    spaces = [{"type": kind} for kind in ("pid", "ipc", "uts", "mount", "cgroup")]
    spaces += [{"type": "network", "path": "/run/netns/@POD@"}]
    return {
        "ociVersion": "1.0.2",
        "hostname": "@POD@",
        "root": {"path": "rootfs", "readonly": True},
        "process": {
            "cwd": "/",
            "user": {"uid": user, "gid": user},
            "args": ["/bin/sh", "/c/command"],
            "env": ["PATH=/t:/usr/sbin:/usr/bin:/sbin:/bin", *env],
            "noNewPrivileges": True,
            "capabilities": {kind: held for kind in ("bounding", "effective", "permitted")},
        },
        "mounts": mounts(volumes),
        "linux": {
            "namespaces": [one for one in spaces if one["type"] not in host],
            "cgroupsPath": "/kubepods/@POD@/@NAME@",
            "sysctl": sysctls or {},
            "resources": {"devices": [{"allow": False, "access": "rwm"}], "memory": {"limit": MEMORY}},
            "seccomp": seccomp(capabilities),
            "maskedPaths": [f"/proc/{name}" for name in MASKED] + ["/sys/firmware"],
            "readonlyPaths": [f"/proc/{name}" for name in READ_ONLY if name not in unmasked],
        },
    }


def grant_all(made):
    """Make a container privileged, whose config.json this is."""
    held = [f"CAP_{name}" for name in EVERY_CAPABILITY]
    made["process"]["capabilities"] = {kind: held for kind in ("bounding", "effective", "permitted")}
    made["process"]["noNewPrivileges"] = False
    for mount in made["mounts"]:
        if mount["type"] in ("sysfs", "cgroup"):
            mount["options"].remove("ro")
    linux = made["linux"]
    linux["namespaces"] = [one for one in linux["namespaces"] if one["type"] != "cgroup"]
    linux["devices"] = "@DEVICES@"
    linux["resources"]["devices"] = [{"allow": True, "access": "rwm"}]
    for restriction in ("seccomp", "maskedPaths", "readonlyPaths"):
        del linux[restriction]


def value_of(env):
    """Return the value of a variable; the manifest is for the cgroup driver systemd, here it is cgroupfs."""
    return env["value"].removesuffix(".slice") if env["name"] == "CGROUP" else env["value"]


def daemon(name, manifest):
    """Return the config.json of a container of the DaemonSet, whose pods have no limits."""
    pod = manifest["spec"]["template"]["spec"]
    assert pod["hostPID"] and pod["hostNetwork"]
    one = next(c for c in pod["containers"] if c["name"] == name)
    paths = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"]}
    spread = {"HostToContainer": ["rslave"]}
    volumes = [(m["mountPath"], paths[m["name"]], spread.get(m.get("mountPropagation"), ["rprivate"]))
               for m in one["volumeMounts"]]
    rights = one["securityContext"]
    added = rights.get("capabilities", {}).get("add", [])
    made = config(capabilities=CAPABILITIES + added, host=("pid", "network"), volumes=volumes,
                  env=[f"{e['name']}={value_of(e)}" for e in one["env"]])
    made["process"]["args"] = one["command"] + one["args"]
    del made["linux"]["resources"]["memory"]
    if any("mountPropagation" in m for m in one["volumeMounts"]):
        made["linux"]["rootfsPropagation"] = "rslave"
    if rights.get("privileged"):
        grant_all(made)
    return made


def main():
    """Write all files."""
    folder = pathlib.Path(sys.argv[1]) / "oci"
    folder.mkdir(parents=True, exist_ok=True)
    manifests = kubernetes.manifests()
    settings = {one["name"]: one["value"]
                for one in manifests["Pod"]["spec"]["securityContext"]["sysctls"]}
    made = {
        "settings": config(settings),
        # "restricted" of the Pod Security Standards
        "restricted": config(settings, capabilities=[], user=1000),
        # as the sample of Documentation/containers.rst
        "off": config({"net.smc.enabled": "0"}),
        # procMount: Unmasked, as far as this is about
        "unmasked": config(unmasked=["sys"]),
        "metrics": daemon("metrics", manifests["DaemonSet"]),
        "convert": daemon("convert", manifests["DaemonSet"]),
    }
    for name, one in made.items():
        text = json.dumps(one, indent=1).replace("@NAME@", name)
        (folder / f"{name}.json").write_text(text + "\n")
    lines = "".join(f"{name} {value}\n" for name, value in settings.items())
    (folder / "sysctls").write_text(lines)


main()
