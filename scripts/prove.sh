#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Proofs about proto/ by CBMC, and litmus tests of the reads without a lock by herd7 with the
# kernel's memory model. Each is also done with planted faults, which have to be found. KTAP.
#
# Usage: prove.sh [NAME...]	(of selftests/prove/proofs.txt or litmus.txt; default: all)
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
provers=$("$top/scripts/cache-dir.sh")/provers
here=$top/selftests/prove
out=$top/build/prove
names=("$@")
limit=600	# seconds for one proof or test; those of the tables need one minute at most
checks=(--bounds-check --pointer-check --pointer-overflow-check --signed-overflow-check
	--undefined-shift-check --div-by-zero-check --unwinding-assertions --slice-formula
	--no-malloc-may-fail)	# what malloc() stands for exists
n=0
rc=0

result()
{
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n prove.$2"
	else
		echo "not ok $n prove.$2"
		rc=1
	fi
}

# want NAME [OPEN]: is anything to be done for it? Without names: all that is not open.
want()
{
	local name

	[ ${#names[@]} -gt 0 ] || [ -n "${2-}" ] || return 0
	for name in "${names[@]}"; do
		[ "$name" != "$1" ] || return 0
	done
	return 1
}

# tree FOLDER: a copy of what a proof reads, to plant a fault in
tree()
{
	rm -rf "$1"
	mkdir -p "$1/include/smc"
	cp -r "$top/proto" "$1/"
	cp -r "$top/include/smc/proto" "$1/include/smc/"
}

# cbmc TREE NAME FILE ROUNDS SOURCE...: 0: proved, 10: refuted; the output goes to $out/NAME.log
cbmc()
{
	local tree=$1 name=$2 file=$3 rounds=$4

	shift 4
	timeout "$limit" "$provers/cbmc" -I "$tree/include" "$here/$file" "${@/#/$tree/proto/}" --function "$name" \
		--unwind "$rounds" "${checks[@]}" > "$out/$name.log" 2>&1
}

# proof NAME FILE ROUNDS SOURCE...
proof()
{
	local start=$SECONDS st=0

	cbmc "$top" "$@" || st=$?
	if [ "$st" = 0 ]; then
		echo "# $1: $(grep -c ': SUCCESS$' "$out/$1.log") properties, $((SECONDS - start)) s"
	else
		echo "# exit status $st"
		grep -E 'FAILURE|error' "$out/$1.log" | head -n 5 | sed 's/^/# /'
		mv "$out/$1.log" "$out/$1.failed.log"
	fi
	result "$st" "$1"
}

# planted SOURCE EDIT NAME FILE ROUNDS SOURCE...: refuted, and not because a loop has more rounds
planted()
{
	local source=$1 edit=$2 st=0

	shift 2
	tree "$out/tree"
	sed -i "$edit" "$out/tree/$source"
	if cmp -s "$top/$source" "$out/tree/$source"; then
		echo "# nothing planted in $source: $edit"
		result 1 "$1: planted fault"
		return
	fi
	cbmc "$out/tree" "$@" || st=$?
	if [ "$st" = 10 ] && grep ': FAILURE$' "$out/$1.log" | grep -qv 'unwind\|no-body'; then
		grep ': FAILURE$' "$out/$1.log" | grep -v unwind | head -n 1 | sed 's/^/# found: /'
		result 0 "$1: planted fault"
	else
		echo "# exit status $st with $source: $edit"
		result 1 "$1: planted fault"
	fi
}

# litmus NAME FILE RESULT
litmus()
{
	if timeout "$limit" "$provers/herd7" "$2" > "$out/$1.log" 2>&1 &&
	   grep -q "^Observation $1 $3 " "$out/$1.log"; then
		return 0
	fi
	sed 's/^/# /' "$out/$1.log"
	return 1
}

# A table: a line for each proof or test, and below it, after a tab, one for each planted fault.
proofs()
{
	local line proof=() plants=1 source open=

	while IFS= read -r line; do
		case $line in
		'# Open'*)	open=y ;;
		'#'*|'')	continue ;;
		$'\t'*)
			plants=$((plants + 1))
			line=${line#$'\t'}
			source=${line%%$'\t'*}
			! want "${proof[0]}" "$open" || planted "$source" "${line#*$'\t'}" "${proof[@]}"
			;;
		*)
			[ "$plants" -gt 0 ] || result 1 "${proof[0]}: no fault is planted"
			plants=0
			read -r -a proof <<< "$line"
			! want "${proof[0]}" "$open" || proof "${proof[@]}"
			;;
		esac
	done < "$here/proofs.txt"
	[ "$plants" -gt 0 ] || result 1 "${proof[0]}: no fault is planted"
}

# litmus_tests: the result is in the line of the test; a variant below it is "Sometimes"
litmus_tests()
{
	local line test=() st

	while IFS= read -r line; do
		case $line in
		'#'*|'')	continue ;;
		$'\t'*)
			want "${test[0]}" || continue
			sed "${line#$'\t'}" "$here/litmus/${test[0]}.litmus" > "$out/variant.litmus"
			st=0
			cmp -s "$here/litmus/${test[0]}.litmus" "$out/variant.litmus" && st=1
			[ "$st" = 0 ] && litmus "${test[0]}" "$out/variant.litmus" Sometimes || st=1
			[ "$st" = 0 ] || echo "# with ${line#$'\t'}"
			result "$st" "litmus.${test[0]}: without a barrier"
			;;
		*)
			read -r -a test <<< "$line"
			want "${test[0]}" || continue
			st=0
			litmus "${test[0]}" "$here/litmus/${test[0]}.litmus" "${test[1]}" || st=1
			result "$st" "litmus.${test[0]}"
			;;
		esac
	done < "$here/litmus.txt"
}

mkdir -p "$out"
echo "KTAP version 1"
# every proof and test that the files have is in the tables
mapfile -t all < <(sed -n 's/^void \([a-z0-9_]*\)(void)$/\1/p' "$here"/*.c)
for name in "${all[@]}"; do
	grep -q "^$name " "$here/proofs.txt" || result 1 "$name: not in proofs.txt"
done
for name in "$here"/litmus/*.litmus; do
	name=$(basename "$name" .litmus)
	grep -q "^${name}	" "$here/litmus.txt" || result 1 "litmus.$name: not in litmus.txt"
done
if "$top/scripts/fetch-provers.sh" "$provers" > "$out/fetch.log" 2>&1; then
	litmus_tests
	proofs
else
	sed 's/^/# /' "$out/fetch.log"
	result 1 'the programs cannot be fetched'
fi
[ "$n" -gt 0 ] || result 1 "${names[*]}: no such proof or test"
echo "1..$n"
exit $rc
