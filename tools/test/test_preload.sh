#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of smc_run and libsmc_preload.so. These need no kernel with SMC: test/fake_smc.so, preloaded
# behind the library, acts as one. The fallback to TCP sockets is tested with the real kernel.
# shellcheck disable=SC2317,SC2016 # functions are called through expect, code is quoted

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

here=$(pwd)
lib=$here/libsmc_preload.so
fake=$here/test/fake_smc.so
probe=$here/test/sockprobe
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset LD_PRELOAD SMC_DEBUG SMC_RCVBUF SMC_SNDBUF SMC_RUN_FILTER SMC_SOCK_FAMILY

for f in "$lib" "$fake" "$probe"; do
	if [ ! -e "$f" ]; then
		echo "$f is missing, run make check" >&2
		exit 1
	fi
done

# with_fake COMMAND...: preload the library and the fake kernel
with_fake()
{
	LD_PRELOAD="$lib:$fake" "$@"
}

# with_entry ENTRY COMMAND...: the same, with only one entry point: inet or smc
with_entry()
{
	entry=$1
	shift
	SMC_SOCK_FAMILY=$entry LD_PRELOAD="$lib:$fake" "$@"
}

# filtered RULES COMMAND...: the same, with rules
filtered()
{
	rules=$1
	shift
	SMC_RUN_FILTER=$rules LD_PRELOAD="$lib:$fake" "$@"
}

echo "KTAP version 1"

# --- which sockets are converted ---
tcp4='domain=2 protocol=6'
tcp6='domain=10 protocol=6'
expect 'AF_INET becomes IPPROTO_SMC, looks like TCP' "ipproto $tcp4 nonblock=0 cloexec=0" \
	with_fake "$probe" new,4 show
expect 'AF_INET6 becomes IPPROTO_SMC, looks like TCP' "ipproto6 $tcp6 nonblock=0 cloexec=0" \
	with_fake "$probe" new,6 show
expect 'by the other entry point: AF_SMC 0, looks like TCP' "smc0 $tcp4 nonblock=0 cloexec=0" \
	with_entry smc "$probe" new,4 show
expect 'by the other entry point: AF_SMC 1, looks like TCP' "smc1 $tcp6 nonblock=0 cloexec=0" \
	with_entry smc "$probe" new,6 show
expect 'protocol IPPROTO_TCP is converted' "ipproto $tcp4 nonblock=0 cloexec=0" \
	with_fake "$probe" new,4,proto=6 show
expect 'SOCK_NONBLOCK and SOCK_CLOEXEC are kept' "ipproto $tcp4 nonblock=1 cloexec=1" \
	with_fake "$probe" new,4,nonblock,cloexec show
expect 'SOCK_DGRAM is left alone' 'tcp domain=2 protocol=17 nonblock=0 cloexec=0' \
	with_fake "$probe" new,4,dgram show
expect 'bad protocol keeps its error' 'new: Protocol not supported' \
	with_fake "$probe" new,4,proto=17
if grep -qw MPTCP /proc/net/protocols; then
	expect 'IPPROTO_MPTCP is left alone' 'tcp domain=2 protocol=262 nonblock=0 cloexec=0' \
		with_fake "$probe" new,4,proto=262 show
else
	ktap_skip 'IPPROTO_MPTCP is left alone' 'no MPTCP in this kernel'
fi
expect 'a short buffer for SO_DOMAIN is cut' '1 02eeeeee' with_fake "$probe" new,4 shortopt
expect 'without the library nothing is converted' "tcp $tcp4 nonblock=0 cloexec=0" \
	env LD_PRELOAD="$fake" "$probe" new,4 show
expect 'a duplicate looks like TCP' "ipproto $tcp4 nonblock=0 cloexec=0" \
	with_fake "$probe" new,4 dup show
expect 'a forked child sees the same' "ipproto $tcp4 nonblock=0 cloexec=0" \
	with_fake "$probe" new,4 fork show
expect 'threads' '0 bad' with_fake "$probe" threads
expect 'connection, accepted socket looks like TCP' "ipproto $tcp4 nonblock=0 cloexec=1
hello" with_fake "$probe" new,4 bind,127.0.0.1,0 listen other new,4 connect,127.0.0.1,@ \
	send,hello other accept show recv
