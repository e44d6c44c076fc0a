#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The JSON of all tools is what Documentation/json/smc.schema.json says, without undocumented members;
# Documentation/json.rst is printed from that file. test_golden.sh compares the golden files with the
# output of smcctl.
# shellcheck disable=SC2317 # functions are called through expect
# shellcheck disable=SC2086 # some variables hold several words

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh
for name in smcss smc_pnet smcr; do
	ln -s "$(pwd)/smcctl" "$tmp/$name"
done

echo "KTAP version 1"

python3 -c 'import jsonschema' 2>/dev/null || {
	ktap_skip 'JSON' 'python3-jsonschema is not installed'
	ktap_done
}

# checked DOCUMENT COMMAND...: compare the output of a command with the schema
checked()
{
	document=$1
	shift
	"$@" 2>"$tmp/err" | python3 test/schema.py check "$document"
}

# --- the schema and the page ---
page_differs()
{
	python3 test/schema.py rst | diff ../Documentation/json.rst -
}
expect 'json.rst is printed from the schema' '' page_differs
said()
{
	echo "$1" | python3 test/schema.py check "$2"
}
expect_match 'a member that is not in the schema is noticed' '0: Additional properties *size*' \
	said '[{"format":1,"pnetid":"A","size":1}]' pnet
expect_match 'a member that is missing is noticed' "0: 'format' is a required property" \
	said '[{"pnetid":"A"}]' pnet
expect_match 'another format is noticed' '0/format: 1 was expected' \
	said '[{"format":2,"pnetid":"A"}]' pnet
expect 'no output is noticed' 'no JSON at all' said '' pnet

expect 'each object has the number of the format' '' python3 test/schema.py unnumbered

# --- smcctl ---
# golden FILE DOCUMENT [lines]
golden()
{
	file=$1
	shift
	grep -v '^\[status' "test/golden/$file" | python3 test/schema.py check "$@"
}
for file in test/golden/*.json; do
	file=${file##*/}
	lines=
	case $file in
	enable.json | disable.json) document=enabled ;;
	watch-*.json) document=watch-by lines=lines ;;
	watch.json | monitor.json) document=${file%.json} lines=lines ;;
	monitor-*.json) document=monitor lines=lines ;;
	*) document=${file%.json} document=${document%%-*} ;;
	esac
	expect "$file" '' golden "$file" "$document" $lines
done
# objects that can print JSON, but have no document
documents=$(python3 test/schema.py documents)
objects_missing()
{
	./smcctl --help | sed -n 's/^  \([a-z][a-z]*\)  .*/\1/p' | while read -r object; do
		./smcctl "$object" help | grep -q '\[-[a-z]*j' || continue
		case $object in
		enable | disable) object=enabled ;;
		esac
		echo "$documents" | grep -qx "$object" || echo "$object"
	done
}
expect 'each object of smcctl is in the schema' '' objects_missing
expect '--json is -j' "$(ctl normal -j linkgroup)" ctl normal --json linkgroup

# --- names of netdevs: the kernel takes all bytes but blanks, '/' and ':' ---
odd=$(printf 'e\033[31m\377"\134')
clean=$(printf 'e?[31m?"\134')
# netdevs ARGUMENT...: print the names of the netdevs, each once, from JSON in UTF-8
netdevs()
{
	FAKE_NETDEV=$odd ctl normal -j "$@" 2>&1 | python3 -c '
import json, sys
print(*sorted({one.get("netdev") for one in json.load(sys.stdin)} - {None}))'
}
# raw ARGUMENT...: print the lines in which a byte is not to be printed
raw()
{
	FAKE_NETDEV=$odd ctl normal "$@" 2>&1 | LC_ALL=C grep '[^ -~]'
}
for object in link device sock; do
	expect "a strange name of a netdev: $object" "$clean" netdevs "$object"
	expect "a strange name of a netdev: $object, text" '' raw -v "$object"
