#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare the YNL specs in Documentation/netlink with the headers and the code.

Prints what differs, nothing if all is well. Needs python3-yaml, and a C compiler, which knows where
<linux/smc.h> is.

Usage: specs.py names|types|checks|commands|events|nests|tables|docs
       specs.py schema FOLDER	with YNL's own schemas, which are in FOLDER; needs python3-jsonschema
       specs.py rst	prints Documentation/netlink.rst
"""
import os
import pathlib
import re
import subprocess
import sys
import textwrap

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
# Of SMC-D, in <linux/smc.h> of newer kernels than the oldest one whose headers are supported. The
# module does not use them, so netlink/internal.h lacks them.
NEWER = {"SMC_NLA_LGR_D_EXT_GID": (10, "u64"), "SMC_NLA_LGR_D_PEER_EXT_GID": (11, "u64"),
         "SMC_NLA_LGR_D_SNDBUF_ALLOC": (12, "uint"), "SMC_NLA_LGR_D_DMB_ALLOC": (13, "uint")}
# Sets whose attributes have no names in C, and the constant that is their number.
TABLES = {"stats-clc": "SMC_CLC_DECLINE", "stats-llc": "SMC_LLC_PLACES",
          "stats-times": "SMC_STATS_TIMES", "stats-memory": "SMC_MEMS"}
TYPES = "u8|u16|u32|u64|uint|string|flag|nest"
# What the code writes: the end of a function's name, and the type.
PUTS = {"nla_put_u8": "u8", "nla_put_u16": "u16", "nla_put_u32": "u32", "nla_put_u64_64bit": "u64",
        "smc_nl_put_uint": "uint", "nla_put_string": "string", "nla_put_in6_addr": "binary",
        "nla_nest_start": "nest"}
POLICY_TYPES = {"NLA_STRING": "string", "NLA_NUL_STRING": "string", "NLA_U8": "u8", "NLA_U32": "u32",
                "NLA_FLAG": "flag"}
# Limits in policies that are not defined in a header of the project
LIMITS = {"IFNAMSIZ": 16, "IB_DEVICE_NAME_MAX": 64, "U16_MAX": 65535, "sizeof(struct in6_addr)": 16,
          "sizeof(union ib_gid)": 16}


def read(path):
    return (TOP / path).read_text()


def bare(text):
    """C without comments"""
    return re.sub(r"/\*.*?\*/", " ", text, flags=re.S)


def upper(name):
    return name.upper().replace("-", "_")


class Spec:
    def __init__(self, path):
        self.path = path
        self.yaml = yaml.safe_load(path.read_text())
        self.ops = self.yaml["operations"]["list"]
        self.sets = {}		# set: {attribute: its yaml, with "value" and "c"}
        self.attrs = {}		# name in C: (set, attribute's yaml)
        for space in self.yaml["attribute-sets"]:
            last = 0
            attrs = self.sets[space["name"]] = {}
            for attr in space["attributes"]:
                last = attr["value"] = attr.get("value", last + 1)
                prefix = attr.get("name-prefix", space.get("name-prefix"))
                attr["c"] = prefix and upper(prefix + attr["name"])
                attrs[attr["name"]] = attr
                if prefix:
                    self.attrs[attr["c"]] = (space["name"], attr)
        prefix = self.yaml["operations"]["name-prefix"]
        for op in self.ops:
            op["c"] = upper(prefix + op["name"])


SPECS = [Spec(p) for p in sorted((TOP / "Documentation/netlink").glob("*.yaml"))]
ATTRS = {c: attr for spec in SPECS for c, attr in spec.attrs.items()}


def kernel_header():
    """<linux/smc.h>, as the compiler finds it"""
    rule = subprocess.run([*os.environ.get("CC", "gcc").split(), "-M", "-x", "c", "-"], check=True,
                          input="#include <linux/smc.h>\n", text=True, stdout=subprocess.PIPE)
    path = [w for w in rule.stdout.split() if w.endswith("linux/smc.h")][0]
    return pathlib.Path(path).read_text()


def header_numbers():
    """{name: (number, type that its comment says, or None)} of commands and attributes"""
    return {name: what for name, what in all_numbers().items()
            if not name.startswith("__") and not name.endswith(("_MAX", "_UNSPEC"))}


def all_numbers():
    """The same, and the highest ones"""
    found = {}
    for body in re.findall(r"^enum\b.*?\{(.*?)^\}", kernel_header(), re.M | re.S):
        value = -1
        for name, number, kind in re.findall(
                rf"^\t(\w+)(?: = (\d+))?,?(?:\s*/\* ({TYPES}) \*/)?", body, re.M):
            value = int(number) if number else value + 1
            found[name] = (value, kind or None)
    for name, number, kind in re.findall(
            rf"^#define (SMC_NETLINK_\w+)\s+(\d+)(?:\s*/\* ({TYPES}|IPv6)\b)?",
            read("include/uapi/linux/smc_own.h"), re.M):
        found[name] = (int(number), "binary" if kind == "IPv6" else kind or None)
    for name, number in re.findall(r"^#define SMC_NETLINK_(\w+)\s+(\d+)",
                                   read("netlink/internal.h"), re.M):
        found.setdefault(f"SMC_NLA_{name}", (int(number), None))
    for name, what in NEWER.items():
        found.setdefault(name, what)
    return found


def newer_name(name):
    """<linux/smc.h>'s name of an attribute that netlink/internal.h defines"""
    if re.search(rf"^#define {name}\s", read("netlink/internal.h"), re.M):
        return name.replace("SMC_NETLINK_", "SMC_NLA_")
    return name


