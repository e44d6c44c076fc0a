#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Brings the model checker CBMC out of Debian 13's packages into a folder, with the libraries of
# Debian 13 that it needs: fetch-cbmc.sh DIRECTORY
# DIRECTORY/cbmc then runs it with these libraries, and the compiler of this machine. Nothing is
# installed.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: fetch-cbmc.sh DIRECTORY}
[ ! -e "$dir/done" ] || exit 0

cache=${SMC_VM_CACHE:-$top/.cache/vm}
mkdir -p "$dir"
dir=$(cd "$dir" && pwd)
# lists of another release have a folder of their own: the others need not be read again
export SMC_APT_SUITES=trixie
for package in cbmc minisat libstdc++6 libgcc-s1 libc6; do
	"$top/scripts/apt-private.sh" "$cache/apt-trixie" files "$package" | tar -xf - -C "$dir"
done
cat > "$dir/cbmc" << 'END'
#!/bin/sh
usr=${0%/*}/usr
exec "$usr/lib64/ld-linux-x86-64.so.2" --library-path "$usr/lib/x86_64-linux-gnu:$usr/lib" "$usr/bin/cbmc" "$@"
END
chmod +x "$dir/cbmc"
"$dir/cbmc" --version > "$dir/version"
touch "$dir/done"
