#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - runs the bench of the release build and holds emu to its figures; arguments go to emu-bench.
#
# Prints the table, then a line for each figure measured: `pass` or `short`, what it is and what it is to be.
# The figures: an 8-byte remote write between two spinning processes (half a round trip) within 1.3 times the raw TCP
# ping-pong; registering and closing a region of 64 B within 0.5 us where mr_mode is 0, and 1.5 us under
# FI_MR_ALLOCATED; 8-byte writes by a million random keys at 0.6 of the rate with ten, at least; a tagged message of
# 8 bytes within 1.15 times the write, each relative to raw TCP in its own rounds; tagged messages of 1 MiB at 0.95 of the
# writes' bandwidth, likewise; a process that has talked to nobody within 2 MiB above libfabric itself, and a thousand
# connected peers within 8 MiB.
# Exit status 0 only if something was measured and nothing fell short. EMU_BUILD names another folder than build/release.
set -eu

here=$(dirname "$(readlink -f "$0")")
build=${EMU_BUILD:-$here/../../build/release}
bench=$build/tests/bench/emu-bench
memory=$build/tests/bench/emu-memory

for file in "$bench" "$memory" "$build/emu/fi/libemu-fi.so"; do
	[ -e "$file" ] || { echo "run.sh: no $file: build the release preset first" >&2; exit 1; }
done
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

FI_PROVIDER_PATH=$build/emu/fi "$bench" --tsv "$rows" "$@"
FI_PROVIDER_PATH=$build/emu/fi "$memory" | tee -a "$rows"
# A row: benchmark, bytes, candidate, unit, median, lower and upper decile, time relative to raw TCP.
awk -F '\t' '
	function judge(good, text) {
		printf "%s: %s\n", good ? "pass" : "short", text
		judged++
		short += !good
	}
	$3 == "emu" { median[$1, $2] = $5; ratio[$1, $2] = $8 }
	END {
		if (("write latency", 8) in ratio)
			judge(ratio["write latency", 8] <= 1.3, "write latency is " ratio["write latency", 8] \
				" times the raw TCP ping-pong, to be within 1.3")
		if (("register and close, mr_mode 0", 64) in median)
			judge(median["register and close, mr_mode 0", 64] <= 0.5, "a region at mr_mode 0 takes " \
				median["register and close, mr_mode 0", 64] " us, to be within 0.5")
		if (("register and close", 64) in median)
			judge(median["register and close", 64] <= 1.5, "a region under FI_MR_ALLOCATED takes " \
				median["register and close", 64] " us, to be within 1.5")
		if (("write rate, 1000000 keys", 8) in median && median["write rate, 10 keys", 8] > 0) {
			share = median["write rate, 1000000 keys", 8] / median["write rate, 10 keys", 8]
			judge(share >= 0.6, sprintf("writes by a million keys reach %.2f of the rate with ten, " \
				"to be 0.6", share))
		}
		if (("tagged latency", 8) in median && ratio["write latency", 8] > 0) {
			share = ratio["tagged latency", 8] / ratio["write latency", 8]
			judge(share <= 1.15, sprintf("a tagged message takes %.3f times the write, to be within 1.15", share))
		}
		if (("tagged bandwidth", 1048576) in ratio && ratio["write bandwidth", 1048576] > 0) {
			share = ratio["write bandwidth", 1048576] / ratio["tagged bandwidth", 1048576]
			judge(share >= 0.95, sprintf("tagged messages of 1 MiB reach %.3f of the writes'\'' bandwidth, to be 0.95",
				share))
		}
		judge(median["memory idle", 0] <= 2048, "a process that has talked to nobody takes " \
			median["memory idle", 0] " KiB, to be within 2048")
		judge(median["memory peers", 1000] <= 8192, "a thousand connected peers take " \
			median["memory peers", 1000] " KiB, to be within 8192")
		if (!judged)
			print "short: no figure of emu was measured"
		exit !judged || short
	}' "$rows"
