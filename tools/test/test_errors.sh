#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Whatever is wrong, each program prints one line about it, which begins with its name, and nothing else.
# Other tests compare the sentences.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
for name in smcctl smcr smcd smcss smc_pnet; do
	ln -s "$(pwd)/smcctl" "$tmp/bin/$name"
done
for name in smc_run smc_trace smc_cgroup; do
	ln -s "$(pwd)/$name" "$tmp/bin/$name"
done
# Services below $tmp: what is a folder has a file in its place, and the other way round, which fails for root, too.
units=$tmp/etc/systemd/system
mkdir -p "$units/disable.service.d/zz-smc_run.conf"
touch "$units/enable.service" "$units/enable.service.d" "$units/disable.service"

# called KIND PROGRAM ARGUMENT...: run a program; KIND is the module of the fake host, or what that lacks
called()
{
	kind=$1
	shift
	case $1 in
	smc_run | smc_trace) "$@" ;;
	smc_cgroup) FAKE_LACKS=$kind FAKE_SOCKET=0 FAKE_LOAD=1 LD_PRELOAD=$(pwd)/test/fake_bpf.so "$@" ;;
	*) FAKE_NL=$kind LD_PRELOAD=$fake "$@" ;;
	esac
}

# table: standard input has lines "STATUS KIND PROGRAM ARGUMENT...", UNITS means the folder above
table()
{
	while read -r status kind words; do
		# shellcheck disable=SC2046,SC2086 # words
		expect_error "$words ($kind)" "$status" "${words%% *}: *" called "$kind" \
			$(echo "$words" | sed "s|UNITS|$tmp|")
	done
}

echo "KTAP version 1"

# (A here document and no pipe: the tests are counted in this shell.)
table <<END
2 normal smcctl
2 normal smcctl --foo info
2 normal smcctl -x info
2 normal smcctl --json=1 info
2 normal smcctl --color
2 normal smcctl --color=sometimes info
2 normal smcctl -o
2 normal smcctl -n some prometheus
2 normal smcctl a b c d e f g h i j k l m n o p
2 normal smcctl foo
2 normal smcctl help foo
2 normal smcctl s
2 normal smcctl -s info
2 normal smcctl info x
2 normal smcctl sock kill
2 normal smcctl linkgroup foo
2 normal smcctl link del 1 x
2 normal smcctl link add 1 port 1
2 normal smcctl ueid add a
2 normal smcctl pnet add NET1
2 normal smcctl policy add deny colour red
2 normal smcctl setting foo
2 normal smcctl watch x
2 normal smcctl monitor x
2 normal smcctl reason x
2 normal smcctl check
2 normal smcctl applicability x
2 normal smcctl report
2 normal smcctl save
2 normal smcctl restore
1 normal smcctl restore /nonexistent
1 normal smcctl save /nonexistent/file
1 normal smcctl report /nonexistent/file
1 normal smcctl -o /nonexistent/file prometheus
1 normal smcctl ueid del NONE
1 normal smcctl pnet del NONE
1 normal smcctl link add 7
1 nofamily smcctl info
1 nofamily smcctl sock
1 nofamily smcctl linkgroup
1 nofamily smcctl link
1 nofamily smcctl device
1 nofamily smcctl stats
1 nofamily smcctl watch 1 1
1 nofamily smcctl watch by peer 1 1
1 nofamily smcctl monitor 1
1 nofamily smcctl holders
1 nofamily smcctl memory
1 nofamily smcctl enable
1 nofamily smcctl disable
1 nofamily smcctl setting set wmem 1
1 nofamily smcctl ueid
1 nofamily smcctl pnet
1 nofamily smcctl policy
1 nofamily smcctl restore /dev/null
1 denied smcctl info
1 denied smcctl linkgroup del 1
1 denied smcctl link add 1
1 denied smcctl device
1 denied smcctl stats
1 denied smcctl applicability
1 denied smcctl watch 1 1
1 denied smcctl ueid add A
1 denied smcctl pnet add NET1 netdev eth0
1 denied smcctl policy add deny
2 normal smcr
2 normal smcr -x
2 normal smcr --foo
2 normal smcr foo
2 normal smcr linkgroup foo
2 normal smcr linkgroup type
2 normal smcr device 100
2 normal smcr ueid foo
2 normal smcr info x
2 normal smcr stats foo
1 normal smcr stats reset
1 nofamily smcr linkgroup
1 denied smcr device
2 normal smcss -x
2 normal smcss x
2 normal smcss -D -R
2 normal smcss -l -R
1 nofamily smcss
2 normal smc_pnet -x
2 normal smc_pnet x
2 normal smc_pnet -a
2 normal smc_pnet -a NET1
2 normal smc_pnet -a NET1 -P 1
2 normal smc_pnet -a NET1 -I eth0 -P 1
2 normal smc_pnet -a NET1 -D rxe0 -P x
2 normal smc_pnet -I eth0
2 normal smc_pnet -d NET1 -I eth0
2 normal smc_pnet -f x
2 normal smc_pnet -f -s
1 normal smc_pnet -d NONE
1 nofamily smc_pnet
1 denied smc_pnet -f
3 normal smcd
3 normal smcd -x
1 old smcd
1 nofamily smcd
2 - smc_run
2 - smc_run --foo true
2 - smc_run -r
2 - smc_run -r 0 true
2 - smc_run -f tcp true
2 - smc_run -x port=x -i addr=y true
2 - smc_run --json true
2 - smc_run --verify enable enable
2 - smc_run --root UNITS true
2 - smc_run --root UNITS enable
2 - smc_run --root UNITS status enable.socket
127 - smc_run no-such-program-here
1 - smc_run --root UNITS enable none
1 - smc_run --root UNITS disable none
1 - smc_run --root UNITS status none
1 - smc_run --root UNITS enable enable
1 - smc_run --root UNITS disable disable
2 - smc_trace -x
2 - smc_trace --help
2 - smc_trace -f
1 - smc_trace no_such_event
END

# A path that cannot be executed, with each shell that sh may be
touch "$tmp/plain"
for shell in sh dash bash; do
	if ! command -v $shell >/dev/null; then
		ktap_skip "smc_run of what cannot be executed, $shell" 'it is not installed'
		continue
	fi
	for what in "126 $tmp/plain" "126 $tmp" "127 $tmp/none"; do
		expect_error "smc_run of ${what#* }, $shell" "${what% *}" 'smc_run: *' $shell ./smc_run "${what#* }"
	done
done

if [ -x smc_cgroup ]; then
	table <<-END
	2 - smc_cgroup
	2 - smc_cgroup foo
	2 - smc_cgroup -x start
	2 - smc_cgroup start a b
	1 - smc_cgroup -j start
	1 - smc_cgroup start
	1 - smc_cgroup start there/is/none
	1 - smc_cgroup status there/is/none
	1 btf smc_cgroup start
	1 hook smc_cgroup start
	1 bpffs smc_cgroup start
	1 bpffs smc_cgroup stop
	1 cgroup2 smc_cgroup start a
	END
else
	ktap_skip 'smc_cgroup' 'it was not built: clang, bpftool or libbpf-dev is missing'
fi

ktap_done