log=$tmp/log
FAKE_SMC_LOG=$log with_fake "$probe" new,4,nonblock >/dev/null
expect 'one kernel call per socket' 'socket 2 2049 256' cat "$log"

# --- the other entry point ---
no_ipproto()
{
	rm -f "$log"
	FAKE_IPPROTO_ERRNO=$1 FAKE_SMC_LOG=$log with_fake "$probe" new,4 new,4 show
}
expect 'a kernel without IPPROTO_SMC: AF_SMC' "smc0 $tcp4 nonblock=0 cloexec=0" no_ipproto 93
expect 'it is not tried again at once' 'socket 2 1 256
socket 43 1 0
socket 43 1 0' cat "$log"
expect 'an IPPROTO_SMC that is forbidden: AF_SMC' "smc0 $tcp4 nonblock=0 cloexec=0" no_ipproto 13
no_family()
{
	rm -f "$log"
	FAKE_SMC_ERRNO=97 FAKE_SMC_LOG=$log with_fake "$probe" new,4 new,6 show
}
expect 'a sandbox without AF_SMC' "ipproto6 $tcp6 nonblock=0 cloexec=0" no_family
expect 'where it is not even tried' 'socket 2 1 256
socket 10 1 256' cat "$log"
neither()
{
	rm -f "$log"
	FAKE_IPPROTO_ERRNO=93 FAKE_SMC_ERRNO=$1 FAKE_SMC_LOG=$log with_fake "$probe" new,4 new,4 show
}
expect_match 'no entry point: TCP, and the error of the last one' \
	"smc_run\[*\]: no SMC, using TCP: socket(AF_SMC): Address family *(modprobe smc)*
tcp $tcp4 nonblock=0 cloexec=0" neither 97
expect 'none is tried again at once' 'socket 2 1 256
socket 43 1 0
socket 2 1 0
socket 2 1 0' cat "$log"
short_of()
{
	rm -f "$log"
	FAKE_IPPROTO_ERRNO=105 FAKE_SMC_LOG=$log with_fake "$probe" new,4 show
}
expect_match 'no memory at one entry point: the other is not tried' \
	"smc_run\[*\]: no SMC, using TCP: socket(IPPROTO_SMC): No buffer space*resources*
tcp $tcp4 nonblock=0 cloexec=0" short_of
expect 'not tried indeed' 'socket 2 1 256
socket 2 1 0' cat "$log"
only_inet()
{
	FAKE_IPPROTO_ERRNO=93 with_entry inet "$probe" new,4 show
}
expect_match 'IPPROTO_SMC or nothing' \
	"smc_run\[*\]: no SMC, using TCP: socket(IPPROTO_SMC): Protocol not supported*
tcp $tcp4 nonblock=0 cloexec=0" only_inet

# --- retried as TCP ---
no_smc()
{
	FAKE_SMC_ERRNO=$1 with_entry smc "$probe" new,4 new,6 new,4 show
}

warn='smc_run\[*\]: no SMC, using TCP: socket(AF_SMC): '
for case in "97:Address family not supported by protocol; *(modprobe smc)*" \
	"1:Operation not permitted; *seccomp*" "13:Permission denied; *seccomp*" \
	"92:Protocol not available; *dmesg*" "93:Protocol not supported; *(modprobe smc)*" \
	"105:No buffer space available; *resources*"; do
	expect_match "errno ${case%%:*}: TCP and one warning" "$warn${case#*:}
tcp $tcp4 nonblock=0 cloexec=0" no_smc "${case%%:*}"
done
one_warning()
{
	no_smc 97 2>&1 | grep -c 'smc_run'
}
expect 'one warning for three sockets' 1 one_warning
rm -f "$log"
FAKE_SMC_LOG=$log no_smc 97 >/dev/null 2>&1
expect 'after EAFNOSUPPORT it is not tried again at once' \
	'socket 43 1 0
