# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# The guest's end of the control channel: writes the runner's messages to files
# in /run/sync, for sync_wait(), and runs the commands of other hosts (on_host()).

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
		# The value first: sync_wait() may read it as soon as the name exists.
		echo "$value" > "/run/sync/$name.value"
		: > "/run/sync/$name"
		;;
	abort)
		# at once with its text: sync_wait() reads it as soon as the name exists
		echo "$name $value" > /run/abort
		mv /run/abort /run/sync/ABORT
		;;
	run)
		(run_command "$name" "$value") &
		;;
	esac
done
