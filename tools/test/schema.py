#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Compare JSON of the tools with Documentation/json/smc.schema.json, and print json.rst from it.

Usage: schema.py check DOCUMENT [lines]	JSON on stdin; lines: one document in each line
       schema.py documents		the names of documents
       schema.py unnumbered		those without the number of the format
       schema.py rst			Documentation/json.rst

"check" prints what differs, nothing if all is well. It is stricter than the schema: members that
the schema does not have are refused, so that none is undocumented. Needs python3-jsonschema.
"""
import json
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = json.loads((TOP / "Documentation/json/smc.schema.json").read_text())
DEFS = SCHEMA["$defs"]
DOCUMENTS = [name for name, what in DEFS.items() if "title" in what]


def strict(schema):
    """A copy that refuses members it does not name"""
    if isinstance(schema, list):
        return [strict(s) for s in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: strict(val) for key, val in schema.items()}
    if copy.get("type") == "object":
        copy.setdefault("additionalProperties", False)
    return copy


def check(name, lines):
    import jsonschema

    whole = strict({"$defs": DEFS, "$ref": "#/$defs/" + name})
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    validator = jsonschema.Draft202012Validator(whole)
    text = sys.stdin.read()
    if not text.strip():
        print("no JSON at all")
    for one in text.splitlines() if lines else [text] if text.strip() else []:
        for error in validator.iter_errors(json.loads(one)):
            print("/".join(map(str, error.absolute_path)) + ": " + error.message)


# ---- the page ----

KINDS = {"integer": "number", "number": "number with a fraction", "string": "string",
         "boolean": "true or false"}
HEAD = """.. SPDX-License-Identifier: GPL-2.0-only

JSON of the tools
#################

``smcctl`` (also as ``smcr``, ``smcss`` and ``smc_pnet``), ``smc_cgroup`` and ``smc_run`` (with ``--verify``, and for
services) print JSON with the option ``-j`` or ``--json``. `smc.schema.json <json/smc.schema.json>`_ is the JSON Schema
of all of it: each member of its ``$defs`` that has a title is what a command prints. ``tools/test/schema.py`` prints
this page from it, and ``tools/test/test_json.sh`` compares both with what the programs print.

* The outermost object has a member ``format``: {format}. In a list each object has it, in ``watch`` and ``monitor`` each
  line. It grows when a member goes or changes its meaning, not when one is added: programs should skip members that they
  do not know.
* A list is an array, even if it is empty.
* Members that are not marked with an asterisk are absent where they do not apply, and where the module, or an older one,
  does not report them.
* Numbers are decimal, up to 64 bits. Identifiers and diagnosis codes of 32 bits are strings such as ``0x03030000``.
  Strings are ASCII.
"""


def resolve(schema):
    """The schema, and its own description if it is a reference with another one"""
    if "$ref" not in schema:
        return schema, schema.get("description", "")
    target = DEFS[schema["$ref"].rsplit("/", 1)[1]]
    return target, schema.get("description", target.get("description", ""))


def kind(schema):
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join("``%s``" % word for word in schema["enum"])
    if "pattern" in schema:
        return "string, hexadecimal"
    if schema["type"] == "array":
        return "list of objects" if resolve(schema["items"])[0].get("type") == "object" else "list"
    return KINDS.get(schema["type"], "object")


def cell(text):
    return text.replace("*", "\\*")


def rows(schema, prefix=""):
    """(name, kind, meaning) of each member, inner ones with the names of the outer ones in front"""
    needed = schema.get("required", [])
    for name, ref in schema.get("properties", {}).items():
        member, meaning = resolve(ref)
        mark = " \\*" if name in needed else ""
        yield "``%s``%s" % (prefix + name, mark), kind(member), cell(meaning)
        inner = resolve(member["items"])[0] if member.get("type") == "array" else member
        if inner.get("type") == "object":
            yield from rows(inner, prefix + name + ("[]." if member.get("type") == "array" else "."))
    more = schema.get("additionalProperties")
    if more:
        member, meaning = resolve(more)
        yield "``%sNAME``" % prefix, kind(member), cell(meaning)
        yield from rows(member, prefix + "NAME.")


def page():
    print(HEAD.format(format=DEFS["format"]["const"]), end="")
    for name in DOCUMENTS:
        doc = DEFS[name]
        print("\n%s\n%s\n\n%s: %s." % (name, "=" * len(name), cell(doc["title"]), cell(doc["description"])),
              end="")
        what = doc
        if doc["type"] == "array":
            what = resolve(doc["items"])[0]
            print(" A list of objects.", end="")
        print()
        table = list(rows(what))
        if table:
            print("\n.. list-table::\n   :widths: 34 26 40\n")
        for row in table:
            print("   * - %s\n     - %s\n     - %s" % row)


def unnumbered():
    """Documents whose objects need not have the number of the format"""
    for name in DOCUMENTS:
        what = DEFS[name]
        if what["type"] == "array":
            what = resolve(what["items"])[0]
        if "format" not in what.get("required", []):
            yield name


if sys.argv[1:] == ["unnumbered"]:
    print("\n".join(unnumbered()))
elif sys.argv[1:] == ["documents"]:
    print("\n".join(DOCUMENTS))
elif sys.argv[1:] == ["rst"]:
    page()
elif len(sys.argv) in (3, 4) and sys.argv[1] == "check" and sys.argv[2] in DOCUMENTS:
    check(sys.argv[2], sys.argv[3:] == ["lines"])
else:
    sys.exit(__doc__)