socket 2 1 0
socket 43 1 1
socket 10 1 0
socket 2 1 0' cat "$log"
rm -f "$log"
FAKE_SMC_LOG=$log no_smc 105 >/dev/null 2>&1
expect 'after ENOBUFS it is' 3 grep -c '^socket 43' "$log"
expect 'no descriptor left: the error of TCP, no warning' 'new: Too many open files' \
	with_fake "$probe" maxfiles,3 new,4
quiet_daemon()
{
	FAKE_SMC_ERRNO=97 with_entry smc "$probe" "stderr,$tmp/data" new,4 mode
	wc -c <"$tmp/data"
}
expect 'no warning into what is no longer stderr' 'tcp
0' quiet_daemon

if "$probe" new,4 >/dev/null && ! perl -e 'socket(S,43,1,0) or exit 1' 2>/dev/null; then
	expect_match 'real kernel without AF_SMC: TCP and one warning' "$warn*
tcp $tcp4 nonblock=0 cloexec=0" env LD_PRELOAD="$lib" "$probe" new,4 new,4 show
	real_pair()
	{
		LD_PRELOAD=$lib "$probe" new,6 bind,::1,0 listen other new,6 connect,::1,@ \
			send,hello other accept recv 2>/dev/null
	}
	expect 'real kernel without AF_SMC: bytes flow' hello real_pair
else
	ktap_skip 'real kernel without AF_SMC: TCP and one warning' 'this kernel has AF_SMC'
	ktap_skip 'real kernel without AF_SMC: bytes flow' 'this kernel has AF_SMC'
fi

# --- SO_ZEROCOPY (level 1, option 60) on kernels that refuse it to SMC sockets ---
old_kernel()
{
	rm -f "$log"
	FAKE_SMC_OLD=$1 FAKE_SMC_LOG=$log with_fake "$probe" "$3" "set,1,60,$2" get,1,60
}
calls()
{
	grep setsockopt "$log"
}
expect 'SO_ZEROCOPY by the option of our own' 1 old_kernel own 1 new,4
expect 'which is tried second' 'setsockopt 1 60 1
setsockopt 286 129 1' calls
expect 'the same for IPv6' 1 old_kernel own 1 new,6
expect 'and off again' 0 old_kernel own 0 new,4
expect 'what is no good value is none' 'set: Invalid argument' old_kernel own 2 new,4
expect 'a module without it: the error of the kernel' 'set: Operation not supported' \
	old_kernel none 1 new,4
expect 'by the other entry point' 1 env SMC_SOCK_FAMILY=smc FAKE_SMC_OLD=own \
	LD_PRELOAD="$lib:$fake" "$probe" new,4 set,1,60,1 get,1,60

# --- buffer sizes ---
sizes_log()
{
	rm -f "$log"
	FAKE_SMC_LOG=$log SMC_RCVBUF=131072 SMC_SNDBUF=65536 with_fake "$probe" "$@" >/dev/null
	grep -v '^socket' "$log"
}
expect '-r and -t set on SMC sockets' 'setsockopt 1 33 131072
setsockopt 1 32 65536' sizes_log new,4
expect '-r and -t not set on other sockets' '' sizes_log new,4,dgram
sizes_without_smc()
{
	FAKE_IPPROTO_ERRNO=93 FAKE_SMC_ERRNO=97 sizes_log new,4 2>/dev/null
}
expect '-r and -t not set on sockets retried as TCP' '' sizes_without_smc
limited()
{
	FAKE_SMC_MAXBUF=20000 SMC_RCVBUF=131072 with_fake "$probe" new,4 new,4
}
expect_match 'a limited buffer size is reported once' \
	'smc_run\[*\]: the receive buffer is 20000 bytes, not 131072: raise net.core.rmem_max or run as root' \
	limited

# --- rules ---
# rule NAME RULES EXPECTED STEPS...
rule()
{
	name=$1
	rules=$2
	wanted=$3
	shift 3
	expect "rule: $name" "$wanted" filtered "$rules" "$probe" "$@"
}

