# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the test levels that consist of runs of selftests/vm/vm.py. The caller sets $top, $vm
# (selftests/vm), $out (the folder of the results) and $runs, the names of the runs wanted (none: all).
# This file counts cases in $n and keeps the
# exit status in $rc.
# shellcheck disable=SC2034,SC2154 # the caller uses or sets these

n=0
rc=0
run_options=()	# for every run
coverage=	# folder where runs leave their coverage data
pool=		# y: runs at the same time, one for each processor
free_cores=()
last_core=
light_lock=$(mktemp)	# one light run at a time
jobs=()		# "PID CORE LOG" of each run; CORE is - of a light one

# The runs end with the script, also when it ends early.
end_runs()
{
	local job

	rm -f "$light_lock"
	for job in "${jobs[@]}"; do
		job=${job%% *}
		# shellcheck disable=SC2046 # numbers
		kill $(pgrep -P "$job") "$job" 2> /dev/null
	done
}
trap end_runs EXIT

want()
{
	local r

	[ ${#runs[@]} -gt 0 ] || return 0
	for r in "${runs[@]}"; do
		[ "$r" != "$1" ] || return 0
	done
	return 1
}

# renumber NAME LOG: prints the cases with numbers that count over all runs, the rest as comments.
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
		echo "not ok $n $1: the run did not start"
	fi
}

# run_now NAME VM_ARGUMENT...
run_now()
{
	local name=$1 log

	shift
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

# verify_now NAME COMMAND...: prints the KTAP of a program that checks the files of a run
verify_now()
{
	local name=$1 log

	shift
	log=$(mktemp)
	"$@" > "$log" 2>&1 || rc=1
	renumber "$name" "$log"
	rm -f "$log"
}

# smc_tools NAME VM_ARGUMENT...: runs the programs of smc-tools, built in the folder $SMC_TOOLS. Only
# if NAME is asked for: they are neither in Debian nor in this tree.
smc_tools()
{
	local f tree add=()

	[ ${#runs[@]} -gt 0 ] && want "$1" || return 0
	for f in smcr smcd smcss smc_pnet smc_run smc_chk smc_dbg smc_rnics libsmc-preload.so; do
		add+=(--add "${SMC_TOOLS:-}/$f")
		[ -e "${SMC_TOOLS:-}/$f" ] && continue
		n=$((n + 1))
		rc=1
		echo "not ok $n $1: SMC_TOOLS must name a folder with smc-tools that are built; ${SMC_TOOLS:-it} has no $f"
		return
	done
	if ! tree=$("$top/selftests/vm/tree.sh" debian-12 iproute2 libnl-genl-3-200 procps python3 \
	     < /dev/null); then
		n=$((n + 1))
		rc=1
		echo "not ok $n $1: there is no Debian tree"
		return
	fi
	run "$@" --module ours,intree --mtu 9000 --script "$top/selftests/vm/cases/smc_tools.sh" \
		--root "$tree" --add "$top/selftests/smc_contract" "${add[@]}"
}

# From now on, runs take place at the same time, one on each processor that this script may use.
use_pool()
{
	local range core

	pool=y
	for range in $(taskset -cp $$ | sed 's/.*: //; s/,/ /g'); do
		for ((core = ${range%-*}; core <= ${range#*-}; core++)); do
			free_cores+=("$core")
			last_core=$core
		done
	done
}

# Waits for the end of a run and prints its results.
collect_one()
{
	local i pid line job verdict rest

	wait -n -p pid "${jobs[@]%% *}" || rc=1
	for i in "${!jobs[@]}"; do
		read -r -a job <<< "${jobs[i]}"
		[ "${job[0]}" != "$pid" ] || break
	done
	unset "jobs[i]"
	[ "${job[1]}" = - ] || free_cores+=("${job[1]}")
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
	done < "${job[2]}"
	rm -f "${job[2]}"
}

# Waits for all runs.
collect()
{
	while [ ${#jobs[@]} -gt 0 ]; do
		collect_one
	done
}

# start_job CORE|- FUNCTION ARGUMENT...
start_job()
{
	local core=$1 log on=${1/-/$last_core}

	shift
	log=$(mktemp)
	(
		trap - EXIT
		rc=0
		run_options+=(--core "$on")
		taskset -cp "$on" "$BASHPID" > /dev/null
		if [ "$core" = - ]; then
			exec 9> "$light_lock"
			flock 9
		fi
		"$@" > "$log"
		exit "$rc"
	) &
	jobs+=("$! $core $log")
}

# submit FUNCTION NAME ARGUMENT...: calls it if NAME is wanted, at once or on the next free processor
submit()
{
	local core

	want "$2" || return 0
	if [ -z "$pool" ]; then
		"$@"
		return
	fi
	while [ ${#free_cores[@]} = 0 ]; do
		collect_one
	done
	core=${free_cores[0]}
	free_cores=("${free_cores[@]:1}")
	start_job "$core" "$@"
}

# light run|verify NAME ARGUMENT...: for what waits nearly all the time: beside the other runs, one
# after the other
light()
{
	want "$2" || return 0
	if [ -z "$pool" ]; then
		"$@"
		return
	fi
	start_job - "$1_now" "${@:2}"
}

run()
{
	submit run_now "$@"
}

# alone NAME VM_ARGUMENT...: a run that needs all processors
alone()
{
	want "$1" || return 0
	collect
	run_now "$@"
}

# checked NAME PROGRAM WORDS VM_ARGUMENT...: a run, then what PROGRAM of selftests/vm says about its
# packets; WORDS are the arguments of PROGRAM
checked()
{
	submit checked_now "$@"
}

# shellcheck disable=SC2317 # submit() calls it
checked_now()
{
	local name=$1 program=$2 words=$3

	shift 3
	run_now "$name" "$@"
	# shellcheck disable=SC2086 # a list of words
	verify_now "$name" "$vm/$program" "$out/$name/link0.pcap" $words
}

verify()
{
	submit verify_now "$@"
}
