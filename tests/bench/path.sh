#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# path.sh - how many instructions of ours each part of the hot path takes: path.sh EMU_PATH ROUNDS [judge]
#
# Counted by callgrind, so that nothing depends on what else the machine does; the kernel's are not seen. A part is a function
# of path.c, with all that it calls. With `judge` each is held to a figure, which leaves room for another compiler and libc:
# they are for gcc and x86-64, and for builds in which the provider is optimised as one program.
set -euo pipefail

program=$1 rounds=$2
if ! command -v valgrind >/dev/null; then
	echo "skip path valgrind is not installed"
	exit 77
fi
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT
valgrind --quiet --tool=callgrind --callgrind-out-file="$counts" "$program" "$rounds" >/dev/null
callgrind_annotate --inclusive=yes --threshold=100 --auto=no "$counts" | awk -v rounds="$rounds" -v judged="${3:-}" '
	BEGIN {
		# Runs in so many rounds, and at most so many instructions each.
		part("write_post", 2 * rounds, 2350)
		part("write_take", 2 * rounds, 2550)
		part("receive_post", 2 * rounds, 1000)
		part("send_post", 2 * rounds, 2200)
		part("send_take", 2 * rounds, 2600)
		part("window_post", 64 * int(rounds / 8), 3300)
		part("window_take", 64 * int(rounds / 8), 350)
		part("poll_empty", rounds, 900)
	}
	function part(name, runs, most) {
		names[++parts] = name
		runs_of[name] = runs
		most_of[name] = most
	}
	match($0, /path\.c:[a-z_]+/) {
		name = substr($0, RSTART + 7, RLENGTH - 7)
		count = $1
		gsub(",", "", count)
		if (name in runs_of && !(name in counted))
			counted[name] = count / runs_of[name]
	}
	END {
		for (i = 1; i <= parts; i++) {
			name = names[i]
			good = counted[name] > 0 && (!judged || counted[name] <= most_of[name])
			failed += !good
			printf "%s %s: %d instructions", good ? "ok" : "not ok", name, counted[name]
			print judged ? ", at most " most_of[name] : ""
		}
		exit failed > 0
	}'
