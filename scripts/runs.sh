# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Sourced by the floors that are made of runs of selftests/vm/vm.py: $top is set, $runs are
# the names of the runs wanted (none: all). Counts cases in $n, keeps the verdict in $rc.
# shellcheck disable=SC2034,SC2154 # that is the includer's side

n=0
rc=0
run_options=()	# for every run
# runs that may be done once more, of this floor and of those aside; 0: a failure is a failure
: "${REPEATS:=2}"
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

# Did a guest die of a fault of the emulator? The kernel patches its code while it runs, behind a
# breakpoint that is gone before it counts as done. QEMU without KVM and before release 10 can go on
# with its own translation of the breakpoint when two processors are at it, and the kernel does not
# know that one any more: one of about a thousand changes under load (one of 26,000 with release 10).
emulator_fault()
{
	grep -qE '^# .*, ([2-9]|[1-9][0-9]+) CPU\(s\), tcg$' "$1" &&
		grep -qE '^not ok .* clean_end # .*console: [^;]*\<int3: 0000 \[#1\]' "$1"
}

# May a failed run be done once more? What its kernels say, a guest that hangs, a leak and wrong bytes
# stand. (That a script ended badly is no more than that a case failed.)
repeatable()
{
	[ "$REPEATS" -gt 0 ] &&
		! sed -E 's/h[0-9]+ script ended with [0-9]+(; )?//g' "$1" |
			grep -qE '^not ok .* clean_end # .|EBADMSG|Bad message|that are no request'
}

# What a run said that is not the last word: all of it as comments, and what failed by name.
first_time()
{
	sed 's/^/# first time: /' "$2"
	sed -n "s/^not ok [0-9]* /# flaky $1: /p" "$2"
	grep -q '^not ok ' "$2" || echo "# flaky $1: it did not start"
}

# run NAME VM_ARGUMENT...: once more when the emulator failed, or something that may have been the
# machine's; says so. What the first time left behind is kept in out/NAME.first.
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
			echo "# $name: a guest met a breakpoint of the kernel's own that was gone: QEMU's fault, once more"
		elif repeatable "$log"; then
			REPEATS=$((REPEATS - 1))
			first_time "$name" "$log"
			echo "# $name: once more"
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

# smc_tools NAME VM_ARGUMENT...: the programs of smc-tools in the folder $SMC_TOOLS, where they have been
# built; by name only, since they are neither Debian's nor ours
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
