#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Keeps Documentation/ and the code together: what a page names exists, and what
# has to be named is. Prints KTAP. Needs make and gcc (for the state tables), and Sphinx.
set -u

top=$(cd "$(dirname "$0")/.." && pwd)
cd "$top/Documentation" || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
"$top/scripts/install-packages.sh" "$top/scripts/packages.txt" || exit 1
"$top/scripts/sources.sh" -c > "$tmp/sources" || exit 1
sed "s|^|$top/|" "$tmp/sources" > "$tmp/c"
"$top/scripts/sources.sh" -h | sed "s|^|$top/|" > "$tmp/h"
n=0
rc=0

# A test has passed when its list of complaints is empty.
result()
{
	n=$((n + 1))
	if [ -s "$tmp/bad" ]; then
		echo "not ok $n docs: $1"
		sed 's/^/# /' "$tmp/bad"
		rc=1
	else
		echo "ok $n docs: $1"
	fi
	: > "$tmp/bad"
}

complain()
{
	echo "$*" >> "$tmp/bad"
}

# differ WHERE1 LIST1 WHERE2 LIST2: what is in one sorted list only
differ()
{
	comm -23 "$2" "$4" | sed "s|\$|: in $1, not in $3|" >> "$tmp/bad"
	comm -13 "$2" "$4" | sed "s|\$|: in $3, not in $1|" >> "$tmp/bad"
	[ -s "$2" ] || complain "nothing found in $1"
}

# cases FOLDER ARGUMENTS: grep in the test cases of selftests/FOLDER, not in its main programs
cases()
{
	folder=$1
	shift
	grep -r --include='*.c' --exclude='smc_*.c' "$@" "$top/selftests/$folder"
}

# Text between two backquotes, one per line.
literals()
{
	# shellcheck disable=SC2016 # backquotes are meant
	grep -ho '``[^`]*``' "$@" | tr -d '`'
}

: > "$tmp/bad"
echo "KTAP version 1"
echo "1..26"

# --- files

while read -r name; do
	grep -qw -- "${name%.c}" architecture.rst || complain "$name is not named"
done < "$tmp/sources"
# a header belongs to the file of its name, or is named itself
while read -r f; do
	name=$(basename "$f" .h)
	grep -q -- "\(^\|/\|smc_\)$name\.c$" "$tmp/sources" ||
		grep -q -- "$name\\.h" architecture.rst || complain "$name.h is not named"
done < "$tmp/h"
result "architecture.rst names every file of the module"

# (renames.rst names old ones on purpose)
grep -ow '\(smc_[a-z_]*\|af_smc\)\.c' ./*.rst decisions/*.md | grep -v '^./renames' | sort -u |
	while IFS=: read -r page f; do
		[ -e "$top/$f" ] || complain "$page names $f, which does not exist"
	done
literals ./*.rst | grep -E '^(scripts|selftests|tools|include|proto|Documentation)/' |
	grep -v '[*<A-Z]' | sort -u |
	while read -r f; do
		[ -e "$top/$f" ] || [ -e "$top/Documentation/${f#Documentation/}" ] ||
			complain "$f does not exist"
	done
result "files that pages name exist"

# --- renames: new files exist, old ones do not

sed -n '/^Files$/,/^Functions/s/^    \([^ ]*\)  *\([^ ]*\)$/\1 \2/p' renames.rst > "$tmp/renames"
while read -r old new; do
	[ -e "$top/$new" ] || complain "$new (was $old) does not exist"
	[ ! -e "$top/$old" ] || complain "$old (renamed to $new) is still there"
done < "$tmp/renames"
[ -s "$tmp/renames" ] || complain "no rename found"
result "files that renames.rst names exist"

# --- layers: the page has a section or row for each folder, in the order of layers.txt

sed -n 's/^\([a-z]*\):.*|.*/\1/p' "$top/scripts/layers.txt" > "$tmp/layers"
sed 's|/.*||; s|^smc_.*||; s|^af_smc.*||' "$tmp/sources" | sort -u | sed '/^$/d' > "$tmp/folders"
grep -vx main "$tmp/layers" | sort > "$tmp/listed"
differ scripts/layers.txt "$tmp/listed" "the sources" "$tmp/folders"
sed -n 's/^   \* - \([a-z]*\)\/.*/\1/p' architecture.rst | uniq > "$tmp/rows"
grep -vx main "$tmp/layers" | diff - "$tmp/rows" >> "$tmp/bad"
result "architecture.rst goes through the layers in their order"