done
over()
{
	FAKE_FAMILY=y FAKE_CONNECT=0 FAKE_NETDEV=$odd ctl normal check 127.0.0.1 9 2>&1 |
		sed -n 's/.* over \(.*\), this host$/\1/p'
}
expect 'a strange name of a netdev: check' "$clean" over
raw_check()
{
	FAKE_FAMILY=y FAKE_CONNECT=0 raw check 127.0.0.1 9
}
expect 'a strange name of a netdev: check, text' '' raw_check
expect 'a strange name of a netdev: applicability' '' raw applicability

# --- smcss, smcr, smc_pnet ---
# as NAME ARGUMENT...: run smcctl by a name
as()
{
	name=$1
	shift
	FAKE_NL=normal LD_PRELOAD=$fake "$tmp/$name" "$@"
}
# own ARGUMENT...: run smcctl by its own name
own()
{
	ctl normal -j "$@"
}
expect 'smcss -j' "$(own sock)" as smcss -j
expect 'smcss -aj' "$(own -a sock)" as smcss -a --json
expect 'smcss -lj' "$(own -l sock)" as smcss -lj
expect 'smcss -Rj' '' checked sock as smcss -Rj
count()
{
	as "$@" | grep -c '"format"'
}
expect 'smcss -Rj: one' 1 count smcss -Rj
expect 'smcss -Dj: none' '[]' as smcss -Dj
expect 'smcr -j linkgroup' "$(own linkgroup)" as smcr -j linkgroup
expect 'smcr -j linkgroup: another type' '[]' as smcr -j linkgroup type single
expect 'smcr -j linkgroup link-show' "$(own link)" as smcr --json linkgroup link-show
expect 'smcr -j linkgroup link-show: another RNIC' '[]' as smcr -j l l ibdev mlx5_0
expect 'smcr -j device' "$(own device)" as smcr -jd device show
expect 'smcr -j device: another netdev' '[]' as smcr -j device netdev eth7
expect 'smcr -j info' "$(own info)" as smcr -j info
expect 'smcr -j stats' "$(own stats)" as smcr -j stats
expect 'smcr -j stats show' "$(own stats)" as smcr -j stats show
expect 'smcr -j ueid' "$(own ueid)" as smcr -j ueid
expect 'smc_pnet -j' "$(own pnet)" as smc_pnet -j
expect 'smc_pnet -js ID' "$(own pnet)" as smc_pnet -js net1
expect 'smc_pnet -js of another' '[]' as smc_pnet --json -s NET2
for name in smcss smc_pnet 'smcr linkgroup' 'smcr device'; do
	expect "$name -j without module: no output" '' \
		sh -c "FAKE_NL=nofamily LD_PRELOAD='$fake' $tmp/$name -j 2>/dev/null"
done

# --- smc_run --verify ---
# verified OPTION STEP...: print the report about these steps; other lines are messages about sockets
verified()
{
	option=$1
	shift
	./smc_run -x addr=127.0.0.0/8 --verify "$option" test/sockprobe "$@" 2>&1 >/dev/null | grep '^{'
}
pair='new,4 bind,127.0.0.1,0 listen other new,4 connect,127.0.0.1,@ send,hello other accept recv'
expect 'smc_run --verify --json' '' checked verify verified --json $pair
modes()
{
	verified -j $pair | grep -o '"mode":"[^"]*"\|"smc":[0-9]*' | tr '\n' ' '
}
expect 'smc_run --verify --json: both ends' '"mode":"TCP" "mode":"TCP" "smc":0 ' \
	modes
lines()
{
	verified -j $pair | wc -l
}
expect 'smc_run --verify --json: one line' 1 lines
expect 'smc_run --verify --json: no output without connections' '' verified -j new,4
expect_usage 'smc_run --json PROGRAM' 'smc_run: option --json is for --verify, *' ./smc_run --json true

