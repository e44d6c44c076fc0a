#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Two virtual hosts with a shell each ("make vm"), with our module if it was built
# for that kernel, else with the in-tree one.
#
# Usage: shell.sh [vm.py options], e.g. shell.sh --kernel 6.1 --links 2
set -eu

here=$(cd "$(dirname "$0")" && pwd)
top=$(cd "$here/../.." && pwd)
cache=$("$top/scripts/cache-dir.sh")
results=$("$top/scripts/cache-dir.sh" here)
out=$results/out/shell

"$here/fetch.sh"

kernel=6.12
prev=
for a in "$@"; do
	[ "$prev" != --kernel ] || kernel=${a%%,*}
	prev=$a
done
rel=$(basename "$(readlink -f "$cache/kernels/$kernel")")
module=intree
[ ! -e "$top/build/$rel/smc.ko" ] || module=ours
set -- --module "$module" "$@"
for f in "$top/selftests/smc_traffic" "$top/tools/smcctl" "$top/tools/smc_run" \
	 "$top/tools/libsmc_preload.so"; do
	[ ! -e "$f" ] || set -- "$@" --add "$f"
done

rm -rf "$out"
mkdir -p "$results"
"$here/vm.py" --name shell --mode shell --mtu 9000 --out "$out" --timeout 86400 \
	"$@" > "$results/shell.log" 2>&1 &
vm=$!
trap 'kill $vm 2>/dev/null || true' EXIT INT TERM

attach()
{
	echo "socat -,raw,echo=0,escape=0x1d UNIX-CONNECT:$out/h$1.tty"
}

for h in 1 2; do
	while [ ! -S "$out/h$h.tty" ]; do
		kill -0 $vm 2>/dev/null || { cat "$results/shell.log" >&2; exit 1; }
		sleep 0.2
	done
done

if [ -n "${SMC_VM_NO_TMUX:-}" ] || ! command -v tmux > /dev/null || [ ! -t 0 ]; then
	echo "attach in two terminals (Ctrl-] detaches, exit switches a host off):"
	attach 1
	attach 2
	wait $vm
else
	# A tmux server of its own: the user may be inside another tmux.
	unset TMUX
	tmux -L smcvm new-session -s smcvm "$(attach 1)" \; \
		split-window -h "$(attach 2)" \; select-pane -L
fi
