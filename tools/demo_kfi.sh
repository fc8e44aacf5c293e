#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo_kfi.sh - shows a kernel-style client of kfabric and a program of libfabric that reach for each other's memory: demo_kfi.sh
#
# The module tools/demo/kfi_region.c runs under emu_insmod and offers a page. The program tools/demo/kfi_peer.c writes to it,
# reads it back, and is refused past its end; then the module reads the program's memory. Exit status 0 only if all went as
# stated.
#
# Installs what the build needs, and builds in build/demo, or build/release where that has been configured. EMU_BUILD=folder:
# nothing is installed or built; the programs come from there.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/lib.sh"
take_help "$@"

build=${EMU_BUILD:-}
if [ -z "$build" ]; then
	build=$EMU_ROOT/build/release
	[ -e "$build/CMakeCache.txt" ] || build=$EMU_ROOT/build/demo
	echo "builds in $build"
	"$EMU_ROOT/tools/setup.sh" --build
	mkdir -p "$EMU_ROOT/build"
	(cd "$EMU_ROOT" && { [ -e "$build/CMakeCache.txt" ] || cmake --preset "${build##*/}"; } &&
		cmake --build "$build" --target emu-fi emu_insmod kfi_region kfi_peer) >"$EMU_ROOT/build/demo_kfi.log" 2>&1 ||
		die "the build failed; all of it is in $EMU_ROOT/build/demo_kfi.log"
fi
export EMU_BUILD=$build

scratch=$(mktemp -d)
module_pid=
end() {
	[ -z "$module_pid" ] || kill -KILL "$module_pid" 2>/dev/null || :
	rm -rf "$scratch"
}
trap end EXIT

exec {log}< <(FI_LOG_LEVEL=warn exec "$EMU_ROOT/tools/emurun" "$build/emu/kfi/insmod/emu_insmod" \
	"$build/tools/demo/kfi_region.so" 2>&1)
module_pid=$!
address=
while [ -z "$address" ] && IFS= read -r line <&"$log"; do
	echo "$line" >>"$scratch/module"
	address=$(sed -n 's/.*with key \(0x[0-9a-f]*\) at \([0-9a-f]*\)$/\2 \1/p' <<<"$line")
done
[ -n "$address" ] || { cat "$scratch/module" >&2; die "the module did not start"; }

status=0
# shellcheck disable=SC2086 # two words
"$EMU_ROOT/tools/emurun" "$build/tools/demo/kfi_peer" $address >"$scratch/peer" 2>&1 || status=1
# The peer counts a read when its device has served it; the module hears of it later.
while [ $status -eq 0 ] && IFS= read -r line <&"$log"; do
	echo "$line" >>"$scratch/module"
	[[ "$line" != *"the peer's memory says"* ]] || break
done
kill -INT $module_pid
cat <&"$log" >>"$scratch/module"
wait $module_pid || status=1
module_pid=

echo "The module, under emu_insmod:"
sed 's/^/    /' "$scratch/module"
echo "The program of libfabric:"
sed 's/^/    /' "$scratch/peer"
expect() {
	grep -q "$2" "$scratch/$1" || { echo "demo_kfi.sh: the $1 does not say: $2" >&2; status=1; }
}
expect peer "read of the module's page: done"
expect peer 'write past its end: refused: .*(S65)'
expect module '(S65)'
expect module "the peer's memory says: a text in the program's memory"
expect module 'the page says: greetings from user space'
[ $status -ne 0 ] || echo "All as stated."
exit $status
