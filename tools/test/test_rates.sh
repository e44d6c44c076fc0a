#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# smcctl watch and smcctl prometheus, on the fake host of test/fake_netlink.so and
# test/fake_host.so.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
export FAKE_CLOCK=y

squeezed()
{
	"$@" | tr -s ' '
}

# rates KIND KEY ARGUMENT...: print the values of a key in the JSON output of watch
rates()
{
	kind=$1
	key=$2
	shift 2
	ctl "$kind" -j watch "$@" | sed -n "s/.*\"$key\":\([0-9.]*\).*/\1/p"
}

echo "KTAP version 1"

# --- watch ---
expect 'watch' ' GROUPS CONNS NEW/s TCP/s ERR/s TX-B/s RX-B/s TX-OP/s RX-OP/s
 1 7 10k 0 0 2.5k 2.5k 2.5k 2.5k
 1 7 10k 0 0 2.5k 2.5k 2.5k 2.5k' squeezed ctl growing watch 2 2
expect 'watch: nothing happens' ' 1 7 0 0 0 0 0 0 0' sh -c "FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl watch 1 1 | tail -n 1 | tr -s ' '"
expect 'watch: the heading comes again' 3 sh -c "FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl watch 1 41 | grep -c GROUPS"
expect 'watch: one second is what is usual' 1.000 sh -c "FAKE_NL=normal LD_PRELOAD='$fake' \
	timeout 5 ./smcctl -j watch | head -n 1 | sed 's/.*\"seconds\":\([0-9.]*\),.*/\1/'"
expect 'watch: parts of a second' 50000.000 rates growing tx_bytes_per_second 0.1 1
expect 'watch: two lines of JSON' '2500.000
2500.000' rates growing rx_requests_per_second 2 2
# a count of 317 after the module was loaded again
expect 'watch: the module was loaded again' 158.500 rates reloaded tx_bytes_per_second 2 1
# the first connection of both lists is the same one, and grows
expect 'watch by peer: bytes' '10000.000' rates growing tx_bytes_per_second by peer 2 1
expect 'watch by link: name' 'rxe0/1 fe80::2 link 3' sh -c "FAKE_NL=growing LD_PRELOAD='$fake' \
	./smcctl -j watch by link 1 1 | sed 's/.*\"link\":\"\([^\"]*\)\".*/\1/'"
expect 'watch by: a module without statistics' '0.000' sh -c "FAKE_NL=old LD_PRELOAD='$fake' \
	./smcctl -j watch by link 1 1 | grep -c 'tx_bytes' | sed 's/\$/.000/'"
expect_usage 'watch by nothing' 'smcctl: watch is followed by*' ctl normal watch by
expect_usage 'watch by a word' 'smcctl: watch is followed by*' ctl normal watch by host
expect 'watch: without module' \
	'smcctl: this kernel has no SMC_GEN_NETLINK: load the smc module (modprobe smc)' \
	ctl nofamily watch 1 1
expect_rc 'watch: without module: status 1' 1 ctl nofamily watch 1 1
full_disk()
{
	ctl normal watch 1 5 >/dev/full
}
expect_rc 'watch: output that cannot be written: status 1' 1 full_disk
for words in 0 0.05 x '1 0' '1 x' '1 2 3' 86401 nan -1; do
	# shellcheck disable=SC2086 # words
	expect_usage "watch $words" 'smcctl: watch is followed by*' ctl normal -- watch $words
done