def constant(name):
    """The number of a constant of the project, or of a limit"""
    for path in ("include/smc/base/settings.h", "include/smc/rdma/pnet_table.h",
                 "include/smc/proto/clc_msg.h", "include/smc/proto/llc_msg.h",
                 "include/smc/base/stats.h"):
        m = re.search(rf"^(?:#define |\t){name}\s+(?:= )?(\d+)", read(path), re.M)
        if m:
            return int(m[1])
    m = re.search(rf"\{{([^}}]*)\n\t{name}\n\}}", bare(read("include/smc/base/stats.h")))
    return m[1].count(",") if m else LIMITS[name]


def number(text):
    """Of an expression such as NAME - 1"""
    total, sign = 0, 1
    for word in re.findall(r"sizeof\([^)]*\)|\w+|[-+]", text):
        if word in "+-":
            sign = -1 if word == "-" else 1
        else:
            total += sign * (int(word) if word.isdigit() else constant(word))
    return total


def code():
    for path in sorted(TOP.glob("netlink/*.c")):
        if path.name != "sock_diag.c":
            yield bare(path.read_text())
    yield bare(read("base/events.c"))


# ---- policies and commands ----

def policies():
    """{policy: {attribute in C: (type, checks)}}; type None: the attribute is refused"""
    found = {}
    for text in code():
        ranges = {name: {"min": number(low), "max": number(high)} for name, low, high in re.findall(
            r"netlink_range_validation (\w+) = \{ \.min = (\w+), \.max = (\w+) \}", text)}
        for name, body in re.findall(r"struct nla_policy (\w+)\[[^]]*\] = \{(.*?)\n\};", text, re.S):
            attrs = found[name] = {}
            for attr, entry in re.findall(r"\[(\w+)\] = (.*?),\n", body + "\n"):
                attrs[attr] = policy_entry(entry, ranges)
    return found


def policy_entry(entry, ranges):
    m = re.fullmatch(r"\{ \.type = (\w+)(?:, \.len = ([^}]*?))? \}", entry)
    if m:
        if m[1] == "NLA_REJECT":
            return None, {}
        checks = {"max-len": number(m[2])} if m[2] else {}
        if m[1] == "NLA_STRING":
            checks["unterminated-ok"] = True
        return POLICY_TYPES[m[1]], checks
    m = re.fullmatch(r"NLA_POLICY_(\w+)\((.*)\)", entry)
    args = [a.strip() for a in m[2].split(", ")]
    if m[1] == "EXACT_LEN":
        return "binary", {"exact-len": number(args[0])}
    kind = POLICY_TYPES[args[0]]
    if m[1] == "FULL_RANGE":
        return kind, ranges[args[1].lstrip("&")]
    return kind, dict(zip({"MIN": ["min"], "MAX": ["max"], "RANGE": ["min", "max"]}[m[1]],
                          [number(a) for a in args[1:]], strict=True))


