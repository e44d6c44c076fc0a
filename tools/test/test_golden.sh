#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The whole output of smcctl for each object, as text and as JSON, on the fake host of
# test/fake_netlink.so and test/fake_host.so: must equal the files in test/golden.
# "test_golden.sh update" rewrites these files: git diff then shows what changes for users.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
export FAKE_CLOCK=y FAKE_FAMILY=y FAKE_CONNECT=0
golden=test/golden
update=${1:-}
# Do not depend on the environment of the caller.
unset FAKE_OWN_SOCK COLUMNS
export LC_ALL=C

printf '%-32s\n' SMCV2-DEFAULT-UEID A.SECOND >"$FAKE_NL_UEIDS"
printf 'conn_move 5\nclnt_hs_usecs 2500003\nlink_fail 18446744073709551615\n' >"$FAKE_PROC/smc_stat"
printf 'filename: /lib/modules/1/updates/smc.ko\nsrcversion: 0123456789ABCDEF0123456\nsmc_name: AF_SMC\n' \
	>"$tmp/modinfo"
echo 65536 >"$FAKE_PROC/net/smc/wmem"
echo 1 >"$FAKE_PROC/net/smc/enabled"
# No process has sockets with these inode numbers.
printf 'netns inode uid mode\n1 0 1000 SMC-R\n4026531840 9999999999999999999 0 TCP\n' \
	>"$FAKE_PROC/smc_holders"
mkdir -p "$FAKE_PROC/smc/holders/smc_diag" "$FAKE_PROC/pids/42/fd" "$FAKE_PROC/infiniband/rxe0"
echo eth0 >"$FAKE_PROC/infiniband/rxe0/parent"
ln -s 'socket:[44712]' "$FAKE_PROC/pids/42/fd/3"
echo redis-server >"$FAKE_PROC/pids/42/comm"
printf '1:cpu:/old\n0::/system.slice/redis.service\n' >"$FAKE_PROC/pids/42/cgroup"

# Normalize JSON from stdin, since versions of json-c differ; one object per line stays so.
canonical()
{
	case $1 in
	lines) python3 -m json.tool --json-lines --no-indent ;;
	*) python3 -m json.tool ;;
	esac
}

# compared FILE: compare stdin with a golden file, or rewrite the file
compared()
{
	if [ "$update" = update ]; then
		cat >"$golden/$1"
	else
		diff "$golden/$1" -
	fi && echo same
}

# printed FORM KIND ARGUMENT...: print both streams, JSON normalized, and the status if it is not 0
printed()
{
	form=$1
	shift
	if [ "$form" = text ]; then
		ctl "$@" 2>&1
		set -- $?
	else
		kind=$1
		shift
		ctl "$kind" -j "$@" >"$tmp/json" 2>&1
		set -- $?
		canonical "$form" <"$tmp/json" || cat "$tmp/json"
	fi
	[ "$1" = 0 ] || echo "[status $1]"
}

golden()
{
	file=$1
	shift
	printed "$@" | compared "$file"
}

echo "KTAP version 1"

command -v python3 >/dev/null || {
	echo "Bail out! python3 is missing"
	exit 1
}

# columns: file, kind of module, arguments
while read -r file kind words; do
	case $file in
	*.txt) form=text ;;
	watch*.json | monitor*.json) form=lines ;;
	*) form=json ;;
	esac
	# shellcheck disable=SC2086 # words
	expect "$file: $words" same golden "$file" "$form" "$kind" $words