# --- prometheus ---
golden()
{
	ctl "$1" prometheus | sed 's/smcctl="[^"]*"/smcctl="VERSION"/' |
		diff "test/golden/$2" - && echo same
}
printf 'conn_move 5\ntx_again_bytes 77\nwindow_usecs 61000042\nclnt_hs_usecs 2500003\nlink_fail 18446744073709551615\nunknown 1\n' >"$FAKE_PROC/smc_stat"
echo 1000 >"$FAKE_PROC/net/smc/smcr_max_mem_kb"
echo 0 >"$FAKE_PROC/net/smc/smcr_max_rmb_kb"
expect 'prometheus' same golden normal prometheus.prom
# faults KIND: print violations of the format: each metric has HELP and TYPE once, right before its
# samples, and the values are numbers.
faults()
{
	# shellcheck disable=SC2086 # options may follow the kind
	ctl $1 prometheus | awk '
		/^# HELP / { if (seen[$3]++) print "twice: " $3; help = $3; next }
		/^# TYPE / {
			if ($3 != help) print "TYPE of another: " $0
			if (types[$3]++) print "twice: " $0
			if ($4 !~ /^(counter|gauge|histogram)$/) print "type: " $0
			if (($4 == "counter") != ($3 ~ /_total$/)) print "name: " $3
			family = $3; type = $4; below = 0; next
		}
		{
			name = $0; sub(/[{ ].*/, "", name)
			if (type == "histogram" && name == family "_bucket") {
				if ($0 ~ /le="0.000064"/) below = 0
				if ($NF < below) print "less than below: " $0
				below = $NF
			}
			if (type == "histogram") {
				if ($0 ~ /_count/ && $NF != below) print "not all: " $0
				sub(/_(bucket|sum|count)$/, "", name)
				if ($0 ~ /_sum/) sub(/\.[0-9][0-9]*$/, "")
			}
			if (name ~ /_seconds_total$/) sub(/\.[0-9][0-9]*$/, "")
			if (name != family || name !~ /^smc_[a-z_]+$/) print "sample: " $0
			if ($NF !~ /^[0-9]+$/) print "value: " $0
			labels = $0; sub(/ [0-9]+$/, "", labels)
			if (all[labels]++) print "twice: " labels
		}'
}
for kind in normal old empty short; do
	expect "prometheus: format, $kind" '' faults "$kind"
done
# the first namespace is sent the groups of all, with their cookies
others()
{
	FAKE_COOKIE=2 ctl normal prometheus | grep '^smc_link\(groups\|s\){'
}
# A count of 64 bits: the rest of the total would go to "other", as if its reason were not known.
fallbacks()
{
	ctl "$1" prometheus | sed -n 's/^smc_fallbacks_total{role="client",reason="\([^"]*\)".*} /\1 /p'
}
expect 'prometheus: more fallbacks than 16 bits hold' '0x12345678 70000
other 0' fallbacks many
expect 'stats: more fallbacks than 16 bits hold' '  client  70000  0x12345678  unknown reason' \
	sh -c "FAKE_NL=many LD_PRELOAD='$fake' ./smcctl stats | grep 0x12345678"
expect 'prometheus: a module with 16 bits only' '0x12345678 9
other 0' fallbacks old
expect 'prometheus: not the groups and links of other namespaces' 'smc_linkgroups{role="client"} 0
smc_linkgroups{role="server"} 0' others
expect 'prometheus: no module, alone' '# HELP smc_up Whether the SMC module answered.
# TYPE smc_up gauge
smc_up 0' sh -c "FAKE_NL=nofamily LD_PRELOAD='$fake' ./smcctl prometheus 2>/dev/null"
expect_rc 'prometheus: no module: status 1' 1 ctl nofamily prometheus
out=$tmp/smc.prom
echo old >"$out"
expect 'prometheus -o' '' ctl normal -o "$out" prometheus
expect 'prometheus -o: the same' same sh -c "FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl prometheus | diff - $out && echo same"
expect 'prometheus -o: others may read it' -rw-r--r-- sh -c "ls -l $out | cut -c 1-10"
expect 'prometheus -o: nothing is left beside it' smc.prom sh -c "ls $tmp | grep prom"
expect_match 'prometheus -o: no such directory' 'smcctl: *No such file*' \
	ctl normal -o "$tmp/none/smc.prom" prometheus
