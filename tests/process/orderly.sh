#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# orderly.sh - emurun runs a program that is built with the thread sanitizer: orderly.sh PROGRAM
# The sanitizer finds no race where libfabric gives an order, and still finds the program's own.
run=$EMU_SOURCE_DIR/tools/emurun program=$1 failed=0
[ "${EMU_TEST_PROVIDER:-emu}" = emu ] || { echo "skip orderly the provider under test is not emu"; exit 77; }

# verdict NAME OUTPUT WANTED: how many races were reported, and the exit status.
verdict() {
	local is

	if [[ $2 == *"unexpected memory mapping"* || $2 == *"personality"* ]]; then
		echo "skip $1 the thread sanitizer does not start here: $(echo "$2" | grep -m1 FATAL)"
		return
	fi
	is="$(grep -c 'WARNING: ThreadSanitizer: data race' <<<"$2") $(tail -n 1 <<<"$2")"
	if [[ $is =~ ^$3$ ]]; then
		echo "ok $1"
	else
		echo "$2" | head -n 40
		echo "not ok $1 is: $is"
		failed=1
	fi
}

verdict no_race_is_reported "$("$run" "$program" 2>&1; echo "[$?]")" '0 \[0\]'
verdict a_race_of_the_program_is "$("$run" "$program" race 2>&1; echo "[$?]")" '[1-9][0-9]* \[66\]'
verdict options_of_the_caller_stay "$(TSAN_OPTIONS=exitcode=7 "$run" "$program" race 2>&1; echo "[$?]")" '[1-9][0-9]* \[7\]'
exit $failed
