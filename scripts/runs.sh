# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the floors that are made of runs of selftests/vm/vm.py: $top is set, $runs are
# the names of the runs wanted (none: all). Counts cases in $n, keeps the verdict in $rc.
# shellcheck disable=SC2034,SC2154 # that is the includer's side

n=0
rc=0
run_options=()	# for every run
coverage=	# folder where runs leave what they reached

want()
{
	local r

	[ ${#runs[@]} -gt 0 ] || return 0
	for r in "${runs[@]}"; do
		[ "$r" != "$1" ] || return 0
	done
	return 1
}

# The cases, renumbered over all runs; everything else as comments.
renumber()
{
	local line verdict rest seen=

	while IFS= read -r line; do
		case $line in
		"ok "*|"not ok "*)
			n=$((n + 1))
			seen=y
			verdict=${line%%ok *}ok
			rest=${line#"$verdict "}
			echo "$verdict $n $1: ${rest#* }"
			;;
		"1.."*|"KTAP "*) ;;
		"#"*) echo "$line" ;;
		*) echo "# $line" ;;
		esac
	done < "$2"
	if [ -z "$seen" ]; then
		n=$((n + 1))
		rc=1
		echo "not ok $n $1: it did not start"
	fi
}

# run NAME VM_ARGUMENT...
run()
{
	local name=$1 log

	shift
	want "$name" || return 0
	log=$(mktemp)
	echo "# run $name"
	[ -z "$coverage" ] || mkdir -p "$coverage/$name"
	"$top/selftests/vm/vm.py" --name "$name" "${run_options[@]}" \
		${coverage:+--env "COVERAGE=$coverage/$name"} \
		--add "$top/selftests/smc_traffic" --add "$top/selftests/smc_api" \
		--add "$top/selftests/smc_evil" --add "$top/tools/smcctl" "$@" > "$log" 2>&1 || rc=1
	renumber "$name" "$log"
	rm -f "$log"
}

# judge NAME COMMAND...: KTAP of a program that looks at what a run left behind
judge()
{
	local name=$1 log

	shift
	want "$name" || return 0
	log=$(mktemp)
	"$@" > "$log" 2>&1 || rc=1
	renumber "$name" "$log"
	rm -f "$log"
}

# aside run|judge NAME ARGUMENT...: on the last processor while others go on, one aside after the
# other. Its results come with settle.
asides=()
aside_lock=

# Whoever gives up takes them along.
aside_end()
{
	local pid

	for pid in "${asides[@]}"; do
		pid=${pid%% *}
		# shellcheck disable=SC2046 # numbers
		kill $(pgrep -P "$pid") "$pid" 2> /dev/null
	done
}

aside()
{
	local log core

	want "$2" || return 0
	log=$(mktemp)
	[ -n "$aside_lock" ] || aside_lock=$(mktemp)
	core=$(taskset -cp $$ | sed 's/.*[^0-9]//')
	(
		rc=0
		run_options+=(--core "$core")
		exec 9> "$aside_lock"
		flock 9
		taskset -cp "$core" "$BASHPID" > /dev/null
		"$@" > "$log"
		exit "$rc"
	) &
	asides+=("$! $log")
	trap aside_end EXIT
}

settle()
{
	local pid log line verdict rest

	for line in "${asides[@]}"; do
		pid=${line%% *}
		log=${line#* }
		wait "$pid" || rc=1
		while IFS= read -r line; do
			case $line in
			"ok "*|"not ok "*)
				n=$((n + 1))
				verdict=${line%%ok *}ok
				rest=${line#"$verdict "}
				echo "$verdict $n ${rest#* }"
				;;
			*) echo "$line" ;;
			esac
		done < "$log"
		rm -f "$log"
	done
	[ -z "$aside_lock" ] || rm -f "$aside_lock"
	asides=()
}