done <<END
info.txt normal info
info.json normal info
info-old.json old info
sock.txt normal sock
sock-a.txt normal -a sock
sock-v.txt normal -av sock
sock-p.txt normal -p sock
sock-p.json normal -p sock
sock-s.txt normal -s sock
sock-s.json normal -s sock port 6379
sock-sv.txt normal -sv sock port 6379
sock-wide.txt wide -a sock
sock-p-wide.txt wide -p sock
sock-s-wide.txt wide -s sock
sock-v-wide.txt wide -v sock port 65535
link-v.txt normal -v link
linkgroup-v.txt normal -v linkgroup
sock.json normal -a sock
sock-short.json short -a sock
sock-kill.txt normal -a sock kill port 6379
sock-kill.json normal sock kill port 6379
linkgroup.txt normal linkgroup
linkgroup.json normal linkgroup
linkgroup-old.json old linkgroup
link.txt normal link
link.json normal link
device.txt normal device
device.json normal device
stats.txt normal stats
stats.json normal stats
stats-old.txt old stats
stats-old.json old stats
watch.txt growing watch 2 3
watch.json growing watch 2 3
watch-conn.txt growing watch by conn 2 2
watch-peer.txt growing watch by peer 2 2
watch-link.txt growing watch by link 2 2
watch-conn-wide.txt wide watch by conn 2 1
watch-link-wide.txt wide watch by link 2 1
watch-peer.json growing watch by peer 2 2
monitor.txt normal monitor 7
monitor-wide.txt wide monitor 7
monitor-conns.txt normal monitor connections 4
monitor-conns-wide.txt wide monitor connections 4
monitor-conns.json normal monitor connections 4
monitor.json normal monitor 7
reason.txt normal reason
reason.json normal reason
reason-one.txt normal reason 0x03030000
reason-one.json normal reason 0x03030000
check.txt normal check 10.0.0.9
check.json normal check 10.0.0.9
check-none.txt normal check 10.1.0.9
check-none.json normal check 10.1.0.9
applicability.txt normal applicability
applicability.json normal applicability
applicability-short.txt autosmc applicability
applicability-short.json autosmc applicability
memory.txt normal memory
memory.json normal memory
memory-process.txt normal memory by process
memory-cgroup.txt normal memory by cgroup
memory-cgroup.json normal memory by cgroup
holders.txt normal holders
holders.json normal holders
ueid.txt normal ueid
ueid.json normal ueid
pnet.txt normal pnet
pnet.json normal pnet
policy.txt normal policy
policy-wide.txt wide policy
policy.json normal policy
disable.txt normal disable
disable.json normal disable
enable.txt normal enable
enable.json normal enable
setting.txt normal setting
setting.json normal setting
save.txt normal save -
END

# Commands that change something print little: one transcript has their output and status.
orders()
{
	while read -r words; do
		echo "\$ smcctl $words"
		# shellcheck disable=SC2086 # words
		printed text normal $words
	done <<END
ueid add NEW-1
ueid add NEW-1
ueid
ueid del NEW-1
ueid del NEW-1
ueid flush
ueid
pnet add NET1 netdev eth0 ibdev 0000:01:00.0/2
pnet add NET2 netdev eth0
pnet add FULL netdev eth0
pnet del NET1
pnet del NET2
pnet flush
policy add deny
policy add deny remote 10.0.0.0/33
policy add allow number 7 local 10.1.2.0/24 local-port 443
policy flush
link add 0x00000100
link add 7
link add 256 device rxe0 port 1 peer 10.0.0.2
link add 256 device rxe0 port 3
link add 256 port 1
link del 0x00000100 2
link del 0x00000100 0
linkgroup del 0x00000100
linkgroup del 0x00000200 now
linkgroup del 0x00000300
sock kill
sock kill peer 10.0.0.0/24
setting set wmem 16384
setting set wmem many
setting set colour 1
restore /nonexistent
foo
END
}
transcript()
{
	orders | compared orders.txt
}
expect 'orders.txt' same transcript

# Print the files that an object of smcctl lacks: text and, if it has JSON output, JSON.
objects_missing()
{
	./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r object; do
		case $object in
		prometheus) [ -e "$golden/prometheus.prom" ] || echo "$object" ;;
		restore) grep -q '^\$ smcctl restore' "$golden/orders.txt" || echo "$object" ;;
		save) [ -e "$golden/save.txt" ] || echo "$object" ;;
		# test_module.sh has it
		report) ;;
		*)
			for form in txt json; do
				[ -e "$golden/$object.$form" ] || echo "$object.$form"
			done
			;;
		esac
	done
}
expect 'each object of smcctl has its files' '' objects_missing

# Print the golden files that no test uses.
files_unused()
{
	for file in "$golden"/*; do
		grep -q "\<${file##*/}\>" test/test_*.sh || echo "${file##*/}"
	done
}
expect 'each file is read by a test' '' files_unused

ktap_done
