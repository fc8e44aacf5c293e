#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# path.sh - how many instructions of ours each part of the hot path takes: path.sh EMU_PATH ROUNDS [unix|tcp]
#
# Counted by callgrind, so that nothing depends on what else the machine does; the kernel's are not seen. A part is a function
# of path.c, with all that it calls. With `unix` or `tcp` both ends are connected that way (FI_EMU_LOCAL), and each part is held
# to a figure of that, which leaves room for another compiler and libc: they are for gcc and x86-64, and for builds in which the
# provider is optimised as one program. Where the kernel holds back what was sent, a take polls until it comes: so what is over
# its figure is counted again, up to twice. Where a yield takes longer than YIELDED_NS under callgrind, as if somebody else had
# run, every second empty poll yields: 60 instructions a poll more.
set -euo pipefail

program=$1 rounds=$2 judged=${3:-}
if [ "$judged" ]; then
	export FI_EMU_LOCAL=$judged
fi
if ! command -v valgrind >/dev/null; then
	echo "skip path valgrind is not installed"
	exit 77
fi
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

count() {
	valgrind --quiet --tool=callgrind --callgrind-out-file="$counts" "$program" "$rounds" >/dev/null
	callgrind_annotate --inclusive=yes --threshold=100 --auto=no "$counts" | awk -v rounds="$rounds" -v judged="$judged" '
	BEGIN {
		# Runs in so many rounds, and at most so many instructions each: neighbours, and over TCP.
		part("write_post", 2 * rounds, 1620, 1470)
		part("write_take", 2 * rounds, 2210, 2025)
		part("receive_post", 2 * rounds, 680, 680)
		part("send_post", 2 * rounds, 1550, 1400)
		part("send_take", 2 * rounds, 2380, 2200)
		part("window_post", 64 * int(rounds / 8), 2220, 2150)
		part("window_take", 64 * int(rounds / 8), 350, 350)
		part("poll_empty", rounds, 540, 540)
	}
	function part(name, runs, most, most_over_tcp) {
		names[++parts] = name
		runs_of[name] = runs
		most_of[name] = judged == "tcp" ? most_over_tcp : most
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
}

passed=
for _ in 1 2 3; do
	if result=$(count); then
		passed=1
		break
	fi
done
echo "$result"
[ "$passed" ]
