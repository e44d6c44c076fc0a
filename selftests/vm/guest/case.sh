# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# Runs one case in a process (and session) of its own, so that main.sh can kill
# all processes that the case has started, at its time limit and at its end.

# shellcheck disable=SC1091 # these exist in the guest only
. /h/lib.sh
[ ! -e /t/env.sh ] || . /t/env.sh
# shellcheck disable=SC1090 # the test chooses
. "$SCRIPT"
"case_$1"