def operations():
    """{command in C: {member of struct genl_ops: text}}"""
    found = {}
    for text in code():
        macros = {name: body.replace("\\\n", " ") for name, body in re.findall(
            r"^#define (\w+)\(c, fn\)((?:.*\\\n)*.*)", text, re.M)}
        for body in re.findall(r"struct genl_ops \w+\[\] = \{(.*?)\n\};", text, re.S):
            for name, cmd, fn in re.findall(r"^\t(\w+)\((\w+), (\w+)\),$", body, re.M):
                body += re.sub(r"\bfn\b", fn, re.sub(r"##c\b", cmd, macros[name]))
            for entry in re.findall(r"\{(.*?)\}", body, re.S):
                fields = dict(re.findall(r"\.(\w+) = \(?(\w+)", entry))
                found[fields["cmd"]] = fields
    return found


# ---- checks: each yields complaints ----

def check_names():
    want = {c: value for c, (value, _) in header_numbers().items()}
    have = {c: attr["value"] for c, (_, attr) in ATTRS.items()}
    have.update((op["c"], op.get("value")) for spec in SPECS for op in spec.ops)
    for name in sorted(want.keys() | have.keys()):
        if name not in have:
            yield f"{name}: not in the spec"
        elif name not in want:
            yield f"{name}: not in the headers"
        elif want[name] != have[name]:
            yield f"{name}: {want[name]} in the header, {have[name]} in the spec"
    highest = all_numbers()
    for spec in SPECS:
        for space in spec.yaml["attribute-sets"]:
            if "name-prefix" in space:
                name = upper(space.get("attr-max-name", space["name-prefix"] + "max"))
                value = max(attr["value"] for attr in space["attributes"])
                # the header of an older kernel has a lower number
                if name not in highest or (name.startswith("SMC_NETLINK_") and
                                           highest[name][0] != value):
                    yield f"{name}: not the highest number of {space['name']}, {value}"
    text = kernel_header()
    for spec in SPECS:
        for key, name in (("name", "c-family-name"), ("version", "c-version-name")):
            macro = upper(spec.yaml[name])
            m = re.search(rf"^#define {macro}\s+\"?(\w+)\"?$", text, re.M)
            if not m or m[1] != str(spec.yaml[key]):
                yield f"{macro}: not {spec.yaml[key]}"


def check_types():
    said = {}		# attribute in C: {(type, who says it)}
    numbers = header_numbers()
    for name, (_, kind) in numbers.items():
        if name.endswith("_PAD"):
            kind = "pad"
        elif name.startswith("SMC_NETLINK_STATS_OWN_"):
            kind = "nest"	# by the comment above all of them
        if kind:
            said.setdefault(name, set()).add((kind, "the header"))
    for text in code():
        for function, args in re.findall(r"\b(\w+)\(skb, ([^;{]*?)[,)]", text):
            for name in re.findall(r"\bSMC_\w+", args):
                if function in PUTS:
                    said.setdefault(newer_name(name), set()).add((PUTS[function], "the code"))
    for attrs in policies().values():
        for name, (kind, _) in attrs.items():
            if kind and name in numbers:
                said.setdefault(name, set()).add((kind, "the policy"))
    for name in sorted(said.keys() - ATTRS.keys()):
        yield f"{name}: unknown"
    for name, (_, attr) in sorted(ATTRS.items()):
        if name not in said:
            yield f"{name}: nothing says what type it has"
        for kind, who in sorted(said.get(name, ())):
            if kind != attr["type"]:
                yield f"{name}: {kind} by {who}, {attr['type']} in the spec"


def check_checks():
    seen = set()
    for attrs in policies().values():
        for name, (kind, checks) in attrs.items():
            if kind and name in ATTRS:
                seen.add(name)
                have = ATTRS[name][1].get("checks", {})
                if checks != have:
                    yield f"{name}: {checks} in the policy, {have} in the spec"
    if not seen:
        yield "no policy found"
    for name, (_, attr) in ATTRS.items():
        if "checks" in attr and name not in seen:
            yield f"{name}: has checks, but no policy"


def op_complaints(spec, op, fields, policy):
    flags = {"GENL_ADMIN_PERM": ["admin-perm"], "GENL_UNS_ADMIN_PERM": ["uns-admin-perm"],
             None: []}.get(fields.get("flags"), "unknown")
    if flags != op.get("flags", []):
        yield f"flags {flags} in the code"
    lenient = ["strict", "dump"] if fields.get("validate") == "LENIENT" else []
    if lenient != op.get("dont-validate", []):
        yield f"dont-validate {lenient} in the code"
    for key, member in (("do", "doit"), ("dump", "dumpit")):
        if (key in op) != (member in fields):
            yield f"{key}: only in {'the spec' if key in op else 'the code'}"
        attrs = spec.sets[op["attribute-set"]]
        for way in ("request", "reply"):
            for name in op.get(key, {}).get(way, {}).get("attributes", []):
                if name not in attrs:
                    yield f"there is no attribute {name}"
                elif way == "request" and policy.get(attrs[name]["c"], (None,))[0] is None:
                    yield f"the policy refuses {name}"


