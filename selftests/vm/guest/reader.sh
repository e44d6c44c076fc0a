# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The guest's end of the control channel: turns what the runner sends into
# files below /run/sync, where sync_wait looks, and runs commands that
# another host asks for (on_host).

run_command()
{
	# shellcheck disable=SC1091 # exists in the guest only
	. /h/lib.sh
	(eval "$2") < /dev/null
	sync_raw "ran.$1" $?
}

while read -r word name value <&7; do
	case $word in
	sync)
		# The value first: who sees the name may read it.
		echo "$value" > "/run/sync/$name.value"
		: > "/run/sync/$name"
		;;
	abort)
		echo "$name $value" > /run/sync/ABORT
		;;
	run)
		(run_command "$name" "$value") &
		;;
	esac
done
