#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# gloo.sh - Debian's libgloo: three ranks that send to each other over its transport ibverbs.
run=$EMU_SOURCE_DIR/tools/emurun
[ -e /usr/include/gloo/transport/ibverbs/device.h ] || { echo "skip gloo libgloo-dev is not installed"; exit 77; }
command -v c++ >/dev/null || { echo "skip gloo no C++ compiler on this machine"; exit 77; }
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/store"
c++ -o "$work/gloo" "$(dirname "$0")/gloo.cc" -lgloo -libverbs -pthread || { echo "not ok compiles"; exit 1; }

started=()
for rank in 0 1 2; do
	"$run" "$work/gloo" $rank 3 "$work/store" 0 >"$work/$rank" 2>&1 &
	started+=($!)
done
for rank in 0 1 2; do
	if wait "${started[rank]}"; then
		echo "ok rank_$rank"
	else
		echo "not ok rank_$rank $(tail -n 3 "$work/$rank" | tr '\n' ' ')"
		status=1
	fi
done
exit ${status:-0}