# connect_rule NAME RULES smc|tcp ADDRESS PORT: check the rules of a connect() without a listener
connect_rule()
{
	name=$1
	rules=$2
	wanted=$3
	family=4
	case $4 in *:*) family=6 ;; esac
	expect "rule: $name" "$wanted" filtered "$rules" "$probe" "new,$family,nonblock" \
		"try,connect,$4,$5" mode
}
connect_rule 'port excluded' '-port=9' tcp 127.0.0.1 9
connect_rule 'other port' '-port=9' smc 127.0.0.1 10
connect_rule 'first of a port range' '-port=9-12' tcp 127.0.0.1 9
connect_rule 'last of a port range' '-port=9-12' tcp 127.0.0.1 12
connect_rule 'behind a port range' '-port=9-12' smc 127.0.0.1 13
connect_rule 'network excluded' '-addr=127.1.0.0/16' tcp 127.1.2.3 9
connect_rule 'beside the network' '-addr=127.1.0.0/16' smc 127.2.0.1 9
connect_rule 'odd prefix length, inside' '-addr=127.64.0.0/10' tcp 127.127.0.1 9
connect_rule 'odd prefix length, outside' '-addr=127.64.0.0/10' smc 127.128.0.1 9
connect_rule 'one address' '-addr=127.0.0.1' tcp 127.0.0.1 9
connect_rule 'both conditions must hold' '-port=9,addr=127.0.0.1' smc 127.0.0.1 10
connect_rule 'IPv4 rule takes v4-mapped peers' '-addr=127.0.0.0/8' tcp ::ffff:127.0.0.1 9
connect_rule 'v4-mapped rule takes IPv4 peers' '-addr=::ffff:127.0.0.0/104' tcp 127.0.0.1 9
connect_rule 'IPv6 rule' '-addr=::/64' tcp ::1 9
connect_rule '::/0 does not take IPv4' '-addr=::/0' smc 127.0.0.1 9
connect_rule 'included' '+port=9' smc 127.0.0.1 9
connect_rule 'not included' '+port=9' tcp 127.0.0.1 10
connect_rule 'first match decides' '-port=9;+addr=127.0.0.0/8' tcp 127.0.0.1 9
connect_rule 'first match decides, other order' '+addr=127.0.0.0/8;-port=9' smc 127.0.0.1 9
connect_rule 'on=listen does not concern connect' '-on=listen' smc 127.0.0.1 9
connect_rule 'on=connect' '-on=connect' tcp 127.0.0.1 9
connect_rule 'include for listen leaves connect alone' '+on=listen,port=80' smc 127.0.0.1 9
free_port=$("$probe" new,4 bind,127.0.0.1,0 localport)
rule 'bind to an excluded port' "-port=$free_port" tcp new,4 "bind,127.0.0.1,$free_port" mode
rule 'bind to another port' '-port=9' smc new,4 "bind,127.0.0.1,$free_port" mode
rule 'on=connect does not concern bind' "-on=connect" smc new,4 "bind,127.0.0.1,$free_port" \
	listen mode
rule 'bind to port 0 decides nothing, listen does' '-on=listen' 'smc
tcp
same port' new,4 bind,127.0.0.1,0 mode keepport listen mode keepport,check
rule 'listen without bind' '-on=listen' tcp new,4 listen mode
rule 'bind to port 0, then connect: local port is kept' '-on=connect' 'tcp
same port' new,4 listen other new,4 bind,127.0.0.1,0 keepport connect,127.0.0.1,@ mode \
	keepport,check
rule 'IPv6 socket replaced by IPv6 TCP' '-port=9' "tcp $tcp6 nonblock=1 cloexec=1" \
	new,6,nonblock,cloexec try,connect,::1,9 show
rule 'descriptor flags are kept' '-port=9' "tcp $tcp4 nonblock=1 cloexec=1" \
	new,4,nonblock,cloexec try,connect,127.0.0.1,9 show
rule 'a descriptor without flags stays so' '-port=9' "tcp $tcp4 nonblock=0 cloexec=0" \
	new,4 try,connect,127.0.0.1,9 show
