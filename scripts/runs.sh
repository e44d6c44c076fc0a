# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the test levels that consist of runs of selftests/vm/vm.py. The caller sets $top and
# $runs, the names of the runs wanted (none: all). This file counts cases in $n and keeps the
# exit status in $rc.
# shellcheck disable=SC2034,SC2154 # the caller uses or sets these

n=0
rc=0
run_options=()	# for every run
# how many failed runs may be repeated, in the foreground and in the background; 0: none
: "${REPEATS:=2}"
coverage=	# folder where runs leave their coverage data

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

# Succeeds if a guest died of a fault of the emulator. The kernel patches running code under a
# temporary breakpoint. With two processors, QEMU without KVM before release 10 can execute its cached
# translation of a breakpoint that the kernel has removed already; the kernel then reports an unknown
# trap. This happens in about one of a thousand patches under load (one of 26,000 with release 10).
emulator_fault()
{
	grep -qE '^# .*, ([2-9]|[1-9][0-9]+) CPU\(s\), tcg$' "$1" &&
		grep -qE '^not ok .* clean_end # .*console: [^;]*\<int3: 0000 \[#1\]' "$1"
}

# Succeeds if a failed run may be repeated. A report of a kernel, a hanging guest, a leak and wrong
# bytes are final. (A script that exits with an error only says that a case failed.)
repeatable()
{
	[ "$REPEATS" -gt 0 ] &&
		! sed -E 's/h[0-9]+ script ended with [0-9]+(; )?//g' "$1" |
			grep -qE '^not ok .* clean_end # .|EBADMSG|Bad message|that are no request'
}

# Prints the output of a run that will be repeated as comments, and its failures by name.
first_time()
{
	sed 's/^/# first time: /' "$2"
	sed -n "s/^not ok [0-9]* /# flaky $1: /p" "$2"
	grep -q '^not ok ' "$2" || echo "# flaky $1: the run did not start"
}

# run NAME VM_ARGUMENT...: repeats the run, and says so, when the emulator failed or repeatable()
# allows it. The files of the first attempt are kept in out/NAME.first.
run()
{
	local name=$1 log again='' bad='' left

	shift
	want "$name" || return 0
	log=$(mktemp)
	left=${SMC_VM_CACHE:-$top/.cache/vm}/out/$name
	rm -rf "$left.first"
	echo "# run $name"
	[ -z "$coverage" ] || mkdir -p "$coverage/$name"
	while :; do
		bad=
		"$top/selftests/vm/vm.py" --name "$name" "${run_options[@]}" \
			${coverage:+--env "COVERAGE=$coverage/$name"} \
			--add "$top/selftests/smc_traffic" --add "$top/selftests/smc_api" \
			--add "$top/selftests/smc_evil" --add "$top/tools/smcctl" "$@" > "$log" 2>&1 || bad=y
		if [ -z "$bad" ] || [ -n "$again" ]; then
			break
		fi
		if emulator_fault "$log"; then
			echo "# $name: QEMU executed a breakpoint that the kernel had removed: run again"
		elif repeatable "$log"; then
			REPEATS=$((REPEATS - 1))
			first_time "$name" "$log"
			echo "# $name: run again"
		else
			break
		fi
		again=y
		[ ! -d "$left" ] || mv "$left" "$left.first"
	done
	[ -z "$bad" ] || rc=1
	renumber "$name" "$log"
	rm -f "$log"
}

# verify NAME COMMAND...: prints the KTAP of a program that checks the files of a run
verify()
{
	local name=$1 log

	shift
	want "$name" || return 0
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

# background run|verify NAME ARGUMENT...: runs on the last processor while the script goes on. Runs
# in the background follow one another; collect() waits for them and prints their results.
background_jobs=()
background_lock=

# Kills the runs in the background when the script ends early.
kill_background()
{
	local pid

	for pid in "${background_jobs[@]}"; do
		pid=${pid%% *}
		# shellcheck disable=SC2046 # numbers
		kill $(pgrep -P "$pid") "$pid" 2> /dev/null
	done
}

background()
{
	local log core

	want "$2" || return 0
	log=$(mktemp)
	[ -n "$background_lock" ] || background_lock=$(mktemp)
	core=$(taskset -cp $$ | sed 's/.*[^0-9]//')
	(
		rc=0
		run_options+=(--core "$core")
		exec 9> "$background_lock"
		flock 9
		taskset -cp "$core" "$BASHPID" > /dev/null
		"$@" > "$log"
		exit "$rc"
	) &
	background_jobs+=("$! $log")
	trap kill_background EXIT
}

collect()
{
	local pid log line verdict rest

	for line in "${background_jobs[@]}"; do
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
	[ -z "$background_lock" ] || rm -f "$background_lock"
	background_jobs=()
}
