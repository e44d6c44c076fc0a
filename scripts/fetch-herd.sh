#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
#
# Brings herd7, which runs litmus tests, and the kernel's memory model into a folder:
# fetch-herd.sh DIRECTORY
# No release of Debian has herd7 yet, so it comes from unstable, with the libraries that it
# needs. DIRECTORY/herd7 then runs it with these and the model. Nothing is installed.
set -eu

top=$(cd "$(dirname "$0")/.." && pwd)
dir=${1:?usage: fetch-herd.sh DIRECTORY}
[ ! -e "$dir/done" ] || exit 0

cache=${SMC_VM_CACHE:-$top/.cache/vm}
mkdir -p "$dir/model"
dir=$(cd "$dir" && pwd)
for package in herdtools7 libgmp10 libc6; do
	SMC_APT_SUITES=sid "$top/scripts/apt-private.sh" "$cache/apt-sid" files "$package" |
		tar -xf - -C "$dir"
done
# the source of the kernels for User Mode Linux has it, too: it need not be unpacked again
for model in "$cache"/uml/src-*/tools/memory-model; do
	[ ! -e "$model/linux-kernel.cat" ] || cp "$model"/*.* "$dir/model/"
done
[ -e "$dir/model/linux-kernel.cat" ] ||
	"$top/scripts/apt-private.sh" "$cache/apt" files linux-source-6.12 |
		tar -xOf - ./usr/src/linux-source-6.12.tar.xz |
		tar -xJf - -C "$dir/model" --strip-components=3 linux-source-6.12/tools/memory-model
cat > "$dir/herd7" << 'END'
#!/bin/sh
usr=${0%/*}/usr
exec "$usr/lib64/ld-linux-x86-64.so.2" --library-path "$usr/lib/x86_64-linux-gnu:$usr/lib" "$usr/bin/herd7" \
	-set-libdir "$usr/share/herdtools7/herd" -I "${0%/*}/model" -conf linux-kernel.cfg "$@"
END
chmod +x "$dir/herd7"
"$dir/herd7" -version > "$dir/version"
touch "$dir/done"