# --- smc_run enable, disable, status ---
units=$tmp/etc/systemd/system
mkdir -p "$units"
touch "$units/plain.service"
# unit ARGUMENT...: the build tree, where the library is, is not for services
unit()
{
	./smc_run --root "$tmp" -j "$@" 2>/dev/null
}
expect 'smc_run -j status: not enabled' '{
  "format":1,
  "unit":"plain.service",
  "enabled":false
}' unit status plain
expect_rc 'smc_run -j status: not enabled: status 3' 3 unit status plain
expect 'smc_run -j status: not enabled: as the schema says' '' checked unit unit status plain
enabled='{
  "format":1,
  "unit":"plain.service",
  "enabled":true,
  "file":"'$units/plain.service.d/zz-smc_run.conf'",
  "options":{
    "SMC_RCVBUF":"65536",
    "SMC_RUN_FILTER":"-port=53"
  }
}'
expect 'smc_run -j enable: the state afterwards' "$enabled" unit -r 64k -x port=53 enable plain
expect 'smc_run -j status' "$enabled" unit status plain
expect 'smc_run -j status: as the schema says' '' checked unit unit status plain
expect 'smc_run -j disable: the state afterwards' '{
  "format":1,
  "unit":"plain.service",
  "enabled":false
}' unit disable plain
mkdir "$units/odd.service.d"
touch "$units/odd.service"
printf 'Environment="%s"\n' 'SMC_RUN_FILTER=a\"=é' 'SMC_"=a=' >"$units/odd.service.d/zz-smc_run.conf"
odd()
{
	unit status odd | grep SMC_
}
expect 'smc_run -j status: quotes, a backslash, what is not ASCII, = at the end' \
	'    "SMC_RUN_FILTER":"a\\\"=??",
    "SMC_\"":"a="' odd
# A running service: one of this machine, whose process is that of this test as the systemctl here says
some=$(find /lib/systemd/system -name '*.service' ! -name '*@.service' 2>/dev/null | sort | head -n 1)
process()
{
	printf '#!/bin/sh\necho %s\n' $$ >"$tmp/bin/systemctl"
	chmod +x "$tmp/bin/systemctl"
	./smc_run -j status "${some##*/}" | tee "$tmp/state" | grep -o '"pid":.*\|"library":.*' | tr -d '\n'
	rm "$tmp/bin/systemctl"
	python3 test/schema.py check unit <"$tmp/state"
}
if [ -n "$some" ]; then
	expect 'smc_run -j status: the process' "\"pid\":$$,\"library\":false" process
else
	ktap_skip 'smc_run -j status: the process' 'no service is installed'
fi

# --- smc_cgroup ---
if [ ! -x smc_cgroup ]; then
	ktap_skip 'smc_cgroup' 'it was not built: clang, bpftool or libbpf-dev is missing'
	ktap_done
fi
pins=$tmp/pins
# status ERRNO ARGUMENT...: opening a cgroup by its number fails with ERRNO
status()
{
	failing=$1
	shift
	FAKE_PINS=$pins FAKE_HANDLE=$failing FAKE_LACKS='' FAKE_SOCKET=0 FAKE_LOAD=0 \
		LD_PRELOAD=$(pwd)/test/fake_bpf.so ./smc_cgroup "$@"
}
bare()
{
	status "$@" | tr -d ' \n'
}
EPERM=1
ESTALE=116
mkdir "$pins"
expect 'smc_cgroup -j status: nothing' '[]' status 0 -j status
expect_rc 'smc_cgroup -j status: nothing: status 3' 3 status 0 -j status
mkdir "$pins/host" "$pins/4711"
: >"$pins/4711/switch_protocol"
expect 'smc_cgroup --json status' '' checked cgroup status $EPERM --json status
expect_match 'smc_cgroup -j status: the host, broken off' \
	'*{"format":1,"target":"host","started":false}*' bare $EPERM -j status
expect_match 'smc_cgroup -j status: a name that is not known' \
	'*{"format":1,"id":4711,"started":true}*' bare $EPERM -j status
expect_match 'smc_cgroup -j status: a cgroup that is gone' \
	'*{"format":1,"id":4711,"removed":true,"started":true}*' bare $ESTALE -j status
expect_rc 'smc_cgroup -j status: status 0' 0 status $EPERM -j status
expect_match 'smc_cgroup -j stop: was not started' '*\[]*' bare $EPERM -j stop
mkdir -p "$pins/host"
: >"$pins/host/switch_protocol"
expect 'smc_cgroup -j start: what was started' '[{"format":1,"target":"host","started":true}]' bare 0 -j start

ktap_done
