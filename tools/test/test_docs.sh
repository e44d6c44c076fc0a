#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The man pages: the format is valid, and every option of the programs is documented.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for name in smcr smcd smcss smc_pnet; do
	ln -s "$(pwd)/smcctl" "$tmp/$name"
done

echo "KTAP version 1"

for page in man/*.[78]; do
	if command -v mandoc >/dev/null; then
		expect "$page: mandoc" '' mandoc -T lint -W warning "$page"
	elif command -v groff >/dev/null; then
		expect "$page: groff" '' groff -man -ww -z "$page"
	else
		ktap_skip "$page: format" 'neither mandoc nor groff is installed'
	fi
done

# undocumented PAGE PROGRAM: print the options of --help that the page lacks
undocumented()
{
	# hyphens are written \- in the pages
	text=$(sed 's/\\-/-/g' "$1")
	"$2" --help | grep -o -- '--[a-z][a-z-]*' | sort -u | while read -r option; do
		case $text in
		*"$option"*) ;;
		*) echo "$option" ;;
		esac
	done
}
expect 'smc_run: all options are in the page' '' undocumented man/smc_run.8 ./smc_run
if [ -x smc_cgroup ]; then
	expect 'smc_cgroup: all options are in the page' '' undocumented man/smc_cgroup.8 \
		./smc_cgroup
else
	ktap_skip 'smc_cgroup: all options are in the page' 'it was not built'
fi
expect 'smcctl: all options are in the page' '' undocumented man/smcctl.8 ./smcctl

# options_gone PAGE PROGRAM: print the long options of the page that --help lacks
options_gone()
{
	"$2" --help >"$ktap_log"
	sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/s/\\-/-/gp' "$1" | grep '^\.B' |
		grep -o -- '--[a-z][a-z-]*' | sort -u | while read -r option; do
		case $option in
		--usage | --version) ;; # of the library, at the end
		*) grep -q -- "$option" "$ktap_log" || echo "$option" ;;
		esac
	done
}
expect 'smcctl: the page has no other options' '' options_gone man/smcctl.8 ./smcctl
expect 'smc_run: the page has no other options' '' options_gone man/smc_run.8 ./smc_run
# it has short options only
trace_help()
{
	./smc_trace -h | grep -o '^  -[A-Za-z]' | tr -d ' ' | sort
}
trace_page()
{
	sed -n '/^\.SH OPTIONS/,/^\.SH [^O]/s/^\.BI* \\\(-[A-Za-z]\).*/\1/p' man/smc_trace.8 | sort
}
expect 'smc_trace: the options of the page are those of the program' "$(trace_help)" trace_page
[ ! -x smc_cgroup ] || expect 'smc_cgroup: the page has no other options' '' \
	options_gone man/smc_cgroup.8 ./smc_cgroup

# The SYNOPSIS of the page of smcctl, a line for each object, and what "OBJECT help" prints
synopsis_page()
{
	sed -n '/^\.SH SYNOPSIS/,/^\.SH DESC/{ /^\./d; s/\\f[BIPR]//g; s/\\-/-/g; p; }' man/smcctl.8
}
synopsis_help()
{
	./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r object; do
		# all lines but the last, which says what the object is
		./smcctl "$object" help | sed '$d' | tr -s ' \n' ' ' | sed 's/ *$//'
		echo
	done
	echo 'smcctl help [OBJECT [COMMAND]]'
}
expect 'smcctl: SYNOPSIS is what the program says' "$(synopsis_help)" synopsis_page

# usage PROGRAM OPTION: print a line for each form of the Usage that the program prints with the option
usage()
{
	"$1" "$2" | awk '
		NR == 1 { sub(/^Usage: */, ""); name = $1; text = $0; next }
		!/^       / { exit }
		{ $1 = $1; text = text ($1 == name ? "\n" : " ") $0 }
		END { print text }'
}
for program in smc_run smc_cgroup smc_trace; do
	[ -x ./$program ] || continue	# said above
	option=--help
	[ $program != smc_trace ] || option=-h
	expect "$program: SYNOPSIS is what the program says" "$(usage ./$program $option)" \
		python3 test/man_page.py synopsis man/$program.8
done
# help_options NAME: print the options that the help of a program of smc-tools has
help_options()
{
	"$tmp/$1" --help | sed '1d; /^       /d' | grep -o -- '\(^\|[ ,]\)\(-[A-Za-z]\|--[a-z][a-z-]*\)\>' |
		tr -d ' ,' | LC_ALL=C sort -u
}
for name in smcr smcd smcss smc_pnet; do
	expect "$name: what may follow it is in the page" "$(usage "$tmp/$name" --help)" \
		python3 test/man_page.py synopsis man/smcctl.8 $name
	# smcd takes any, and does nothing
	[ $name = smcd ] || expect "$name: the options of the page are those of the program" \
		"$(help_options $name)" python3 test/man_page.py options man/smcctl.8 $name
done

objects_missing()
{
	./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r object; do
		grep -q "^\.B.*\<$object\>" man/smcctl.8 || echo "$object"
	done
}
expect 'smcctl: all objects are in the page' '' objects_missing
objects_wrapped()
{
	./smcctl --help | sed -n '/^Objects:/,/^$/p' | grep -v '^  [a-z]\|^Objects:$\|^$'
}
expect 'smcctl: each object has one line of the help' '' objects_wrapped

# Which objects print a list as JSON, and which one object in each line
lists_schema()
{
	# shellcheck disable=SC2016 # a program
	python3 -c '
import json
for name, what in json.load(open("../Documentation/json/smc.schema.json"))["$defs"].items():
    if what.get("type") == "array" and "smcctl " in what.get("title", ""):
        print(name)' | sort
}
lists_page()
{
	sed -n '/^\.SH JSON/,/^\.SH F/p' man/smcctl.8 | sed -n '/^Lists are arrays/,/^\.TP/p' |
		sed '/^\.BR watch/,$d' | sed -n 's/^\.BR* //p' | grep -o '[a-z][a-z]*' | sort
}
expect 'smcctl: which objects print a list as JSON' "$(lists_schema)" lists_page

# help without an object, also behind an option
. test/fakes.sh
for words in help '-j help' '-h'; do
	# shellcheck disable=SC2086 # words
	expect "smcctl $words" "$(./smcctl --help)" ./smcctl $words
done
expect 'smcctl -j help info' "$(./smcctl info help)" ./smcctl -j help info

# What the page says about COUNT of monitor, and about output before a failure
expect 'smcctl monitor: a lost event is none of the COUNT' 'lost
group begin' sh -c "FAKE_NL=lossy LD_PRELOAD='$fake' ./smcctl -j monitor 1 |
	sed -n 's/.*\"event\":\"\([^\"]*\)\".*/\1/p'"
expect 'smcctl: a list that is incomplete is not printed' 'smcctl: the list of sockets: Message too long' \
	ctl doneerror sock
expect 'smcctl prometheus: what is known before a failure' 'smc_up 0' \
	sh -c "FAKE_NL=nofamily LD_PRELOAD='$fake' ./smcctl prometheus 2>/dev/null | grep '^smc_up'"

expect 'smc-sysctl(7) is the table of tuning.rst' same sh -c \
	'python3 ../scripts/sysctl-page.py | cmp - man/smc-sysctl.7 && echo same'

ktap_done
