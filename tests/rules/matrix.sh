#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# matrix.sh - emu_rules against emu in every combination that it must hold in: both personalities, each API version that
# the running libfabric has, and the mr_mode bits alone, all together and none: matrix.sh [BUILD_FOLDER]
#
# Prints a line for each, and the tests that failed. Exit status 0 only if none did.
set -u

here=$(dirname "$(readlink -f "$0")")
. "$here/../../tools/lib.sh"
take_help "$@"
build=${1:-${EMU_BUILD:-$here/../../build/release}}
kit=$build/tests/rules/emu_rules
failed=0

[ -x "$kit" ] || { echo "matrix.sh: no $kit: build first" >&2; exit 2; }
for personality in strict lax; do
	for api in 1.8 1.17 2.1; do
		for mode in none local raw virt_addr allocated prov_key mmu_notify rma_event endpoint hmem collective basic all; do
			out=$(FI_EMU_PERSONALITY=$personality "$kit" -p emu --api $api --mode $mode 2>&1)
			status=$?
			if [ $status = 2 ]; then
				echo "skip $personality, API $api, $mode: $(echo "$out" | tail -n 1)"
				continue
			fi
			[ $status = 0 ] || failed=1
			echo "$personality, API $api, $mode: $(echo "$out" | tail -n 1)"
			echo "$out" | grep ' FAIL' | grep -v '^[0-9]* pass'
		done
	done
done
exit $failed
