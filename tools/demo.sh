#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh - shows the emulated NIC at work between two processes: demo.sh [FILE]
#
# Installs what is missing, builds the release preset, and then: a remote write and read back of FILE (default: the
# built provider itself), a thousand reads of a target that sleeps, and six refused operations, each with its sentence
# on both sides. Exit status 0 only if all went as stated.
#
# EMU_BUILD=folder: nothing is installed or built; the programs are taken from that build folder. The same goes for a
# finished build/release that the user may not write to.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/lib.sh"

build=${EMU_BUILD:-$EMU_ROOT/build/release}
target=$build/tools/demo/demo-target
initiator=$build/tools/demo/demo-initiator
provider=$build/emu/fi/libemu-fi.so

is_built() {
	[ -x "$target" ] && [ -x "$initiator" ] && [ -e "$provider" ]
}

may_build() {
	[ -z "${EMU_BUILD:-}" ] && { ! is_built || [ -w "$build" ]; }
}

build_all() {
	local log=$EMU_ROOT/build/demo.log

	"$EMU_ROOT/tools/setup.sh"
	mkdir -p "$EMU_ROOT/build"
	(cd "$EMU_ROOT" && cmake --preset release &&
		cmake --build --preset release --target emu-fi demo-target demo-initiator) >"$log" 2>&1 ||
		{ tail -n 40 "$log" >&2; die "the build failed; all of it is in $log"; }
}

# KILL: the psm library that Debian's libfabric loads catches TERM, and hangs if it comes while libfabric starts.
kill_target() {
	kill -KILL "$target_pid" 2>/dev/null || :
}

# The two processes, joined by two FIFOs. Both logs go to files: the initiator looks into the target's.
run_job() {
	local file=$1 status=0

	mkfifo "$scratch/questions" "$scratch/answers"
	FI_LOG_LEVEL=warn EMU_BUILD=$build "$EMU_ROOT/tools/emurun" \
		"$target" "$scratch/questions" "$scratch/answers" 2>"$scratch/target.log" &
	target_pid=$!
	FI_LOG_LEVEL=warn EMU_BUILD=$build "$EMU_ROOT/tools/emurun" \
		"$initiator" "$scratch/questions" "$scratch/answers" "$file" "$scratch/target.log" \
		2>"$scratch/initiator.log" || status=1
	[ $status = 0 ] || kill_target
	wait $target_pid || status=1
	target_pid=
	if [ $status != 0 ]; then
		tail -n 20 "$scratch/target.log" | sed 's/^/target log:    /'
		tail -n 20 "$scratch/initiator.log" | sed 's/^/initiator log: /'
	fi
	return $status
}

clean_up() {
	[ -z "$target_pid" ] || kill_target
	rm -rf "$scratch"
}

[ $# -le 1 ] || die "usage: demo.sh [FILE]"
file=${1:-$provider}
if may_build; then
	build_all
fi
is_built || die "$build is not a finished build"
[ -r "$file" ] && [ -f "$file" ] || die "$file is not a file that can be read"
target_pid=
scratch=$(mktemp -d)
trap clean_up EXIT
run_job "$file" || die "not all went as stated"
echo "demo       all went as stated"
