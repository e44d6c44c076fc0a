#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Prints the folder with what the tests have fetched or built: kernels, packages, tools. All checkouts of
# a user share it, so that a second one builds no kernel again.
#
# Usage: cache-dir.sh [here]
#
#   here   the folder of this checkout alone: results of runs, and what depends on its files
#
# SMC_VM_CACHE names another folder for both. A checkout that has kernels of its own in .cache/vm uses
# these, and so does one whose user has no home.
set -eu

own=$(cd "$(dirname "$0")/.." && pwd)/.cache/vm
if [ -n "${SMC_VM_CACHE:-}" ]; then
	readlink -m "$SMC_VM_CACHE"
elif [ "${1:-}" = here ] || [ -d "$own/kernels" ] || [ -z "${XDG_CACHE_HOME:-}${HOME:-}" ]; then
	echo "$own"
else
	echo "${XDG_CACHE_HOME:-$HOME/.cache}/smc-vm"
fi
