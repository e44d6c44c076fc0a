#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Check samples/kubernetes-*.yaml without a cluster: what one part of them says of another one.

Usage: kubernetes.py faults            print what is wrong, nothing if all is well
       kubernetes.py script CONTAINER  print the shell script of a container

Needs python3-yaml. The manifests of a cluster are judged by the cluster alone: there is no schema here.
"""

import pathlib
import re
import sys

import yaml

TOOLS = pathlib.Path(__file__).resolve().parent.parent


class Unique(yaml.SafeLoader):
    """YAML forbids a key that is there twice; the loader would take the last one."""

    def construct_mapping(self, node, deep=False):
        keys = [self.construct_object(key) for key, _ in node.value]
        for key in set(keys):
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key} is there twice", node.start_mark)
        return super().construct_mapping(node, deep)


def manifests():
    """Return the documents of both files by kind."""
    found = {}
    for path in sorted((TOOLS / "samples").glob("kubernetes-*.yaml")):
        for one in yaml.load_all(path.read_text(), Unique):
            assert one["kind"] not in found, "a second " + one["kind"]
            found[one["kind"]] = one
    return found


def name_faults(all_):
    """Each object has what each object must have, and is in the namespace of the first one."""
    space = all_["Namespace"]["metadata"]["name"]
    for kind, one in all_.items():
        if not re.fullmatch(r"([a-z0-9.-]+/)?v\d+(beta\d+)?", one["apiVersion"]):
            yield f"{kind}: apiVersion {one['apiVersion']}"
        if kind != "Namespace" and one["metadata"]["namespace"] != space:
            yield f"{kind}: not in namespace {space}"


def module_faults(all_):
    """The Module is about the modules that the tree builds, and about the Dockerfile beside it."""
    built = re.findall(r"obj-m \+?:?= (.*)", (TOOLS.parent / "Kbuild").read_text())
    # smc_lo is for programs of one network namespace: of one pod
    built = sorted(set(re.findall(r"(\w+)\.o", " ".join(built))) - {"smc_lo"})
    container = all_["Module"]["spec"]["moduleLoader"]["container"]
    probe = container["modprobe"]
    text = all_["ConfigMap"]["data"]["dockerfile"]
    for what, names in (("loaded", probe["modulesLoadingOrder"]),
                        ("removed", container["inTreeModulesToRemove"]),
                        ("copied", re.findall(r"/src/(\w+)\.ko", text))):
        if sorted(names) != built:
            yield f"{what}: {names}, built: {built}"
    if probe["moduleName"] != probe["modulesLoadingOrder"][0]:
        yield "moduleName is not the first one of modulesLoadingOrder"
    mapping = container["kernelMappings"][0]
    if "${KERNEL_FULL_VERSION}" not in mapping["containerImage"]:
        yield "one image for all kernels"
    if mapping["build"]["dockerfileConfigMap"]["name"] != all_["ConfigMap"]["metadata"]["name"]:
        yield "no such Dockerfile"
    for arg in mapping["build"]["buildArgs"]:
        if f"ARG {arg['name']}\n" not in text:
            yield f"the Dockerfile has no argument {arg['name']}"
    makefile = (TOOLS.parent / "Makefile").read_text()
    for target in re.findall(r"make -C /src (\w+) ", text):
        if f"\n{target}:" not in makefile:
            yield f"no target {target} in the Makefile"


def node_faults(all_):
    """The DaemonSet finds its pods, its nodes and its volumes."""
    spec = all_["DaemonSet"]["spec"]
    pod = spec["template"]["spec"]
    meta = all_["Module"]["metadata"]
    if spec["selector"]["matchLabels"] != spec["template"]["metadata"]["labels"]:
        yield "other labels than those of the pods"
    if list(pod["nodeSelector"]) != [f"kmm.node.kubernetes.io/{meta['namespace']}.{meta['name']}.ready"]:
        yield "other nodes than those of the Module"
    volumes = [v["name"] for v in pod["volumes"]]
    mounted = [m["name"] for c in pod["containers"] for m in c["volumeMounts"]]
    if sorted(volumes) != sorted(set(mounted)):
        yield f"volumes {volumes}, mounted {mounted}"
    for one in pod["containers"]:
        names = [m for m in one["volumeMounts"] if m["mountPath"] == "/run/netns"]
        if re.search(r"-n all|\bsmc_cgroup\b", one["args"][0]) and \
           [m.get("mountPropagation") for m in names] != ["HostToContainer"]:
            yield f"{one['name']}: does not see names of namespaces"


def pod_faults(all_):
    """The Pod has settings that exist, with values that a pod may set, and a node with the module."""
    spec = all_["Pod"]["spec"]
    if spec["nodeSelector"] != all_["DaemonSet"]["spec"]["template"]["spec"]["nodeSelector"]:
        yield "other nodes than those of the DaemonSet"
    if spec.get("hostNetwork"):
        yield "settings of the host's network"
    settings = (TOOLS.parent / "selftests/vm/cases/sysctl.sh").read_text()
    # case_pod tries which ones a pod cannot write
    refused = re.search(r'"refused in the pod" .* = "(.*)"', settings)[1].split()
    limits = {name: (int(least), int(most)) for name, least, most in
              re.findall(r'^(?:SETTINGS=")?(\w+) \d+ (\d+) (\d+)"?$', settings, re.MULTILINE)}
    for one in spec["securityContext"]["sysctls"]:
        name = one["name"].removeprefix("net.smc.")
        least, most = limits.get(name, (1, 0))
        if name in refused or not isinstance(one["value"], str) or not least <= int(one["value"]) <= most:
            yield f"{one['name']} = {one['value']!r}"


def script(name):
    """Return the script of the container."""
    for one in manifests()["DaemonSet"]["spec"]["template"]["spec"]["containers"]:
        if one["name"] == name:
            assert one["command"] == ["sh", "-c"]
            return one["args"][0]
    raise SystemExit(f"no container {name}")


def main():
    """Print what the command line asks for."""
    if sys.argv[1:2] == ["script"]:
        print(script(sys.argv[2]), end="")
        return
    all_ = manifests()
    for faults in (name_faults, module_faults, node_faults, pod_faults):
        for fault in faults(all_):
            print(fault)


if __name__ == "__main__":
    main()