# --- marks of the data path: "N file", one for each number of "N to M"

xargs -a "$tmp/c" grep -Ho 'data path [0-9][0-9]*\( to [0-9][0-9]*\)\?' |
	sed "s|^$top/||; s|:data path | |; s| to | |" |
	awk '{ last = NF > 2 ? $3 : $2; for (i = $2; i <= last; i++) print i, $1 }' |
	sort -u > "$tmp/marks"
awk '/^   \* - [0-9]+$/ { step = $3; next }
	step != "" && /^     - / {
		while (match($0, /[a-z_\/]+\.c/)) {
			print step, substr($0, RSTART, RLENGTH)
			$0 = substr($0, RSTART + RLENGTH)
		}
		step = ""
	}' data-path.rst | sort -u > "$tmp/steps"
differ "the code" "$tmp/marks" data-path.rst "$tmp/steps"
result "marks of the data path"

# --- functions: defined at the beginning of a line somewhere

cat "$tmp/c" "$tmp/h" | xargs cat |
	sed 's/^#define \(smc_\)/\1/' | grep '^[a-z]' | grep -o '[a-z_0-9]*(' | tr -d '(' | sort -u > "$tmp/defined"
{
	literals rfc-map.rst | grep '^[a-z_0-9]*()$'
	literals ./*.rst | grep '^smc_[a-z_0-9]*()$'
} | tr -d '()' | sort -u > "$tmp/functions"
comm -23 "$tmp/functions" "$tmp/defined" | sed 's/$/() does not exist/' > "$tmp/bad"
[ -s "$tmp/functions" ] || complain "no function found"
result "functions that pages name exist"

# --- tests named in the RFC map and in the threat model

literals rfc-map.rst threat-model.rst | grep -E '^[a-z_]+(\.[a-z_0-9]+)+$' | grep -Ev '\.(c|h|sh|rst)$' |
	sort -u > "$tmp/tests"
while IFS=. read -r suite name more; do
	case $suite in
	net)	continue ;;	# a sysctl
	fuzz)	[ -e "$top/selftests/fuzz/$name.c" ] ;;
	api|evil|timers)	cases "$suite" -q "{ \"$name\"," ;;
	ends|clcsock)	grep -q "{ \"$name\"," "$top"/selftests/*/"smc_$suite.c" ;;
	kunit)	grep -qE "KUNIT_CASE(_SLOW|_PARAM)?\(${name}[,)]" "$top"/selftests/kunit/test_*.c ;;
	vm)	grep -qE "^case_${more}\(|[\" ]${more}[\": ]" "$top/selftests/vm/cases/$name.sh" ;;
	*)	grep -q "UNIT_CASE($name)" "$top/selftests/unit/test_$suite.c" ;;
	esac 2>/dev/null || complain "$suite.$name${more:+.$more} does not exist"
done < "$tmp/tests"
[ -s "$tmp/tests" ] || complain "no test found"
result "tests that rfc-map.rst and threat-model.rst name exist"

# the last of a row's four cells has a test, or says "none: " and why
awk '
	function judge() {
		if (row == "" || row ~ /^[0-9]+: Path$/)
			return
		rows++
		if (cell != 4 || last !~ /``[a-z]+\.[a-z_0-9.]+``|none: ./)
			print "line " row ": no test"
	}
	/^   \* - / { judge(); cell = 1; row = NR ": " substr($0, 8); next }
	/^     - / { cell++; last = "" }
	/^[^ ]/ { judge(); row = "" }
	{ last = last $0 }
	END { judge(); if (rows < 10) print rows + 0 " rows found" }' threat-model.rst > "$tmp/bad"
