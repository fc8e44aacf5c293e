#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo.sh - shows the emulated NIC at work between two processes: demo.sh [FILE]
#
# Installs what is missing to build the provider alone, builds it in build/demo, and then: a remote write and read back of FILE
# (default: the built provider itself), a thousand reads of a target that sleeps, and six refused operations, each with its
# sentence on both sides. Exit status 0 only if all went as stated.
#
# If the release preset has been built, for the tests or by hand, that build is brought up to date and used instead.
# EMU_BUILD=folder: nothing is installed or built; the programs come from that build folder. The same goes for a finished
# build/release that the user may not write to.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/lib.sh"

take_build() {
	build=$1
	target=$build/tools/demo/demo-target
	initiator=$build/tools/demo/demo-initiator
	provider=$build/emu/fi/libemu-fi.so
}

is_built() {
	[ -x "$target" ] && [ -x "$initiator" ] && [ -e "$provider" ]
}

may_build() {
	[ -z "${EMU_BUILD:-}" ] && { ! is_built || [ -w "$build" ]; }
}

progress() {
	printf '%-10s %s\n' "$1" "$2"
}

build_all() {
	local preset=${build##*/} log=$EMU_ROOT/build/demo.log

	progress set-up "looking for what the build needs"
	"$EMU_ROOT/tools/setup.sh" --build
	progress build "$build (the log: $log)"
	mkdir -p "$EMU_ROOT/build"
	(cd "$EMU_ROOT" && { [ -e "$build/CMakeCache.txt" ] || cmake --preset "$preset" -DEMU_WERROR="${EMU_WERROR:-OFF}"; } &&
		cmake --build "$build" --target emu-fi demo-target demo-initiator) >"$log" 2>&1 ||
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

take_help "$@"
[ $# -le 1 ] || usage_error "more than one file: $*"
take_build "${EMU_BUILD:-$EMU_ROOT/build/release}"
[ -n "${EMU_BUILD:-}" ] || is_built || take_build "$EMU_ROOT/build/demo"
if may_build; then
	build_all
fi
file=${1:-$provider}
is_built || die "$build is not a finished build"
[ -r "$file" ] && [ -f "$file" ] || die "$file is not a file that can be read"
target_pid=
scratch=$(mktemp -d)
trap clean_up EXIT
run_job "$file" || die "not all went as stated"
echo "demo       all went as stated"