mkdir "$tmp/dir.prom"
expect_rc 'prometheus -o: onto a directory: status 1' 1 ctl normal -o "$tmp/dir.prom" prometheus
expect 'prometheus -o: onto a directory: nothing is left' '' sh -c "ls $tmp/dir.prom.* 2>/dev/null"
expect_rc 'prometheus -o: no module: status 1' 1 ctl nofamily -o "$out" prometheus
expect 'prometheus -o: no module: the file reports it' 'smc_up 0' sh -c "grep -v '^#' $out"

# --- prometheus: all network namespaces ---
export FAKE_NETNS="$tmp/netns"
mkdir -p "$FAKE_NETNS/names"
echo normal >"$FAKE_NETNS/self"
ln "$FAKE_NETNS/self" "$FAKE_NETNS/1"
# counts how often it was run
printf '#!/bin/sh\necho >>"%s/count"\n' "$tmp" >"$tmp/bin/modinfo"
# this shell is the process of all that have no name; a process that ends has no file
unnamed=$FAKE_NETNS/$$
all_of() # all_of METRIC: print its samples, sorted
{
	ctl normal -n all prometheus | grep "^$1[{ ]" | sort
}
expect 'prometheus -n all: one namespace' 'smc_up{netns="host"} 1' all_of smc_up
expect 'prometheus -n all: other labels follow' \
	'smc_linkgroups{netns="host",role="client"} 0
smc_linkgroups{netns="host",role="server"} 1' all_of smc_linkgroups
echo empty >"$FAKE_NETNS/names/red"
ln "$FAKE_NETNS/names/red" "$FAKE_NETNS/names/scarlet"
ln "$FAKE_NETNS/self" "$FAKE_NETNS/names/zero"
echo short >"$unnamed"
number=$(stat -c %i "$unnamed")
expect 'prometheus -n all: each namespace once, by name or number' \
	"smc_up{netns=\"host\"} 1
