#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# checked.sh - checked mode finds in libfabric's own tests what checked.expect says, and nothing else.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/lib.sh"
take_help "$@"
[ "${EMU_TEST_PROVIDER:-emu}" = emu ] || { echo "skip checked another provider has no checked mode"; exit 77; }

out=$(mktemp "${TMPDIR:-/tmp}/emu-checked.XXXXXX") || exit 1
trap 'rm -f "$out"' EXIT
"$EMU_SOURCE_DIR/tools/emurun" --check --expect "$here/checked.expect" \
	"$here/run.sh" strict unit functional >"$out" 2>&1
status=$?
if [ $status = 77 ]; then
	grep '^skip' "$out"
elif [ $status = 0 ]; then
	echo "ok fabtests_checked"
else
	tail -n 40 "$out"
	echo "not ok fabtests_checked emurun ended with $status"
fi
exit $status