# TCP_NODELAY 6/1, SO_KEEPALIVE 1/9, TCP_KEEPIDLE 6/4, IP_TOS 0/1, SO_RCVBUF 1/8, SO_SNDBUF 1/7
rule 'options are kept' '-port=9' '1
1
77
16
40000
33' new,4 set,6,1,1 set,1,9,1 set,6,4,77 set,0,1,16 set,1,8,20000 timeout,33 \
	try,connect,127.0.0.1,9 get,6,1 get,1,9 get,6,4 get,0,1 get,1,8 gettimeout
rule 'IPV6_V6ONLY is kept' "-port=$free_port" '1' new,6 set,41,26,1 "bind,::,$free_port" get,41,26
default_rcvbuf=$("$probe" new,4 get,1,8)
keeps_autotuning()
{
	SMC_RCVBUF=50000 filtered '-port=9' "$probe" new,4 try,connect,127.0.0.1,9 get,1,8
}
expect 'rule: the size of -r is not taken over to TCP' "$default_rcvbuf" keeps_autotuning
rule 'epoll set keeps the descriptor' '-on=connect' 'tcp
1 writable=1 cookie=1' new,4 listen other new,4,nonblock epoll try,connect,127.0.0.1,@ mode wait
rule 'epoll set, with a duplicate kept open' '-on=connect' '1 writable=1 cookie=1' \
	new,4 listen other new,4,nonblock epoll dupkeep try,connect,127.0.0.1,@ wait
rule 'a connected socket is never replaced' '-addr=127.0.0.9' \
	'connect: Transport endpoint is already connected
smc' new,4 listen other new,4 connect,127.0.0.1,@ try,connect,127.0.0.9,9 mode
rule 'a listening socket is never replaced' '-addr=127.0.0.9' \
	'connect: Transport endpoint is already connected
smc' \
	new,4 listen try,connect,127.0.0.9,9 mode
rule 'bytes flow after replacement on both sides' '-addr=127.0.0.0/8' 'hello
tcp' new,4 bind,127.0.0.1,0 listen other new,4 connect,127.0.0.1,@ send,hello other accept recv mode
rule 'errors stay those of the kernel' '-port=9' 'connect: Bad file descriptor' \
	new,4 close connect,127.0.0.1,9
rule 'that cannot be obeyed fails the call' '-port=9' 'connect: Too many open files
smc' new,4 maxfiles,4 try,connect,127.0.0.1,9 mode

# --- smc_run itself ---
expect_match '--help' 'Usage: smc_run *' ./smc_run --help
expect_match '--version' 'smc_run [0-9]*.[0-9]*.[0-9]*' ./smc_run --version
expect_usage 'no program' 'smc_run: no program given*' ./smc_run
expect_usage 'unknown option' "smc_run: unknown option '--foo'*" ./smc_run --foo true
expect_usage 'option without value' 'smc_run: option -r needs a value' ./smc_run -r
expect_usage 'bad size' "smc_run: option -r needs a size*'12q'" ./smc_run -r 12q true
expect_usage 'size 0' 'smc_run: option -t: the size must be*' ./smc_run -t 0 true
expect_usage 'negative size' "smc_run: option -t needs a size*" ./smc_run -t -5 true
expect_usage 'huge size' 'smc_run: option -r: 9999m is more than 1 GB' ./smc_run -r 9999m true
expect_usage 'size beyond 64 bits' 'smc_run: option -r: * is more than 1 GB' \
	./smc_run -r 99999999999999999999 true
expect_usage 'empty rule' 'smc_run: option -x needs a rule' ./smc_run -x '' true
for case in 'port=:port= needs N' 'port=0:port= needs N' 'port=65536:port= needs N' \
	'port=9-8:port= needs N' 'port=+9:port= needs N' 'addr=10.0.0:addr= needs an IPv4' \
	'addr=10.0.0.0/33:addr= needs an IPv4' 'addr=fe80--1/129:addr= needs an IPv4' \
	'on=both:on= needs connect' 'host=a:a condition is' 'port=1,:a condition is' \
	'port=1,port=2:port= is given twice'; do
	expect_usage "bad rule ${case%%:*}" "smc_run: rule '${case%%:*}' is wrong: ${case#*:}*" \
		./smc_run -x "${case%%:*}" true
