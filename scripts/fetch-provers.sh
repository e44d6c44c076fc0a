#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Brings the model checker CBMC, herd7, which runs litmus tests, and the kernel's memory model into a
# folder: fetch-provers.sh DIRECTORY
# Debian 12 has neither program: CBMC comes from Debian 13, and herd7, which is in no release yet,
# from unstable. DIRECTORY/cbmc and DIRECTORY/herd7 run them with the libraries of that suite.
# Nothing is installed.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: fetch-provers.sh DIRECTORY}
[ ! -e "$dir/done" ] || exit 0

cache=$("$top/scripts/cache-dir.sh")
mkdir -p "$dir/model"
dir=$(cd "$dir" && pwd)

# fetch PROGRAM ARGUMENTS SUITE PACKAGE...: DIRECTORY/PROGRAM, which is called with ARGUMENTS, too
fetch()
{
	program=$1
	arguments=$2
	suite=$3
	shift 3
	mkdir -p "$dir/$suite"
	# the lists of each suite have a folder of their own: those of others need not be read again
	for package in "$@"; do
		SMC_APT_SUITES=$suite "$top/scripts/apt-private.sh" "$cache/apt-$suite" files "$package" |
			tar -xf - -C "$dir/$suite"
	done
	cat > "$dir/$program" <<- END
		#!/bin/sh
		here=\${0%/*}
		usr=\$here/$suite/usr
		exec "\$usr/lib64/ld-linux-x86-64.so.2" --library-path "\$usr/lib/x86_64-linux-gnu:\$usr/lib" \\
			"\$usr/bin/$program" $arguments "\$@"
	END
	chmod +x "$dir/$program"
}

fetch cbmc '' trixie cbmc minisat libstdc++6 libgcc-s1 libc6
"$dir/cbmc" --version > "$dir/cbmc.version"

# the model; the source of the kernels for User Mode Linux has it, too, which need not be unpacked again
for model in "$cache"/uml/src-*/tools/memory-model; do
	[ ! -e "$model/linux-kernel.cat" ] || cp "$model"/*.* "$dir/model/"
done
[ -e "$dir/model/linux-kernel.cat" ] ||
	"$top/scripts/apt-private.sh" "$cache/apt" files linux-source-6.12 |
		tar -xOf - ./usr/src/linux-source-6.12.tar.xz |
		tar -xJf - -C "$dir/model" --strip-components=3 linux-source-6.12/tools/memory-model
# shellcheck disable=SC2016 # for the program
fetch herd7 '-set-libdir "$usr/share/herdtools7/herd" -I "$here/model" -conf linux-kernel.cfg' \
	sid herdtools7 libgmp10 libc6
"$dir/herd7" -version > "$dir/herd7.version"
touch "$dir/done"
