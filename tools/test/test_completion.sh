#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The bash completion of smcctl, with the fake module of test/fake_netlink.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
# shellcheck source=completion/smcctl
. completion/smcctl

fake=$(pwd)/test/fake_netlink.so
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
export FAKE_NL_UEIDS="$tmp/ueids"
printf '%-32s\n' A.ONE A.TWO B >"$FAKE_NL_UEIDS"
printf '#!/bin/sh\nexec env FAKE_NL=normal LD_PRELOAD=%s %s/smcctl "$@"\n' "$fake" "$(pwd)" \
	>"$tmp/smcctl"
chmod +x "$tmp/smcctl"

# completed WORD...: print the completions of the last word, on one line
completed()
{
	COMP_WORDS=("$tmp/smcctl" "$@")
	COMP_CWORD=$#
	_smcctl
	echo "${COMPREPLY[*]}"
}

echo "KTAP version 1"
expect 'objects' "$(./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | tr '\n' ' ' |
	sed 's/ $//')" completed ''
expect 'objects by their beginning' 'linkgroup link' completed lin
expect 'no such object' '' completed xyz
expect 'options' '--json' completed --js
expect 'an object behind an option' 'ueid' completed -j ue
expect 'an object behind an option with a value' 'ueid' completed -o file ue
expect 'when to use colour' 'always auto' \
	bash -c ". completion/smcctl; COMP_WORDS=(smcctl --color a); COMP_CWORD=2; _smcctl
		printf '%s\n' \${COMPREPLY[*]} | sort | xargs"
expect 'when to use colour, with =' 'never' completed --color = n
expect 'all namespaces' 'all' completed --netns ''
expect 'an object behind --netns all' 'prometheus' completed -n all prom
expect 'ueid' 'show add del flush' completed ueid ''
expect 'setting' 'show set' completed setting ''
expect 'ueid del' 'A.ONE A.TWO' completed ueid del A
expect 'pnet del' 'NET1' completed pnet del ''
expect 'pnet add' 'netdev ibdev' completed pnet add NET1 ''
expect_match 'pnet add netdev' '*lo*' completed pnet add NET1 netdev l
expect 'pnet add, both devices' 'ibdev' completed pnet add NET1 netdev eth0 i
expect 'linkgroup del' '0x00000100' completed linkgroup del ''
expect 'linkgroup del now' 'now' completed linkgroup del 0x00000100 ''
expect 'link add' '0x00000100' completed link add ''
expect 'link add, an end' 'device port peer' completed link add 0x00000100 ''
expect 'link add, the other end' 'peer' completed link add 0x00000100 device rxe0 pe
expect 'link del' '1 2' completed link del 0x00000100 ''
expect 'link del of another group' '' completed link del 0x00000200 ''
expect 'reason' '0x03030000 0x03030001 0x03030002 0x03030003 0x03030004 0x03030005 0x03030006
0x03030007 0x03030008 0x03030009 0x0303000a 0x0303000b' sh -c "bash -c '. completion/smcctl
	COMP_WORDS=($tmp/smcctl reason 0x03030); COMP_CWORD=2; _smcctl; echo \${COMPREPLY[*]}' |
	fold -sw 78 | sed 's/ \$//'"
expect 'sock' 'show kill inode local peer port local-port peer-port' completed sock ''
expect 'sock kill' 'inode local peer port local-port peer-port' completed sock kill ''
expect 'sock kill inode' '44712' completed sock kill inode 44
expect 'sock kill peer' '10.0.0.2' completed sock kill peer 10
expect 'sock kill local, one of IPv6' 'fd00::1' completed sock kill local f
expect 'sock kill, a second condition' 'inode' completed sock kill local ::1 i
expect 'nothing follows enable' '' completed enable ''
expect 'nothing follows the last word' '' completed info show ''

# not_offered: print the words of the help that are not among the completions
not_offered()
{
	python3 test/help_words.py ./smcctl >"$tmp/literals"
	# the first, the last, and how many: the help was understood
	sed -n '1p; $p' "$tmp/literals"
	wc -l <"$tmp/literals"
	while read -ra words; do
		case " $(completed "${words[@]:0:${#words[@]} - 1}" '') " in
		*" ${words[-1]} "*) ;;
		*) echo "${words[*]}" ;;
		esac
	done <"$tmp/literals"
}
if command -v python3 >/dev/null; then
	expect 'each word of the help is completed' 'info show
policy flush
57' not_offered
else
	ktap_skip 'each word of the help is completed' 'no python3'
fi
ktap_done