done
expect_usage 'rule with semicolon' '*semicolon*' ./smc_run -x 'port=1;port=2' true
expect_rc 'no such program: 127' 127 ./smc_run no-such-program-here
expect_rc 'program that cannot run: 126' 126 ./smc_run "$here/test/sockprobe.c"
expect_rc 'exit status is handed on' 37 ./smc_run sh -c 'exit 37'
expect 'arguments keep blanks, quotes and patterns' "<a  b><*><it's><\"><>" \
	./smc_run sh -c 'printf "<%s>" "$@"' sh 'a  b' '*' "it's" '"' ''
expect 'absolute path behind an existing LD_PRELOAD' "$fake:$lib" \
	env LD_PRELOAD="$fake" ./smc_run sh -c 'echo "$LD_PRELOAD"'
expect 'absolute path when LD_PRELOAD was empty' "$lib" ./smc_run sh -c 'echo "$LD_PRELOAD"'
ln -s "$here/smc_run" "$tmp/link"
expect 'found through a symbolic link' "$lib" "$tmp/link" sh -c 'echo "$LD_PRELOAD"'
expect 'options reach the library' '1 65536 2097152 -port=53,addr=10.0.0.0/8;+on=listen' \
	./smc_run -d -r 64k -t 2M -x port=53,addr=10.0.0.0/8 --include=on=listen \
	sh -c 'echo "$SMC_DEBUG $SMC_RCVBUF $SMC_SNDBUF $SMC_RUN_FILTER"'
expect 'short options in one word' '1 65536' ./smc_run -dr64k \
	sh -c 'echo "$SMC_DEBUG $SMC_RCVBUF"'
expect 'leading zeros are decimal' '100' ./smc_run -r 0100 sh -c 'echo "$SMC_RCVBUF"'
expect 'options of the program stay its own' '-d -r' ./smc_run echo -d -r
expect 'no SMC_RUN_CHECK left for the program' '' ./smc_run sh -c 'echo "$SMC_RUN_CHECK"'
expect_usage 'bad SMC_RCVBUF from outside' "smc_run: SMC_RCVBUF needs a number*" \
	env SMC_RCVBUF=x ./smc_run true
expect_match '-d prints a message about each socket' 'smc_run\[*\]: socket(AF_INET) = * uses *' \
	env LD_PRELOAD="$fake" FAKE_SMC_ERRNO=1 ./smc_run -d "$probe" new,4
expect '-f reaches the library' 'smc' ./smc_run -f smc sh -c 'echo "$SMC_SOCK_FAMILY"'
expect '--family, too' 'inet' ./smc_run --family=inet sh -c 'echo "$SMC_SOCK_FAMILY"'
expect_match '-d prints the entry point' 'smc_run\[*\]: socket(AF_INET) = 3 uses IPPROTO_SMC' \
	with_fake env SMC_DEBUG=1 "$probe" new,4
expect_usage 'bad family' "smc_run: option -f needs auto, inet or smc, not 'tcp'" \
	./smc_run -f tcp true
expect_usage 'bad SMC_SOCK_FAMILY from outside' "smc_run: SMC_SOCK_FAMILY is auto*" \
	env SMC_SOCK_FAMILY=x ./smc_run true

# --- --verify ---
ver=$here/libsmc_verify.so
# verified RULES STEPS...: print the report at exit, without process and port numbers
verified()
{
	rules=$1
	shift
	SMC_RUN_FILTER=$rules LD_PRELOAD="$lib:$ver:$fake" "$probe" "$@" 2>&1 >/dev/null |
		sed 's/\[[0-9]*\]/[]/; s/1:[0-9][0-9]*/1:N/g'
}
verified_pair()
{
	verified "$1" new,4 bind,127.0.0.1,0 listen other new,4 connect,127.0.0.1,@ send,hello \
		other accept recv
}
expect '--verify: a TCP connection, both ends' \
	'smc_run[]: 127.0.0.1:N to 127.0.0.1:N: TCP, not an SMC socket: by a rule, or no SMC module
