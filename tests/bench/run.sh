#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - runs the bench of the release build and holds emu to its one figure; arguments go to emu-bench.
#
# The figure: an 8-byte remote write between two spinning processes (half a round trip) within 1.3 times the raw TCP
# ping-pong. Prints the table, then `pass` or `short` with the ratio. Exit status 0 only for `pass`.
# EMU_BUILD names another build folder than build/release.
set -eu

here=$(dirname "$(readlink -f "$0")")
build=${EMU_BUILD:-$here/../../build/release}
bench=$build/tests/bench/emu-bench
within=1.3

for file in "$bench" "$build/emu/fi/libemu-fi.so"; do
	[ -e "$file" ] || { echo "run.sh: no $file: build the release preset first" >&2; exit 1; }
done
rows=$(mktemp)
trap 'rm -f "$rows"' EXIT

FI_PROVIDER_PATH=$build/emu/fi "$bench" --tsv "$rows" "$@"
awk -F '\t' -v within=$within '
	$1 == "write latency" && $3 == "emu" {
		found = 1
		good = $8 <= within
		printf "%s: emu write latency is %s times the raw TCP ping-pong, to be within %s\n",
			good ? "pass" : "short", $8, within
	}
	END {
		if (!found)
			print "short: no write latency of emu was measured"
		exit !good
	}' "$rows"