smc_up{netns=\"net:[$number]\"} 1
smc_up{netns=\"red\"} 1" all_of smc_up
expect 'prometheus -n all: each with its own figures' \
	"smc_linkgroups{netns=\"host\",role=\"server\"} 1
smc_linkgroups{netns=\"red\",role=\"server\"} 0" \
	sh -c "FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -n all prometheus |
		grep '^smc_linkgroups{.*server' | grep -v net:"
rm -f "$tmp/count"
ctl normal -n all prometheus >/dev/null
expect 'prometheus -n all: modinfo runs once' 1 sh -c "wc -l <'$tmp/count'"
expect 'prometheus -n all: number of namespaces' 'smc_netns 3' all_of smc_netns
expect 'prometheus -n all: that is all' 'smc_netns_incomplete 0' all_of smc_netns_incomplete
expect 'prometheus -n all: format' '' faults 'normal -n all'
rm "$unnamed"
for name in 'a b' 'a"b' host net:1 "$(printf '%064d' 0)"; do
	echo empty >"$FAKE_NETNS/names/$name"
	expect "prometheus -n all: the name '$name' is no label" 1 sh -c "FAKE_NL=normal \
		LD_PRELOAD='$fake' ./smcctl -n all prometheus |
		grep -c '^smc_up{netns=.net:\[$(stat -c %i "$FAKE_NETNS/names/$name")\]'"
	rm "$FAKE_NETNS/names/$name"
done
echo gone >"$FAKE_NETNS/names/blue"
expect 'prometheus -n all: a namespace that has gone' 'smc_up{netns="host"} 1
smc_up{netns="red"} 1' all_of smc_up
expect_rc 'prometheus -n all: a namespace that has gone is no error' 0 ctl normal -n all prometheus
rm "$FAKE_NETNS/names/blue"
# the kernel says EACCES of a process that ends after its folder was found
echo reaped >"$unnamed"
expect_rc 'prometheus -n all: a process that has ended is no error' 0 ctl normal -n all prometheus
expect 'prometheus -n all: the others are read' 'smc_netns 2' all_of smc_netns
rm "$unnamed"
for i in $(seq 300); do
	echo empty >"$FAKE_NETNS/names/n$i"
done
expect 'prometheus -n all: a bounded number' 256 sh -c "FAKE_NL=normal LD_PRELOAD='$fake' \
	./smcctl -n all prometheus | sed -n 's/^smc_netns //p'"
expect 'prometheus -n all: there are more' 'smc_netns_incomplete 1' all_of smc_netns_incomplete
rm "$FAKE_NETNS/names/n"*
expect 'prometheus -n all without right: one sentence' \
	'smcctl: --netns all needs the rights CAP_SYS_ADMIN and CAP_SYS_PTRACE (root)' \
	sh -c "FAKE_SETNS=1 FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -n all prometheus 2>&1 >/dev/null"
expect 'prometheus -n all without right: the report says so, too' 'smc_up 0' \
	sh -c "FAKE_SETNS=1 FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -n all prometheus 2>/dev/null |
		grep '^smc_up'"
FAKE_SETNS=1 expect_rc 'prometheus -n all without right: status 1' 1 ctl normal -n all prometheus
for f in self names/red; do
	echo nofamily >"$FAKE_NETNS/$f"
done
expect 'prometheus -n all: no module: said once' \
	'smcctl: this kernel has no SMC_GEN_NETLINK: load the smc module (modprobe smc)
smc_up{netns="host"} 0
smc_up{netns="red"} 0' sh -c "FAKE_NL=nofamily LD_PRELOAD='$fake' ./smcctl -n all prometheus 2>&1 |
	grep -v '^#' | grep -v '^smc_netns'"
expect_rc 'prometheus -n all: no module: status 1' 1 ctl normal -n all prometheus
echo denied >"$FAKE_NETNS/self"
expect 'prometheus -n all: two failures: each is said' \
	'smcctl: statistics needs the right CAP_NET_ADMIN (root)
smcctl: this kernel has no SMC_GEN_NETLINK: load the smc module (modprobe smc)' \
	sh -c "FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -n all prometheus 2>&1 >/dev/null"
unset FAKE_NETNS
expect_usage 'prometheus -n one' 'smcctl: --netns is followed by all*' ctl normal -n red prometheus
expect_usage '-n elsewhere' 'smcctl: option -n does not apply to info' ctl normal -n all info

# The kernel's own namespaces, in a mount and PID namespace where no others are to be seen
real()
{
	unshare -r -m -p -f -n --mount-proc sh -c "
		mount -t tmpfs none /run && mkdir /run/netns && : >/run/netns/red && : >/run/netns/dead
		unshare -n --fork sleep 30 & unshare -n --fork sleep 30 &
		for i in 1 2 3 4 5 6 7 8 9; do
			set -- \$(pgrep -x sleep)
			[ \$# = 2 ] && break
			sleep 0.1
		done
		mount --bind /proc/\$1/ns/net /run/netns/red
		number=\$(readlink /proc/\$2/ns/net | tr -dc 0-9)
		FAKE_NL=normal LD_PRELOAD='$fake' ./smcctl -n all prometheus |
			sed -n \"s/net:.\$number./OTHER/; s/^smc_up//p\"
		kill \$1 \$2"
}
if unshare -r -m -p -f -n --mount-proc true 2>/dev/null; then
	expect 'prometheus -n all: namespaces of the kernel' '{netns="host"} 1
{netns="red"} 1
{netns="OTHER"} 1' real
else
	ktap_skip 'prometheus -n all: namespaces of the kernel' 'no right to make some'
fi
expect_usage 'prometheus -j' 'smcctl: option -j does not apply to prometheus' ctl normal -j prometheus
expect_usage '-o elsewhere' 'smcctl: option -o does not apply to info' ctl normal -o "$out" info
ktap_done
