# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# An interactive guest: network, RDMA and the module are set up, a shell runs on
# the serial line; the guest powers off when the shell ends.

# shellcheck disable=SC1091 # these exist in the guest only
. /h/lib.sh
# shellcheck disable=SC1091
[ ! -e /t/env.sh ] || . /t/env.sh

echo "hello $HOST" >&7
ash /h/reader.sh > /dev/null 2>&1 &
setup_net && setup_rxe && load_smc

cat << EOF

Host $HOST of $HOSTS, kernel $(uname -r), smc: $MODULE
  own address $(own_addr), the other host $(peer_addr), programs in /t
  /t/smcctl sock -a; /t/smc_run PROGRAM; rdma resource; dmesg
  "exit" switches this host off.

EOF
export ENV=/h/lib.sh PATH="$PATH:/t"
setsid cttyhack ash -i