def check_commands():
    ops, rules, events = operations(), policies(), set()
    asked = {}		# policy: attributes of requests
    for spec in SPECS:
        for op in spec.ops:
            if "event" in op:
                events.add(op["c"])
                continue
            fields = ops.pop(op["c"], None)
            if not fields:
                yield f"{op['c']}: not in the code"
                continue
            name = fields.get("policy")
            if spec.yaml["kernel-policy"] == "global":
                name = "nl_pnet_policy"
            policy = rules.get(name, {})
            for complaint in op_complaints(spec, op, fields, policy):
                yield f"{op['c']}: {complaint}"
            attrs = spec.sets[op["attribute-set"]]
            asked.setdefault(name, set()).update(
                attrs[a]["c"] for a in op.get("do", {}).get("request", {}).get("attributes", []))
    for name in ops:
        yield f"{name}: not in the spec"
    for name, attrs in asked.items():
        for attr in [a for a, (kind, _) in rules.get(name, {}).items() if kind and a not in attrs]:
            yield f"{attr}: no request has it"
    if not events:
        yield "no event found"


def check_events():
    """The attributes that the code puts, and the multicast groups"""
    text = bare(read("base/events.c"))
    groups = re.findall(r"^#define (SMC_NETLINK_OWN_\w+_NAME)\s+\"(\w+)\"",
                        read("include/uapi/linux/smc_own.h"), re.M)
    for spec in SPECS:
        have = [(upper(g["c-define-name"]), g["name"])
                for g in spec.yaml.get("mcast-groups", {}).get("list", [])]
        put = {}
        for op in spec.ops:
            if "event" in op:
                attrs = spec.sets[op["attribute-set"]]
                put.setdefault(op["mcgrp"], set()).update(
                    attrs[a]["c"] for a in op["event"]["attributes"])
        if not put:
            continue
        if have != groups:
            yield f"groups {groups} in the header, {have} in the spec"
        functions = {"events": ["lgr"], "fallbacks": ["fallback"],
                     "connections": ["conn_ends", "conn", "upgrade"]}
        for name in sorted({name for _, name in have} ^ functions.keys()):
            yield f"{name}: a group whose events are not compared, or that is none"
        for group, functions_of_group in functions.items():
            body = "".join(re.search(rf"^static int event_put_{function}\(.*?^\}}", text,
                                     re.M | re.S)[0] for function in functions_of_group)
            names = set(re.findall(r"\bSMC_NETLINK_EV_\w+", body)) - {"SMC_NETLINK_EV_PAD"}
            for name in sorted(names ^ put.get(group, set())):
                yield f"{name}: only in {'the code' if name in names else 'the spec'} of {group}"


def check_nests():
    """What stands between the beginning and the end of a nest belongs to its set"""
    found = 0
    for text in code():
        for args, body in re.findall(r"nla_nest_start\(skb, ([^;]*?)\);(.*?)nla_nest_end", text, re.S):
            for nest in re.findall(r"\bSMC_\w+", args):
                inside = ATTRS[nest][1]["nested-attributes"]
                for name in re.findall(r"(?:nla|smc_nl)_put_\w+\(skb, (SMC_\w+)", body):
                    found += 1
                    name = newer_name(name)
                    if name not in ATTRS or ATTRS[name][0] != inside:
                        yield f"{name}: not in {inside}, the set of {nest}"
    if not found:
        yield "no nest found"


def check_tables():
    for spec in SPECS:
        nameless = {name for name, attrs in spec.sets.items()
                    if any(attr["c"] is None for attr in attrs.values())}
        for name in sorted(nameless - TABLES.keys()):
            yield f"{name} has no names in C"
        for name in sorted(nameless & TABLES.keys()):
            have = [attr["value"] for attr in spec.sets[name].values()]
            if have != list(range(constant(TABLES[name]) + 1)):
                yield f"{name}: not 0 to {TABLES[name]}, {constant(TABLES[name])}"


