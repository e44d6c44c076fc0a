# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=sh
#
# KTAP output for shell tests. With SMC_TEST_NO_SKIP=1 a skipped test is a failure.

ktap_nr=0
ktap_failed=0
ktap_log=$(mktemp)

# ktap_result STATUS NAME [DETAILS]: print the result line of a test, and for a failure the details
ktap_result()
{
	ktap_nr=$((ktap_nr + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $ktap_nr $2"
	else
		ktap_failed=$((ktap_failed + 1))
		echo "not ok $ktap_nr $2"
		[ -z "$3" ] || printf '%s\n' "$3" | sed 's/^/# /'
	fi
}

# ktap_skip NAME REASON
ktap_skip()
{
	if [ "${SMC_TEST_NO_SKIP:-0}" = 1 ]; then
		ktap_result 1 "$1" "skipped: $2"
		return
	fi
	ktap_nr=$((ktap_nr + 1))
	echo "ok $ktap_nr $1 # SKIP $2"
}

# expect NAME EXPECTED COMMAND...: the output of COMMAND (both streams) must be EXPECTED
expect()
{
	ktap_name=$1
	ktap_want=$2
	shift 2
	ktap_got=$("$@" 2>&1)
	if [ "$ktap_got" = "$ktap_want" ]; then
		ktap_result 0 "$ktap_name"
	else
		ktap_result 1 "$ktap_name" "wanted: $ktap_want
got: $ktap_got"
	fi
}

# expect_match NAME PATTERN COMMAND...: the output must match a shell pattern
expect_match()
{
	ktap_name=$1
	ktap_want=$2
	shift 2
	ktap_got=$("$@" 2>&1)
	# shellcheck disable=SC2254
	case $ktap_got in
	$ktap_want) ktap_result 0 "$ktap_name" ;;
	*) ktap_result 1 "$ktap_name" "wanted: $ktap_want
got: $ktap_got" ;;
	esac
}

# expect_rc NAME STATUS COMMAND...: check only the exit status
expect_rc()
{
	ktap_name=$1
	ktap_want=$2
	shift 2
	"$@" >"$ktap_log" 2>&1
	ktap_got=$?
	if [ "$ktap_got" -eq "$ktap_want" ]; then
		ktap_result 0 "$ktap_name"
	else
		ktap_result 1 "$ktap_name" "wanted status $ktap_want, got $ktap_got
$(cat "$ktap_log")"
	fi
}

# expect_error NAME STATUS PATTERN COMMAND...: nothing on stdout, one line on stderr that matches
expect_error()
{
	ktap_name=$1
	ktap_status=$2
	ktap_want=$3
	shift 3
	ktap_out=$("$@" 2>"$ktap_log")
	ktap_rc=$?
	ktap_got=$(cat "$ktap_log")
	ktap_lines=$(wc -l <"$ktap_log")
	# shellcheck disable=SC2254
	case $ktap_got in
	$ktap_want) ktap_match=0 ;;
	*) ktap_match=1 ;;
	esac
	if [ "$ktap_rc" -eq "$ktap_status" ] && [ -z "$ktap_out" ] && [ "$ktap_lines" -eq 1 ] &&
	   [ "$ktap_match" -eq 0 ]; then
		ktap_result 0 "$ktap_name"
	else
		ktap_result 1 "$ktap_name" "wanted status $ktap_status and: $ktap_want
got status $ktap_rc, stdout '$ktap_out', stderr: $ktap_got"
	fi
}

# expect_usage NAME PATTERN COMMAND...: the same with status 2
expect_usage()
{
	ktap_name=$1
	shift
	expect_error "$ktap_name" 2 "$@"
}

# Print stdin with the further lines of a cell or sentence of smcctl, which are indented, joined
joined()
{
	sed -e ':a' -e 'N;$!ba' -e 's/\n \{4,\}/ /g'
}

# Print the plan and exit. KTAP allows the plan at the end; a script that dies early prints none.
ktap_done()
{
	echo "1..$ktap_nr"
	rm -f "$ktap_log"
	[ "$ktap_failed" -eq 0 ] || exit 1
	exit 0
}
