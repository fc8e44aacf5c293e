#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# two_libraries.sh - a program of libfabric whose own provider for verbs opens emu0, so that both of emu's libraries are in one
# process: races with the CPU are found all the same. two_libraries.sh RACE_FI.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/lib.sh"
take_help "${1:-}"
program=$1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
library=$(ldconfig -p | awk '$1 == "libfabric.so.1" { print $NF; exit }')
[ "$library" ] || { echo "skip both_are_there there is no libfabric of the distribution"; exit 0; }
export LD_LIBRARY_PATH=${library%/*}
FI_PROVIDER=verbs "$EMU_ROOT/tools/emurun" fi_info -l 2>/dev/null | grep -q '^verbs' ||
	{ echo "skip both_are_there this libfabric has no provider for verbs"; exit 0; }

# told NAME: in how many of six runs a race is told
told() {
	local seed count=0

	for seed in 1 2 3 4 5 6; do
		FI_EMU_CHECK=races,seed=$seed "$EMU_ROOT/tools/emurun" --check --report "$work/report.json" "$program" "$1" \
			>"$work/out" 2>&1
		! grep -q '"operation-load"' "$work/report.json" || count=$((count + 1))
	done
	echo $count
}

racy=$(told word-loaded-once-when-told-early)
right=$(told word-loaded-once-when-delivered)
[ "$racy" = 0 ] && echo "not ok the_race_is_told" || echo "ok the_race_is_told"
[ "$right" = 0 ] && echo "ok no_other_is" || echo "not ok no_other_is $right of 6"
[ "$racy" != 0 ] && [ "$right" = 0 ]
