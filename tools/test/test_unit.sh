#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Tests of smc_run enable, disable and status, with units below a temporary folder.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh

lib=$(pwd)/libsmc_preload.so
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
unset LD_PRELOAD SMC_DEBUG SMC_RCVBUF SMC_SNDBUF SMC_RUN_FILTER SMC_SOCK_FAMILY

etc=$tmp/etc/systemd/system
vendor=$tmp/usr/lib/systemd/system
mkdir -p "$etc" "$vendor" "$tmp/run/systemd/system"

# unit FILE LINE...: write a unit file
unit()
{
	file=$1
	shift
	mkdir -p "${file%/*}"
	printf '%s\n' "$@" > "$file"
}

units()
{
	./smc_run --root "$tmp" "$@" 2>&1 | grep -v 'services may not see'
}

dropin()
{
	cat "$etc/$1.service.d/zz-smc_run.conf"
}

# Print the drop-in of unit $1 without its first two lines
settings()
{
	dropin "$1" | sed 1,2d
}

unit "$vendor/plain.service" '[Service]' 'ExecStart=/bin/true'
sum=$(cksum < "$vendor/plain.service")

echo "KTAP version 1"

expect_rc 'status before: 3' 3 ./smc_run --root "$tmp" status plain
expect 'enable' "plain.service: enabled by $etc/plain.service.d/zz-smc_run.conf" units enable plain
expect 'the drop-in' "# Written by smc_run enable, removed by smc_run disable.
[Service]
Environment=\"LD_PRELOAD=$lib\"" dropin plain
expect "the vendor's unit is untouched" "$sum" cksum < "$vendor/plain.service"
expect_rc 'status: 0' 0 ./smc_run --root "$tmp" status plain.service
units -x port=53 -r 64k -f smc enable plain > "$tmp/out"
expect 'enabled again, with options' "Environment=\"LD_PRELOAD=$lib\"
Environment=\"SMC_SOCK_FAMILY=smc\"
Environment=\"SMC_RCVBUF=65536\"
Environment=\"SMC_RUN_FILTER=-port=53\"" settings plain
expect 'status shows the options' "plain.service: enabled by $etc/plain.service.d/zz-smc_run.conf
  SMC_SOCK_FAMILY=smc
  SMC_RCVBUF=65536
  SMC_RUN_FILTER=-port=53" units status plain
expect 'disable' 'plain.service: disabled' units disable plain
gone()
{
	[ ! -e "$etc/plain.service.d" ] && echo gone
}
expect 'nothing is left' gone gone
expect 'disable again' 'plain.service: not enabled' units disable plain

unit "$vendor/heap.service" '[Service]' 'Environment=A=b "LD_PRELOAD=/usr/lib/libjemalloc.so" C=d'
unit "$etc/heap.service.d/override.conf" '[Service]' 'Environment=E=f'
units enable heap > "$tmp/out"
expect "the unit's own LD_PRELOAD is kept" \
	"Environment=\"LD_PRELOAD=/usr/lib/libjemalloc.so:$lib\"" settings heap
units enable heap > "$tmp/out"
expect 'and ours is not doubled' \
	"Environment=\"LD_PRELOAD=/usr/lib/libjemalloc.so:$lib\"" settings heap
units disable heap > "$tmp/out"
expect 'other drop-ins stay' 'override.conf' ls "$etc/heap.service.d"
unit "$etc/heap.service.d/reset.conf" '[Service]' 'Environment='
units enable heap > "$tmp/out"
expect 'Environment= forgets' "Environment=\"LD_PRELOAD=$lib\"" settings heap
unit "$etc/heap.service.d/set.conf" '[Service]' 'Environment=LD_PRELOAD=/opt/x.so'
units enable heap > "$tmp/out"
expect 'the last drop-in decides' "Environment=\"LD_PRELOAD=/opt/x.so:$lib\"" settings heap

