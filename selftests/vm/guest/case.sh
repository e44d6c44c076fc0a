# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# One case in a process (and session) of its own, so that its time limit and
# its end can take everything along that it started.

# shellcheck disable=SC1091 # these exist in the guest only
. /h/lib.sh
[ ! -e /t/env.sh ] || . /t/env.sh
# shellcheck disable=SC1090 # the test chooses
. "$SCRIPT"
"case_$1"