result "each promise of threat-model.rst has a test"

# --- cases named on the page about the socket API: "name" or "name_*"

cases api -ho '^	{ "[a-z0-9_]*",' | tr -d '\t{", ' | sort -u > "$tmp/cases"
# shellcheck disable=SC2016 # backquotes are meant
sed -n '/^   \* - What$/,$p' socket-api.rst | grep -o '``[a-z0-9_]*\*\?``' | tr -d '`' |
	sort -u > "$tmp/named"
while read -r name; do
	grep -qx "$(echo "$name" | sed 's/\*/.*/')" "$tmp/cases" || complain "$name does not exist"
done < "$tmp/named"
sed 's/\*/.*/' "$tmp/named" | grep -vxf - "$tmp/cases" | sed 's/$/: no row/' >> "$tmp/bad"
[ -s "$tmp/cases" ] || complain "no case found"
result "socket-api.rst names every API case"

# --- KUnit suites

sed -n 's/^\t\.name = "\(smc_[a-z_]*\)",$/\1/p' "$top"/selftests/kunit/test_*.c | sort > "$tmp/suites"
# shellcheck disable=SC2016 # backquotes are meant
sed -n '/^KUnit$/,/^Coverage$/s/^``\(smc_[a-z_]*\)``  .*/\1/p' testing.rst | sort > "$tmp/named"
differ selftests/kunit "$tmp/suites" testing.rst "$tmp/named"
result "testing.rst has every KUnit suite"

# --- tables: a word that reaches into the gap between two columns spoils the whole of it

for page in *.rst; do
	awk -v page="$page" '
		/^=+( +=+)+$/ {
			if (inside) {
				border = 1
				next
			}
			inside = 1
			gaps = 0
			for (at = 2; at <= length($0); at++) {
				if (substr($0, at, 1) == " " && substr($0, at - 1, 1) == "=")
					from[++gaps] = at
				if (substr($0, at, 1) == " ")
					size[gaps] = at - from[gaps] + 1
			}
			next
		}
		inside && border && /^$/ { inside = 0 }
		{ border = 0 }
		inside {
			for (i = 1; i <= gaps; i++)
				if (substr($0, from[i], size[i]) ~ /[^ ]/) {
					print page ":" NR ": " $0
					next
				}
		}' "$page" >> "$tmp/bad"
done
result "words of tables stay within their columns"

# --- links

for page in ./*.rst decisions/*.md ../README.md; do
	# shellcheck disable=SC2016 # backquotes are meant
	case $page in
	*.rst)	grep -o '<[^<>` ]*>`_' "$page" | sed 's/^<//; s/>`_$//' ;;
	*)	grep -o '](\([^)]*\))' "$page" | sed 's/^](//; s/)$//' ;;
	esac | grep -v '^[a-z]*:' | sed 's/#.*//' | while read -r link; do
		[ -z "$link" ] || [ -e "$(dirname "$page")/$link" ] ||
			complain "$page links to $link"
	done
done
result "links resolve"

for page in *.rst decisions/*.md; do
	[ "$page" = index.rst ] || grep -q "<$page>" index.rst || complain "$page is not in index.rst"
done
result "index.rst lists every page"

# --- generated and enumerated

if make -s -C "$top/selftests/unit" BUILD="$tmp/unit" "$tmp/unit/native/test_conn_fsm" \
	> "$tmp/log" 2>&1; then
	"$tmp/unit/native/test_conn_fsm" --rst 2> "$tmp/log" | diff - states.rst > "$tmp/diff" ||
		{ complain "write it again: test_conn_fsm --rst"; head -20 "$tmp/diff" >> "$tmp/bad"; }
else
	cp "$tmp/log" "$tmp/bad"
fi
result "states.rst is what the tables say"

"$top/scripts/test-table.py" 2>&1 | diff - test-table.rst > "$tmp/diff" ||
	{ complain "write it again: scripts/test-table.py"; head -20 "$tmp/diff" >> "$tmp/bad"; }
result "test-table.rst is what the runs say"

# "#define T_X (3 * HZ / 2)" stands as "``T_X`` 1.5 s"
HZ=10
sed -n 's/^#define \(T_[A-Z_]*\)[[:blank:]]*(\([0-9HZ */]*\)).*/\1 \2/p' "$top/handshake/internal.h" |
	while read -r name value; do
		# shellcheck disable=SC2004 # it is an expression with HZ, not a variable
		value=$(($value))
		echo "$name $((value / HZ)).$((value % HZ))" | sed 's/\.0$//'
	done | sort > "$tmp/timers"
