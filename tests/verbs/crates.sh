#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# crates.sh - the tests of Rust's crates that use verbs, with as many threads as the machine has cores, and several at a time.
. "$(dirname "$0")/../../tools/lib.sh"
run=$EMU_ROOT/tools/emurun
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
[ -e "$EMU_CRATES/complete" ] ||
	{ echo "skip crates their tests are not built (tools/setup.sh --crates, with cargo and libclang)"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# NAME NUMBER: as many at once of the program of that crate.
together() {
	local i program=$EMU_CRATES/$1 started=() bad=0

	for ((i = 0; i < $2; i++)); do
		"$run" --sys "$program" >"$work/$i" 2>&1 &
		started+=($!)
	done
	for ((i = 0; i < $2; i++)); do
		wait "${started[i]}" || bad=$i failed=1
	done
	if [ -z "${failed:-}" ]; then
		echo "ok $1"
	else
		tail -n 40 "$work/$bad"
		echo "not ok $1 $(grep -E -m 1 'panicked|FAILED' "$work/$bad")"
		failed= status=1
	fi
}

# NAME: of that program one run of ten ends well. Its tests want completions within 10 ms, which a busy machine has now and then.
sometimes() {
	local try

	for ((try = 0; try < 10; try++)); do
		"$run" --sys "$EMU_CRATES/$1" >"$work/0" 2>&1 && { echo "ok $1"; return; }
	done
	tail -n 40 "$work/0"
	echo "not ok $1 $(grep -E -m 1 'panicked|FAILED' "$work/0")"
	status=1
}

for program in "$EMU_CRATES"/*/*; do
	name=${program#"$EMU_CRATES/"}
	case $name in
	sideway/test_post_send | sideway/test_atomic) sometimes "$name" ;;
	sideway/sideway) together "$name" 1 ;; # one of its tests binds an id to number 8080
	*) together "$name" 3 ;;
	esac
done
exit ${status:-0}
