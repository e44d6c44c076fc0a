# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=dash
#
# What a guest of mok.py does: tries to load modules, and has the machine owner key enrolled if those that are signed
# with it are refused. What it says on the console begins with "mok:".

say()
{
	echo "mok: $*" > /dev/console
}

mount -t securityfs securityfs /sys/kernel/security
modprobe efivarfs
mount -t efivarfs efivarfs /sys/firmware/efi/efivars

say "state: $(/t/mokutil --sb-state)"
say "unsigned: $(/t/load.sh /ours 2>&1)"
say "signed: $(/t/load.sh /t/foreign 2>&1)"
if [ -e /sys/module/smc ]; then
	say "end"
	sleep 1
	poweroff -f
fi
/t/mokutil --import /t/foreign.der < /t/password > /run/mokutil 2>&1
say "import: $?"
sleep 1
reboot -f
