#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - fuzzes every target for so many seconds, two at a time, under address and undefined-behaviour sanitizers:
#   run.sh [SECONDS] [TARGET...]		60 s and all of them unless told otherwise
#   run.sh --keep [TARGET...]		takes what was found into the corpus of the tree, reduced to what reaches more
#
# The targets and their inputs: stream.c, codec.c, datagram.c, rdma.c, responder.c for what peers send; ring.c (ring_input.py makes
# an input), report.c, plan.c, request.c for files and requests. The corpus in the tree is where each begins, with real
# files of small size in corpus/real; what a run finds beside it stays in build/fuzz/corpus. Prints `ok`, or `not ok` and
# where the input lies that fails, for each target, with its executions.
. "$(dirname "$0")/../../tools/lib.sh"

TARGETS="stream codec datagram rdma responder ring report plan request"
JOBS=2
BINARIES=$EMU_ROOT/build/fuzz/tests/fuzz
FOUND=$EMU_ROOT/build/fuzz/corpus
HERE=$EMU_ROOT/tests/fuzz

# The quarantine of freed memory is small: an input frees little, and new pages take longer than the input.
export ASAN_OPTIONS=quarantine_size_mb=1:allocator_release_to_os_interval_ms=-1:malloc_context_size=5

# Bytes of an input: real files are longer than frames.
input_max() {
	case $1 in
	ring) echo 10240 ;;
	report) echo 4096 ;;
	*) echo 2048 ;;
	esac
}

fuzz() {
	local target=$1 log=$FOUND/$1.log begin=("$HERE/corpus/$1")

	[ ! -d "$HERE/corpus/real/$target" ] || begin+=("$HERE/corpus/real/$target")
	if "$BINARIES/fuzz_$target" -max_total_time="$seconds" -max_len="$(input_max "$target")" \
		-print_final_stats=1 -artifact_prefix="$FOUND/$target-" "$FOUND/$target" "${begin[@]}" >"$log" 2>&1; then
		echo "ok $target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions"
	else
		grep -E 'ERROR|not so|SUMMARY|Test unit written' "$log" >&2
		echo "not ok $target: see $log"
		return 1
	fi
}

# The golden frames, and what reaches more than they do.
keep() {
	local target=$1 kept

	kept=$(mktemp -d) && mkdir -p "$HERE/corpus/$target" || return
	"$BINARIES/fuzz_$target" -set_cover_merge=1 -use_counters=0 -max_len="$(input_max "$target")" \
		"$kept" "$HERE/corpus/$target" "$FOUND/$target" 2>&1 | tail -n 1
	rm -rf "${HERE:?}/corpus/$target"
	mv "$kept" "$HERE/corpus/$target"
	chmod 755 "$HERE/corpus/$target"
}

options=--keep
take_help "$@"
verb=fuzz
seconds=60
if [ "${1:-}" = --keep ]; then
	verb=keep
	shift
elif [[ ${1:-} =~ ^[0-9]+$ ]]; then
	seconds=$1
	shift
fi
command -v clang >/dev/null || die "clang is not installed"
build_target fuzz fuzzers || exit 1
for target in $TARGETS; do mkdir -p "$FOUND/$target"; done
[ $verb = fuzz ] || "$BINARIES/fuzz_seeds" "$FOUND" || exit 1
failed=0
for target in ${*:-$TARGETS}; do
	[ -x "$BINARIES/fuzz_$target" ] || die "no target $target; there are: $TARGETS"
	while [ "$(jobs -rp | wc -l)" -ge $JOBS ]; do
		wait -n || failed=1
	done
	$verb "$target" &
done
while [ -n "$(jobs -p)" ]; do
	wait -n || failed=1
done
exit $failed