# shellcheck disable=SC2016 # backquotes are meant
sed -n 's/^``\(T_[A-Z_]*\)`` *\([0-9.]*\) s .*/\1 \2/p' handshake.rst | sort > "$tmp/named"
differ handshake/internal.h "$tmp/timers" handshake.rst "$tmp/named"
result "handshake.rst has every timer"

# the same for all timers, in milliseconds; a test of that name, or a remark
HZ=1000
# shellcheck disable=SC2046 # file names without blanks
sed -n 's/^#define \([A-Z_]*\)[[:blank:]]*(\([0-9HZ */]*HZ[0-9HZ */]*\)).*/\1 \2/p;
	s/^#define \([A-Z_]*_MS\)[[:blank:]]*\([0-9]*\)[[:blank:]]*\(\/\*.*\)*$/\1 \2/p' \
	$(cat "$tmp/c" "$tmp/h") |
	while read -r name value; do
		# shellcheck disable=SC2004 # it is an expression with HZ, not a variable
		echo "$name $(($value))"
	done | sort > "$tmp/timers"
# shellcheck disable=SC2016 # backquotes are meant
sed -n 's/^``\([A-Z_]*\)`` *\([0-9.]*\) \(m*s\) .* \([^ ]*\)$/\1 \2 \3 \4/p' timers.rst \
	> "$tmp/table"
awk '{ print $1, $3 == "s" ? $2 * 1000 : $2 }' "$tmp/table" | sort > "$tmp/named"
differ "the code" "$tmp/timers" timers.rst "$tmp/named"
{ awk '{ print $4 }' "$tmp/table"; grep -o '\*[a-z_]*\*' timers.rst | tr -d '*'; } |
	while read -r test; do
		case $test in
		"["*) grep -q "^\* \[${test#?} " timers.rst ;;
		*) cases timers -q "{ \"$test\"," ;;
		esac || complain "timers.rst names a test $test, which does not exist"
	done
result "timers.rst has every timer"

sed -n 's/^\t\[SMC_STAT_[A-Z_]*\].*"\([a-z_]*\)".*/\1/p' "$top/base/stats.c" | sort > "$tmp/counters"
sed -n '/^\/proc\/net\/smc_stat$/,/^The kernel log$/s/^\([a-z_]*\)   *[A-Za-z].*/\1/p' \
	troubleshooting.rst | sort > "$tmp/named"
differ base/stats.c "$tmp/counters" troubleshooting.rst "$tmp/named"
result "troubleshooting.rst has every counter"