# systemd has the order of bytes, in any locale. Few test machines have one with another order: this sort stands for it.
mkdir "$tmp/locale"
cat > "$tmp/locale/sort" <<'END'
#!/bin/sh
PATH=${PATH#*:}
[ "$LC_ALL" = C ] || exec sort -f "$@"
exec sort "$@"
END
chmod +x "$tmp/locale/sort"
unit "$vendor/case.service" '[Service]'
unit "$etc/case.service.d/Z.conf" '[Service]' 'Environment=LD_PRELOAD=/upper.so'
unit "$etc/case.service.d/a.conf" '[Service]' 'Environment=LD_PRELOAD=/lower.so'
PATH=$tmp/locale:$PATH units enable case > "$tmp/out"
expect 'the last drop-in in the order of systemd' "Environment=\"LD_PRELOAD=/lower.so:$lib\"" settings case

unit "$vendor/box.service" '[Service]' 'RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX'
units enable box > "$tmp/out"
expect 'allowed families suffice for IPPROTO_SMC' "Environment=\"LD_PRELOAD=$lib\"" settings box
units -f smc enable box > "$tmp/out"
expect 'AF_SMC is added for -f smc' "Environment=\"LD_PRELOAD=$lib\"
Environment=\"SMC_SOCK_FAMILY=smc\"
RestrictAddressFamilies=AF_SMC" settings box
unit "$vendor/deny.service" '[Service]' 'RestrictAddressFamilies=~AF_PACKET'
units -f smc enable deny > "$tmp/out"
expect 'but not to those that are denied' "Environment=\"LD_PRELOAD=$lib\"
Environment=\"SMC_SOCK_FAMILY=smc\"" settings deny

unit "$vendor/many@.service" '[Service]' 'Environment=LD_PRELOAD=/a.so'
units enable many@one > "$tmp/out"
expect 'an instance of a template' "Environment=\"LD_PRELOAD=/a.so:$lib\"" settings many@one
unit "$vendor/act.service" '[Service]'
unit "$vendor/act.socket" '[Socket]'
expect_match 'warning about socket activation' \
	'smc_run: the sockets that act.socket opens stay TCP*' units enable act
unit "$vendor/jail.service" '[Service]' 'RootDirectory=/srv/jail'
expect_match 'warning about a root of its own' 'smc_run: jail.service has a root of its own*' \
	units enable jail
expect_match 'warning about a library in the build tree' 'smc_run: services may not see *' \
	./smc_run --root "$tmp" enable plain

# --- blanks in names ---
# below FOLDER ARGUMENT...: run smc_run for the units there
below()
{
	root=$1
	shift
	./smc_run --root "$root" "$@" 2>&1 | grep -v 'services may not see'
}
odd="$tmp/a  root"
unit "$odd/usr/lib/systemd/system/plain.service" '[Service]' 'Environment=LD_PRELOAD=/u.so'
unit "$odd/etc/systemd/system/plain.service.d/a b.conf" '[Service]' 'Environment=LD_PRELOAD=/ab.so'
unit "$odd/run/systemd/system/plain.service.d/a b.conf" '[Service]' 'Environment=LD_PRELOAD=/covered.so'
unit "$odd/etc/systemd/system/plain.service.d/a.conf" '[Service]' 'Environment=LD_PRELOAD=/a.so'
expect '--root with blanks: enable' \
	"plain.service: enabled by $odd/etc/systemd/system/plain.service.d/zz-smc_run.conf" \
	below "$odd" enable plain
expect 'drop-ins with blanks in their names are read' "Environment=\"LD_PRELOAD=/a.so:$lib\"" \
	sed -n 's/^Environment=/&/p' "$odd/etc/systemd/system/plain.service.d/zz-smc_run.conf"
rm "$odd/etc/systemd/system/plain.service.d/a.conf"
below "$odd" enable plain > "$tmp/out"
expect 'a drop-in with a blank in its name, and the one it covers' "Environment=\"LD_PRELOAD=/ab.so:$lib\"" \
	grep LD_PRELOAD "$odd/etc/systemd/system/plain.service.d/zz-smc_run.conf"
expect '--root with blanks: status' \
	"plain.service: enabled by $odd/etc/systemd/system/plain.service.d/zz-smc_run.conf" \
	below "$odd" status plain
expect '--root with blanks: disable' 'plain.service: disabled' below "$odd" disable plain

# --- the process of a running service ---
# A copy that every user can run, and a systemctl that names a process. The unit is one of this host.
mkdir "$tmp/all" "$tmp/bin"
chmod 755 "$tmp" "$tmp/all" "$tmp/bin"
cp smc_run libsmc_preload.so "$tmp/all"
printf '#!/bin/sh\ncat "%s/pid"\n' "$tmp" > "$tmp/bin/systemctl"
chmod 755 "$tmp/bin/systemctl"
real=$(find /usr/lib/systemd/system /lib/systemd/system -name '[a-z]*.service' ! -name '*@*' -type f 2> /dev/null |
	sed 's|.*/||' | head -n 1)
# running PID ARGUMENT...: print what smc_run says about the unit whose process is PID
running()
{
	echo "$1" > "$tmp/pid"
	chmod 644 "$tmp/pid"
	shift
	PATH=$tmp/bin:$PATH "$@" "$tmp/all/smc_run" status "$real" 2>&1 | grep -v 'not enabled'
}
json_of() # json_of PID ARGUMENT...: the same as JSON: the members of the process
{
	echo "$1" > "$tmp/pid"
	shift
	PATH=$tmp/bin:$PATH "$@" "$tmp/all/smc_run" -j status "$real" > "$tmp/json" 2>&1
	python3 test/schema.py check unit < "$tmp/json"
	sed -n 's/^  \("pid"\|"library"\)/\1/p' "$tmp/json"
}
if [ -z "$real" ]; then
	ktap_skip 'a running service' 'this host has no unit of systemd'
else
	sleep 100 &
	without=$!
	LD_PRELOAD=$tmp/all/libsmc_preload.so sleep 100 &
	with=$!
	# until both have their program, and not this shell any more
	for pid in $without $with; do
		until grep -q '/sleep$' "/proc/$pid/maps"; do sleep 0.1; done
	done
	expect 'a service without the library' "running without the library (process $without)" running $without
	expect 'a service with the library' "running with the library (process $with)" running $with
	expect 'a service with the library: JSON' "\"pid\":$with,
\"library\":true" json_of $with
	expect 'a service that does not run' '' running 0
	expect 'a service that has just ended' '' running 99999999
	# a process of another user: this one's, for nobody
	as_nobody='setpriv --reuid=65534 --regid=65534 --clear-groups'
	other=$with
	if [ "$(id -u)" != 0 ]; then
		as_nobody='env'
		other=1
	fi
	# shellcheck disable=SC2086 # words
	expect "another user's service" "running (process $other); only root can see whether it has the library" \
		running $other $as_nobody
	# shellcheck disable=SC2086 # words
	expect "another user's service: JSON" "\"pid\":$other" json_of $other $as_nobody
	kill $without $with
fi

expect_rc 'no such unit: 1' 1 ./smc_run --root "$tmp" enable nobody
expect_usage 'no name' 'smc_run: enable needs the name of one unit' ./smc_run --root "$tmp" enable
expect_usage 'two names' 'smc_run: status needs the name of one unit' \
	./smc_run --root "$tmp" status a b
expect_usage 'a path is no name' "smc_run: '../x' is no name of a unit" \
	./smc_run --root "$tmp" enable ../x
expect_usage 'a socket has no program' 'smc_run: act.socket: only services have programs' \
	./smc_run --root "$tmp" enable act.socket
expect_usage 'a bad rule is found before it is written' "smc_run: rule 'port=0' is wrong*" \
	./smc_run --root "$tmp" -x port=0 enable plain
expect_usage '--root with a program' 'smc_run: option --root is for*' ./smc_run --root "$tmp" true
printf '#!/bin/sh\necho ran\n' > "$tmp/enable"
chmod +x "$tmp/enable"
own_program()
{
	PATH=$tmp:$PATH ./smc_run -- enable
}
expect 'a program of that name' ran own_program
if command -v systemd-analyze > /dev/null && [ -x /usr/bin/true ]; then
	units enable plain > "$tmp/out"
	verified()
	{
		systemd-analyze --root="$tmp" --man=no verify "$vendor/plain.service" 2>&1 |
			grep -i zz-smc_run
	}
	expect 'systemd understands it' '' verified
else
	ktap_skip 'systemd understands it' 'no systemd-analyze'
fi

ktap_done
