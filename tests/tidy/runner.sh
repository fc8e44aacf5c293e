#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# runner.sh - what tests/runner.sh tells of tests: each that fails with its reason, in build/results. runner.sh FAILING, the
# program of failing.c.
failed=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-runner.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT

# results KIND COMMAND...: the lines that the runner appends for it, without the files' folders and line numbers.
results() {
	: >"$scratch/results"
	EMU_SUITE='' EMU_RESULTS=$scratch/results "$EMU_SOURCE_DIR/tests/runner.sh" "$EMU_BUILD" 60 told "$@" >"$scratch/out" 2>&1
	sed -E 's/^([a-z]+) told: /\1 /; s/[^ ]*(failing.c):[0-9]+/\1:N/g' "$scratch/results"
}

# told NAME LINE LINES: LINE is one of the lines.
told() {
	if grep -qxF "$2" <<<"$3"; then
		echo "ok $1"
	else
		printf 'is:     %s\nwanted: %s\n' "$3" "$2"
		echo "not ok $1"
		failed=1
	fi
}

lines=$(results criterion "$1")
told passed 'pass failing::passes' "$lines"
told skipped 'skip failing::is_skipped no such thing here' "$lines"
told text 'fail failing::says_why failing.c:N: Assertion failed: the key is of another region' "$lines"
told expression 'fail failing::says_what failing.c:N: Assertion failed: The expression keys == 4 is false.' "$lines"
told both 'fail failing::says_both failing.c:N: Assertion failed: second; failing.c:N: Assertion failed: first' "$lines"
told signal 'fail failing::dies unexpected signal after failing.c:N' "$lines"
told exit 'fail failing::leaves exited before its end, and said nothing' "$lines"
told hung 'fail failing::hangs timed out (1.01s)' "$(sed 's/([0-9.]*s)/(1.01s)/' <<<"$lines")"
told each 8 "$(wc -l <<<"$lines")"

lines=$(results script sh -c 'echo "ok one"; echo "is: 3"; echo "not ok two"; echo "not ok three for some reason"; exit 1')
told script $'fail two is: 3' "$lines"
told script_reason 'fail three for some reason' "$lines"
told script_passed 'pass one' "$lines"
told status 'fail exit status 53: it said nothing' "$(results script sh -c 'exit 53')"
told last 'fail exit status 53: Error: no window' \
	"$(results script sh -c 'echo working; echo "Error: no window"; echo ----; printf "\0\n\n"; exit 53')"
told skip 'skip all: no such thing here' "$(results script sh -c 'echo no such thing here; exit 77')"
exit $failed