# Trace points, each with its fields in their order.
awk '
	function name_of(s) { gsub(/[^(]*\(|[,) ].*/, "", s); return s }
	function take(s) {
		while (match(s, /__(field|dynamic_array)\([^,]*, [a-z_]+/)) {
			f = substr(s, RSTART, RLENGTH)
			sub(/.* /, "", f)
			fields = fields (fields == "" ? "" : ", ") f
			s = substr(s, RSTART + RLENGTH)
		}
	}
	/^(TRACE_EVENT|DECLARE_EVENT_CLASS)\(/ {
		what = name_of($0)
		class = /^DECLARE/
		fields = ""
	}
	/^DEFINE_EVENT\(/ {
		split($0, part, /[(, ]+/)
		print part[3] ": " of[part[2]]
		what = ""
	}
	what != "" { take($0) }
	/^\);/ && what != "" {
		of[what] = fields
		if (!class)
			print what ": " fields
		what = ""
	}' "$top/include/smc/base/trace.h" | sort > "$tmp/points"
sed -n '/^Trace points$/,$s/^``\(smcr*_[a-z_]*: .*\)``$/\1/p' troubleshooting.rst | sort > "$tmp/named"
differ trace.h "$tmp/points" troubleshooting.rst "$tmp/named"
result "troubleshooting.rst has every trace point"

# Reasons that the module can give, with number and text.
# shellcheck disable=SC2046 # file names without blanks
sed -n '/^enum smc_clc_reason smc_clc_unsupported_reason/,/^const char/p' "$top/proto/clc_msg.c" |
	cat - $(grep -v '/proto/' "$tmp/c") |
	grep -o 'SMC_CLC_DECL_[A-Z_0-9]*' | grep -v '_NONE$' | sort -u |
	while read -r decl; do
		code=$(sed -n "s/^\t$decl\t*= \(0x[0-9a-f]*\),\$/\1/p" \
			"$top/include/smc/proto/clc_msg.h")
		text=$(sed -n "/case $decl:/{n;s/.*\"\(.*\)\".*/\1/p;}" "$top/proto/clc_msg.c")
		grep -A1 "^   \* - $code\$" troubleshooting.rst | grep -qxF "     - $text" ||
			complain "$decl, $code, \"$text\" is not explained"
	done
result "troubleshooting.rst explains every fallback reason"

# Lines that peers and users can cause are limited per namespace. The other files have lines that only
# an administrator, a test or a faulty device causes.
# shellcheck disable=SC2046 # file names without blanks
grep -lE '\<(pr_(emerg|alert|crit|err|warn|notice|info|debug)(_[a-z]+)?|printk|net_[a-z]+_ratelimited)\(' \
	$(cat "$tmp/c") | grep -vE '/(base/log|base/fault|rdma/drain|smc_main|smc_core|loopback/device)\.c$' |
	while read -r f; do
		complain "$f logs a line without smc_log_write()"
	done
result "log lines of peers and users are limited"

grep -o 'SMC_HAVE_[A-Z_]*' "$top/Kbuild" | sort -u > "$tmp/probes"
grep -o '^SMC_HAVE_[A-Z_]*' compat.rst | sort -u > "$tmp/named"
differ Kbuild "$tmp/probes" compat.rst "$tmp/named"
result "compat.rst has every probe"

# --- numbers that stand twice

sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' ../CHANGELOG.md | head -1 > "$tmp/version"
diff ../VERSION "$tmp/version" >> "$tmp/bad"
result "CHANGELOG.md begins with the version of VERSION"

# the lowest and the highest ratio of the table of instructions
sed -n '/^| row | TCP/,/^$/s/.*| \([0-9.]*\) |$/\1/p' ../README.md | sort -n > "$tmp/ratios"
range="$(head -1 "$tmp/ratios") to $(tail -1 "$tmp/ratios")"
grep -qF "| instructions per operation (below) | 1 | $range |" ../README.md ||
	complain "README.md: the ratios of its table are $range"
result "README.md has the range of its ratios"

# the table of times, in another markup and without the ratio to TCP
sed -n '/^| row | unit/,/^$/s/^| \([^-].*\) |$/\1/p' ../README.md | grep -v '^row ' > "$tmp/times"
# shellcheck disable=SC2016 # backquotes are meant
sed -n '/^``make bench BED=uml``: /,/^In streams/p' performance.rst |
	awk -F '   *' 'NF == 7 && !/^=/ && !/^row / { print $1, "|", $2, "|", $3, "|", $4, "|", $5, "|", $6 }' |
	sed 's/``/`/g' > "$tmp/named"
diff "$tmp/named" "$tmp/times" >> "$tmp/bad"
[ -s "$tmp/named" ] || complain "no table of times found in performance.rst"
result "README.md has the times of performance.rst"

sphinx-build -q -W --keep-going -b html . "$tmp/html" > "$tmp/log" 2>&1 || cp "$tmp/log" "$tmp/bad"
result "Sphinx makes HTML of the pages, and their links name files"

exit $rc
