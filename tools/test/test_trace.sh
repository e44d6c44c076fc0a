#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The examples for trace points: the module has each event and each field that they use.
# selftests/vm/cases/trace.sh tests them with real events.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

echo "KTAP version 1"

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# lines "event field" for each field of each event of the module, "event ." for the event itself
tr '\n' ' ' < ../include/smc/base/trace.h | sed 's/TRACE_EVENT(/\n&/g; s/DECLARE_EVENT_CLASS(/\n&/g; s/DEFINE_EVENT(/\n&/g' |
awk '
	match($0, /^[A-Z_]+\([a-z_]+/) {
		name = substr($0, 1, RLENGTH)
		kind = name
		sub(/\(.*/, "", kind)
		sub(/.*\(/, "", name)
		if (kind == "DEFINE_EVENT") {
			event = $0
			sub(/^DEFINE_EVENT\([a-z_]+, */, "", event)
			sub(/,.*/, "", event)
			print event, "."
			n = split(fields[name], f, " ")
			for (i = 1; i <= n; i++)
				print event, f[i]
			next
		}
		if (kind == "TRACE_EVENT")
			print name, "."
		rest = $0
		while (match(rest, /__(field|dynamic_array)\([^,]*, [a-z_]+/)) {
			field = substr(rest, RSTART, RLENGTH)
			sub(/.* /, "", field)
			rest = substr(rest, RSTART + RLENGTH)
			fields[name] = fields[name] " " field
			if (kind == "TRACE_EVENT")
				print name, field
		}
	}' > "$tmp/known"

# used FILE: print the same for the events and fields that a bpftrace script uses
used()
{
	awk '
		/^tracepoint:smc:/ { event = $1; sub(/^tracepoint:smc:/, "", event); print event, "." }
		{
			rest = $0
			while (match(rest, /args->[a-z_]+/)) {
				print event, substr(rest, RSTART + 6, RLENGTH - 6)
				rest = substr(rest, RSTART + RLENGTH)
			}
		}' "$1" | sort -u
}

# unknown FILE: print those that the module lacks
unknown()
{
	used "$1" | grep -vxFf "$tmp/known"
}

known_events()
{
	grep -c ' \.$' "$tmp/known"
}

shell_events()
{
	sed -n '/^steps=/,/^calls=/p' smc_trace | grep -o 'smcr*_[a-z_]*' | sort -u | sed 's/$/ ./' |
		grep -vxFf "$tmp/known"
}

expect 'events of the module, as the documentation has them' \
	"$(grep -c '^``smcr*_[a-z_]*: ' ../Documentation/troubleshooting.rst)" known_events
expect 'smc_trace: events' '' shell_events
expect 'smc_times.bt: events and fields' '' unknown smc_times.bt
# the maps that smc_times.bt prints: all but those that it clears at its end
printed()
{
	grep -o '@[a-z_]*' smc_times.bt | sort -u | grep -vxF "$(sed -n 's/^\tclear(\(@[a-z_]*\));/\1/p' smc_times.bt)"
}
# those that its page explains
explained()
{
	sed -n 's/^\.BI* \(@[a-z_]*\).*/\1/p' man/smc_times.bt.8 | sort
}
expect 'smc_times.bt: the page explains what it prints' "$(printed)" explained
printf 'tracepoint:smc:smc_hs_end { @[args->nothing] = count(); }\ntracepoint:smc:smc_no { }\n' > "$tmp/bad.bt"
expect 'what there is not is found' 'smc_hs_end nothing
smc_no .' unknown "$tmp/bad.bt"

# signalled SIGNAL LINE: smc_trace, which gets the signal behind each line that begins so, in a
# tracefs of files and a pipe; prints how many such lines there are, and what smc_trace leaves
# shellcheck disable=SC2016 # a program
signalled()
{
	rm -rf "$tmp/tracing"
	mkdir -p "$tmp/tracing/events/smc" "$tmp/tracing/instances"
	{
		echo 'mkdir() { command mkdir -p "$1/events/smc/smc_hs_end" && mkfifo "$1/trace_pipe"; }'
		echo 'rmdir() { rm -r "$1"; }'
		sed "s:/sys/kernel/tracing:$tmp/tracing:; s:^$2.*:&\nkill -$1 \$\$:" smc_trace
	} > "$tmp/signalled"
	grep -c "^kill -$1" "$tmp/signalled"
	timeout -k 1 60 sh "$tmp/signalled" smc_hs_end > "$tmp/said" 2>&1 &
	wait $!
	echo "status $?, left: $(ls "$tmp/tracing/instances")"
	cat "$tmp/said"
	# a cat that is left, in the process group of timeout
	! kill -KILL "-$!" 2> /dev/null || echo "cat is left"
}
for signal in TERM HUP; do
	expect "smc_trace: $signal while it begins to read" '1
status 0, left: ' signalled $signal 'cat '
	expect "smc_trace: $signal while it begins to change tracefs" '1
status 0, left: ' signalled $signal 'error='
	expect "smc_trace: $signal before it changes tracefs" '1
status 0, left: ' signalled $signal "trap 'exit 0'"
	expect "smc_trace: $signal, and again while it ends" '2
status 0, left: ' signalled $signal '\(cat \|.*trap - EXIT\)'
done

ktap_done
