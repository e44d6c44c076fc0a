#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The YNL specs of the netlink families say what the headers and the code of the module say.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

# differs WHAT [FOLDER]: print where the specs differ; a list that cannot be read is a difference, too
differs()
{
	python3 test/specs.py "$@"
}

# ynl_schemas: print the folder with YNL's schemas, of the kernel that selftests/uml/build-kernel.sh has unpacked
ynl_schemas()
{
	for f in "$(../scripts/cache-dir.sh)"/uml/src-*/.patched; do
		[ ! -e "$f" ] || echo "${f%/.patched}/Documentation/netlink"
	done | tail -n 1
}

page_differs()
{
	python3 test/specs.py rst | diff - ../Documentation/netlink.rst
}

echo "KTAP version 1"

if python3 -c 'import yaml' 2>/dev/null; then
	expect 'specs: names and numbers are those of the headers' '' differs names
	expect 'specs: types are those of headers, policies and code' '' differs types
	expect 'specs: limits are those of the policies' '' differs checks
	expect 'specs: commands: privileges, do, dump, requests' '' differs commands
	expect 'specs: events: attributes and multicast groups' '' differs events
	expect 'specs: nested attributes are in the set of their nest' '' differs nests
	expect 'specs: tables have as many numbers as the code puts' '' differs tables
	expect 'specs: netlink.rst is what they say (specs.py rst)' '' page_differs
	expect 'specs: all is documented, and who may call it' '' differs docs
	schemas=$(ynl_schemas)
	if [ -z "$schemas" ]; then
		ktap_skip "specs: valid by YNL's own schema" 'no kernel of selftests/uml/build-kernel.sh is unpacked'
	elif ! python3 -c 'import jsonschema' 2>/dev/null; then
		ktap_skip "specs: valid by YNL's own schema" 'python3-jsonschema is not installed'
	else
		expect "specs: valid by YNL's own schema" '' differs schema "$schemas"
	fi
else
	ktap_skip 'specs' 'python3-yaml is not installed'
fi

ktap_done