smc_run[]: 127.0.0.1:N to 127.0.0.1:N: TCP, not an SMC socket: by a rule, or no SMC module
smc_run[]: 0 of 2 connections by SMC-R' verified_pair '-addr=127.0.0.0/8'
# closed_by HOW: print how many connections are reported if the server closes one of two this way
closed_by()
{
	verified '-addr=127.0.0.0/8' new,4 bind,127.0.0.1,0 listen other new,4 connect,127.0.0.1,@ other accept \
		"close,$1" | tail -n 1
}
for how in close fclose dup2 dup3 close_range closefrom; do
	expect "--verify: closed by $how" 'smc_run[]: 0 of 2 connections by SMC-R' closed_by $how
done
# The report has what was closed first, then what is open. A child of vfork() shares the list, and must not use it:
# (the end with the port of the server is closed by it and stays open here, and is the last one)
vfork_order()
{
	SMC_RUN_FILTER='-addr=127.0.0.0/8' LD_PRELOAD="$lib:$ver:$fake" "$probe" new,4 bind,127.0.0.1,0 listen \
		localport other new,4 connect,127.0.0.1,@ other accept close,vfork 2>&1 |
		awk '/^[0-9]/ { port = $1 } / to / { ends[++n] = $2 } END {
			for (i = 1; i <= n; i++)
				if (ends[i] == "127.0.0.1:" port)
					print i " of " n
		}'
}
expect '--verify: closed by a child of vfork()' '2 of 2' vfork_order
expect '--verify: no output without connections' '' verified '' new,4
expect_match '--verify: an SMC socket that this kernel does not list' \
	'smc_run\[\]: 127.0.0.1:N to 127.0.0.1:N: not known: *
smc_run\[\]: 0 of 2 connections by SMC-R' verified_pair ''
verified_deferred()
{
	FAKE_OWN_SOCK=deferred FAKE_NL=normal LD_PRELOAD="$lib:$ver:$fake:$here/test/fake_netlink.so" "$probe" new,4 \
		bind,127.0.0.1,0 listen other new,4 connect,127.0.0.1,@ send,hello other accept recv \
		2>&1 >/dev/null | sed 's/\[[0-9]*\]/[]/; s/1:[0-9][0-9]*/1:N/g'
}
expect_match '--verify: a deferred connection is no fallback' \
	'*: TCP, which had not changed over to SMC-R
smc_run\[\]: 0 of 2 connections by SMC-R' verified_deferred
# each connection has a line, and none uses the stack
verified_many()
{
	prlimit --stack=65536 env LD_PRELOAD="$ver" "$probe" new,4 bind,127.0.0.1,0 listen \
		pairs,8000 2>&1 | tail -n 1 | sed 's/\[[0-9]*\]/[]/'
}
expect '--verify: many connections' 'smc_run[]: 0 of 16000 connections by SMC-R' verified_many
expect '--verify preloads both' "$lib:$ver" ./smc_run --verify sh -c 'echo "$LD_PRELOAD"'
expect_usage '--verify of a unit' 'smc_run: option --verify is for programs*' \
	./smc_run --verify enable x

make -s install DESTDIR="$tmp/root" PREFIX=/usr >"$tmp/install.log" 2>&1
sed -i "s|^libdir=/usr|libdir=$tmp/root/usr|" "$tmp/root/usr/bin/smc_run"
expect 'runs when installed' "$tmp/root/usr/lib/smc/libsmc_preload.so" \
	"$tmp/root/usr/bin/smc_run" sh -c 'echo "$LD_PRELOAD"'
rm "$tmp/root/usr/lib/smc/libsmc_preload.so"
expect_rc 'a missing library is an error' 1 "$tmp/root/usr/bin/smc_run" true

if command -v perl >/dev/null; then
	perl_says()
	{
		./smc_run perl -MIO::Socket::INET -e '
			my $l = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die;
			my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1",
						      PeerPort => $l->sockport) or die;
			my $s = $l->accept or die;
			print $s "unmodified\n"; close $s; print <$c>;' 2>/dev/null
	}
	expect 'a Perl program' unmodified perl_says
else
	ktap_skip 'a Perl program' 'no perl'
fi

ktap_done
