# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the test levels that consist of runs of selftests/vm/vm.py. The caller sets $top, $vm
# (selftests/vm), $out (the folder of the results), $runs, the names of the runs wanted (none: all), and
# $list: y to print each of them on a line of its own and do nothing else, for other scripts: "gate" or
# "extra", the name and the arguments of vm.py, with a tab between two.
# This file counts cases in $n and keeps the exit status in $rc.
# shellcheck disable=SC2034,SC2154 # the caller uses or sets these

n=0
rc=0
run_options=()	# for every run
seed=(${SEED:+--env "SEED=$SEED"})	# of the environment: repeats the random choices of a run
coverage=	# folder where runs leave their coverage data
pool=		# y: runs at the same time, one for each processor
level=gate	# extra: a run that only takes place if it is named
free_cores=()
last_core=
light_lock=$(mktemp)	# one light run at a time
jobs=()		# "PID CORE LOG" of each run; CORE is - of a light one

# what every host gets
programs_of_hosts=()
for f in selftests/smc_traffic selftests/smc_api selftests/smc_evil tools/smcctl; do
	programs_of_hosts+=(--add "$top/$f")
done

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

# named NAME: is it one of the runs wanted?
named()
{
	local r

	[ ${#runs[@]} -gt 0 ] || return 0
	for r in "${runs[@]}"; do
		[ "$r" != "$1" ] || return 0
	done
	return 1
}

# want NAME: is anything to be done for this run?
want()
{
	[ -z "$list" ] && named "$1"
}

# selected NAME VM_ARGUMENT...: is this run to take place? A list gets it instead.
selected()
{
	local IFS=$'\t' line

	line=("$level" "$1" "${run_options[@]}" "${@:2}")
	[ -z "$list" ] || ! named "$1" || echo "${line[*]}"
	want "$1"
}

# extra FUNCTION NAME ARGUMENT...: calls it if runs are named, or listed: a gate does without
extra()
{
	[ -n "$list" ] || [ ${#runs[@]} -gt 0 ] || return 1
	level=extra "$@"
}

# not_run NAME REASON
not_run()
{
	n=$((n + 1))
	rc=1
	echo "not ok $n $1: $2"
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
	[ -n "$seen" ] || not_run "$1" "the run did not start"
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
		"${programs_of_hosts[@]}" "${seed[@]}" "$@" > "$log" 2>&1 || rc=1
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

# rooted NAME "TREE PACKAGE..." VM_ARGUMENT...: a run whose hosts have that Debian tree (tree.sh)
rooted()
{
	local tree=

	# shellcheck disable=SC2086 # a list of words
	if want "$1" && ! tree=$("$vm/tree.sh" $2 < /dev/null); then
		not_run "$1" "there is no Debian tree"
		return
	fi
	run "$1" --root "$tree" "${@:3}"
}

# smc_tools NAME VM_ARGUMENT...: runs the programs of smc-tools, built in the folder $SMC_TOOLS: they are
# neither in Debian nor in this tree
smc_tools()
{
	local f add=()

	for f in smcr smcd smcss smc_pnet smc_run smc_chk smc_dbg smc_rnics libsmc-preload.so; do
		add+=(--add "${SMC_TOOLS:-}/$f")
		if want "$1" && [ ! -e "${SMC_TOOLS:-}/$f" ]; then
			not_run "$1" "SMC_TOOLS must name a folder with smc-tools that are built; ${SMC_TOOLS:-it} has no $f"
			return
		fi
	done
	rooted "$1" "debian-12 iproute2 libnl-genl-3-200 procps python3" "${@:2}" --module ours,intree \
		--mtu 9000 --script "$vm/cases/smc_tools.sh" --add "$top/selftests/smc_contract" "${add[@]}"
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

# submit FUNCTION NAME ARGUMENT...: calls it, at once or on the next free processor
submit()
{
	local core

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

# light NAME VM_ARGUMENT...: a run that waits nearly all the time: beside the other runs, one after the
# other
light()
{
	! selected "$@" || submit_light run_now "$@"
}

# submit_light FUNCTION NAME ARGUMENT...
submit_light()
{
	if [ -z "$pool" ]; then
		"$@"
		return
	fi
	start_job - "$@"
}

run()
{
	! selected "$@" || submit run_now "$@"
}

# alone NAME VM_ARGUMENT...: a run that needs all processors
alone()
{
	selected "$@" || return 0
	collect
	run_now "$@"
}

# checked NAME PROGRAM WORDS VM_ARGUMENT...: a run, then what PROGRAM of selftests/vm says about its
# packets; WORDS are the arguments of PROGRAM
checked()
{
	! selected "$1" "${@:4}" || submit checked_now "$@"
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

# verify NAME COMMAND..., verify_light NAME COMMAND...: no run of vm.py, so no list has it
verify()
{
	! want "$1" || submit verify_now "$@"
}

verify_light()
{
	! want "$1" || submit_light verify_now "$@"
}
