#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# The samples for Kubernetes, without a cluster: they are YAML, their parts fit each other and this tree
# (kubernetes.py), and the scripts in them do what they should, on the fake host.
# shellcheck disable=SC2317 # functions are called through expect

cd "$(dirname "$0")/.." || exit 1
. test/ktap.sh
. test/fakes.sh

echo "KTAP version 1"
if ! python3 -c 'import yaml' 2>/dev/null; then
	ktap_skip 'Kubernetes' 'python3-yaml is not installed'
	ktap_done
fi

# contained CONTAINER: run its script for a second, as it runs when a pod is deleted
contained()
{
	python3 test/kubernetes.py script "$1" >"$tmp/script" || return
	timeout 1 sh "$tmp/script"
}

# the programs of the image: smcctl on the fake host, and what smc_cgroup is called with
printf '#!/bin/sh\nFAKE_NL=normal LD_PRELOAD="%s" exec %s/smcctl "$@"\n' "$fake" "$(pwd)" >"$tmp/bin/smcctl"
# shellcheck disable=SC2016 # for the program
printf '#!/bin/sh\ntrap "" TERM\necho "$*"\n[ "$1" = stop ] || sleep $TAKES\nexit $REFUSES\n' >"$tmp/bin/smc_cgroup"
chmod +x "$tmp/bin/smcctl" "$tmp/bin/smc_cgroup"
export FAKE_NETNS="$tmp/netns" METRICS="$tmp/smc.prom" CGROUP=kubepods.slice REFUSES=0 TAKES=0
mkdir -p "$FAKE_NETNS"
echo normal >"$FAKE_NETNS/self"
cp "$FAKE_NETNS/self" "$FAKE_NETNS/1"

expect 'the parts fit' '' python3 test/kubernetes.py faults
expect 'convert: from the start of its pod to the end' 'start kubepods.slice
stop kubepods.slice' contained convert
TAKES=2 expect 'convert: the pod ends during the start' 'start kubepods.slice
stop kubepods.slice' contained convert
REFUSES=1 expect 'convert: without a module it ends' 'start kubepods.slice' contained convert
REFUSES=1 expect_rc 'convert: and fails' 1 contained convert
expect 'metrics' '' contained metrics
expect 'metrics: of all namespaces' 'smc_up{netns="host"} 1' grep '^smc_up' "$METRICS"
ktap_done