def check_docs():
    for spec in SPECS:
        for op in spec.ops:
            doc = op.get("doc", "")
            who = "CAP_NET_ADMIN" if op.get("flags") else "Everyone may call"
            if "event" not in op and who not in doc:
                yield f"{op['name']}: the doc does not say {who}"
        for name, attrs in spec.sets.items():
            for attr in attrs.values():
                if attr["type"] != "pad" and not attr.get("doc"):
                    yield f"{name}, {attr['name']}: no doc"


def check_schema(folder):
    """By the schema of the protocol, as the tools of YNL do. Its $schema is no address that jsonschema knows."""
    import jsonschema

    for spec in SPECS:
        path = pathlib.Path(folder, f"{spec.yaml['protocol']}.yaml")
        schema = jsonschema.Draft7Validator(yaml.safe_load(path.read_text()))
        for error in schema.iter_errors(yaml.safe_load(spec.path.read_text())):
            yield f"{spec.path.name}: {'/'.join(map(str, error.absolute_path))}: {error.message}"
        # ... or it would say nothing about anything
        if schema.is_valid({"name": "x", "protocol": spec.yaml["protocol"], "no such key": 1}):
            yield f"{path}: accepts any key"


# ---- the page ----

HEAD = """.. SPDX-License-Identifier: GPL-2.0-only

Netlink
#######

The generic netlink families of the module, from their specs, `smc_gen_netlink.yaml <netlink/smc_gen_netlink.yaml>`_ and
`smc_pnetid.yaml <netlink/smc_pnetid.yaml>`_, which are written in the language of the kernel's YNL tools. The schema of these tools
accepts them (that of the kernel that is unpacked for User Mode Linux); no test runs the tools with them. ``tools/test/specs.py``
prints this page, and ``tools/test/test_specs.sh`` compares specs, page, headers and code: names, numbers, types, limits,
privileges, requests, events and multicast groups. Attributes of sock_diag are in ``<linux/smc_diag.h>`` and
``<uapi/linux/smc_own.h>``.
"""


def title(text, line):
    yield from ("", text, line * len(text))


def table(widths, head, rows):
    yield from ("", ".. list-table::", "   :header-rows: 1", f"   :widths: {widths}", "")
    for row in [head, *rows]:
        for i, cell in enumerate(row):
            yield from textwrap.wrap(str(cell), 110, subsequent_indent=" " * 7,
                                     initial_indent=f"   {'* -' if i == 0 else '  -'} ",
                                     break_on_hyphens=False) or ["     -"]


def literals(names):
    return ", ".join(f"``{name}``" for name in names)


def rows_of_ops(ops):
    for op in ops:
        for way in ("do", "dump", "event"):
            if way not in op:
                continue
            part = op[way]
            yield (f"``{op['name']}``", op["value"], way,
                   literals(part.get("request", {}).get("attributes", [])),
                   literals(part.get("reply", part).get("attributes", [])),
                   f"To ``{op['mcgrp']}``. {op['doc']}" if way == "event" else op["doc"])


def rows_of_attrs(attrs):
    for attr in attrs.values():
        if attr["type"] == "pad":
            continue
        kind = attr["type"]
        if "nested-attributes" in attr:
            kind = f"nest of ``{attr['nested-attributes']}``"
        yield (f"``{attr['name']}``", attr["value"], kind, attr["doc"])


def page():
    yield HEAD.rstrip()
    for spec in SPECS:
        yield from title(spec.yaml["name"], "=")
        yield from ("", *textwrap.wrap(spec.yaml["doc"], 110))
        yield from table("18 6 6 20 20 30", ("Command", "Number", "", "Request", "Answer", ""),
                         rows_of_ops(spec.ops))
        for space in spec.yaml["attribute-sets"]:
            yield from title(f"{spec.yaml['name']}: {space['name']}", "-")
            if "doc" in space:
                yield from ("", *textwrap.wrap(space["doc"], 110, break_on_hyphens=False))
            yield from table("22 8 16 54", ("Attribute", "Number", "Type", ""),
                             rows_of_attrs(spec.sets[space["name"]]))


def main(args):
    if args[0] == "rst":
        print("\n".join(page()))
        return
    for complaint in globals()[f"check_{args[0]}"](*args[1:]):
        print(complaint)


if __name__ == "__main__":
    main(sys.argv[1:])
