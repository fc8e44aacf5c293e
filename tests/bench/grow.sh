#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# grow.sh - how latency, rate and memory grow, as tables and plots: grow.sh [--tiny] [FOLDER]
#
#   size       latency of a read, by its size from 1 B to 64 MiB, over emu, the providers tcp and shm, and raw TCP
#   window-writes, window-reads   rate of 8-byte writes and reads, by ops outstanding from 1 to 1024, over the same
#   peers      rate of 8-byte writes, by peers from 1 to 256, each a process on this machine, over emu
#   endpoints-tcp, endpoints-neighbours   the same, by endpoints of one other process, over emu and tcp; neighbours over shm, too
#   threads-writes, threads-messages   rate of 8-byte writes, 64 outstanding, and of 64-byte messages, one at a time, by threads
#              from 1 to 8 with an endpoint each, over emu, tcp and shm
#   memory-peers, memory-regions   memory of a process over emu, by peers from 1 to 1000, by regions from 1 to 1,000,000
#
# Each leaves NAME.tsv in FOLDER (build/grow): the number, then a column for each line of the plot; and NAME.svg, which
# gnuplot draws. `-` in a table is what could not be measured. `grow.sh tests/bench/plots` draws what RESULTS.md shows. By command
# only. Takes about eight minutes. --tiny: short runs, and no more than a few of everything. EMU_BUILD names another folder than
# build/release, LD_LIBRARY_PATH another libfabric than that of tools/setup.sh. Exit status 0 only if all of emu was measured.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
. "$here/../../tools/lib.sh"
options=--tiny
take_help "$@"
find_libfabric
build=${EMU_BUILD:-$here/../../build/release}
bin=$build/tests/bench
export FI_PROVIDER_PATH=$build/emu/fi
blocks=9 ms=500 most=1000000 failed=0
if [ "${1:-}" = --tiny ]; then
	blocks=2 ms=20 most=4
	shift
fi
folder=${1:-$here/../../build/grow}
[ -e "$bin/emu-grow" ] || { echo "grow.sh: no $bin/emu-grow: build the release preset first" >&2; exit 1; }
mkdir -p "$folder"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# numbers FIRST STEP LAST: multiplied by STEP each, as far as --tiny lets them.
numbers() {
	local n=$1

	while [ "$n" -le "$3" ] && [ "$n" -le "$most" ]; do
		echo "$n"
		n=$((n * $2))
	done
}

# plot NAME X Y LINE...: the columns from the second on, of which the first is emu's. Both axes logarithmic.
plot() {
	local name=$1 x=$2 y=$3 column=2 lines=""
	shift 3

	echo "== $name"
	(printf '%s' "$x"; printf '\t%s' "$@"; echo; cat "$folder/$name.tsv") | column -t -s "$(printf '\t')"
	if cut -f 2 "$folder/$name.tsv" | grep -qx -e -; then
		echo "grow.sh: $name: emu could not be measured" >&2
		failed=1
		return 0
	fi
	command -v gnuplot >/dev/null || return 0
	for line; do
		lines="$lines${lines:+, }'$folder/$name.tsv' using 1:$column:xtic(1) with linespoints title '$line'"
		column=$((column + 1))
	done
	gnuplot <<-END
		set terminal svg size 720,480 background 'white'
		set output '$folder/$name.svg'
		set datafile separator tab
		set datafile missing '-'
		set logscale xy
		set xrange [1:1.1 * $(tail -n 1 "$folder/$name.tsv" | cut -f 1)]
		set key outside top center horizontal
		set xtics rotate by 45 right
		set grid
		set title '$name'
		set xlabel '$x'
		set ylabel '$y'
		plot $lines
	END
}

# sweep KIND BENCHMARKS: the rows of a sweep of emu-bench. shm is measured in processes of its own, here and below: it puts
# handlers of its own over emu's guard against missing memory, and emu is slower beneath them.
sweep() {
	local bench=("$bin/emu-bench" --sweep "$1" --blocks "$blocks" --only "$2")

	"${bench[@]}" --providers emu,tcp --tsv "$scratch/rows" >/dev/null
	"${bench[@]}" --providers shm --tsv "$scratch/rows-shm" >/dev/null || : >"$scratch/rows-shm"
}

# columns NAME BENCHMARK COLUMN PROVIDER...: these rows as a table: number, then the providers' medians. Raw TCP is that beside emu.
columns() {
	local name=$1 bench=$2 column=$3

	shift 3
	awk -F '\t' -v bench="$bench" -v column="$column" -v names="$(printf '%s\t' "$@")" '
		index($1, bench) != 1 || ($column, $3) in median { next }
		{
			if (!($column in seen))
				order[++count] = $column
			seen[$column] = 1
			median[$column, $3] = $5
		}
		END {
			names_count = split(names, name, "\t") - 1
			for (i = 1; i <= count; i++) {
				printf "%s", order[i]
				for (j = 1; j <= names_count; j++)
					printf "\t%s", (order[i], name[j]) in median ? median[order[i], name[j]] : "-"
				print ""
			}
		}' "$scratch/rows" "$scratch/rows-shm" >"$folder/$name.tsv"
}

sweep size "read latency"
columns size "read latency" 2 emu tcp shm "raw TCP"
plot size "bytes" "microseconds" emu tcp shm "raw TCP"
sweep window rate
columns window-writes "write rate" 9 emu tcp shm
plot window-writes "writes outstanding" "million a second" emu tcp shm
columns window-reads "read rate" 9 emu tcp shm "raw TCP"
plot window-reads "reads outstanding" "million a second" emu tcp shm "raw TCP"

numbers 1 2 256 | while read -r n; do "$bin/emu-grow" "$n" "$ms"; done | cut -f 2,5 >"$folder/peers.tsv"
plot peers "processes written to" "million a second" emu

# rates FI_EMU_LOCAL PROVIDERS ARGUMENT...: a column for each provider, by emu_perf, whose providers take turns.
rates() {
	local place=$1 providers=$2 total=$((blocks * ms))

	shift 2
	FI_EMU_LOCAL=$place "$build/tools/perf/emu_perf" --compare "$providers" --blocks "$blocks" \
		-D "$((total / 1000)).$(printf '%03d' $((total % 1000)))" "$@" | awk -v providers="$providers" '
		NF > 5 && $3 ~ /^[0-9]+$/ { rate[$1] = $6 }
		END {
			count = split(providers, name, ",")
			for (i = 1; i <= count; i++)
				printf "\t%s", (name[i] in rate) ? rate[name[i]] : "-"
		}'
}

# by_number NAME FI_EMU_LOCAL ALONE ARGUMENT...: a row for each number of the input, which is emu_perf's last argument. ALONE is
# the provider that has processes of its own, or empty.
by_number() {
	local name=$1 place=$2 alone=$3 n

	shift 3
	while read -r n; do
		printf '%s%s%s\n' "$n" "$(rates "$place" emu,tcp "$@" "$n")" "${alone:+$(rates "$place" "$alone" "$@" "$n")}"
	done >"$folder/$name.tsv"
}

numbers 1 4 1024 | by_number endpoints-tcp tcp "" -t write_bw -P
plot endpoints-tcp "endpoints written to" "million a second" emu tcp
numbers 1 4 1024 | by_number endpoints-neighbours unix shm -t write_bw -P
plot endpoints-neighbours "endpoints written to" "million a second" emu tcp shm
# One thread is not pinned either, so that all rows are alike.
numbers 1 2 8 | by_number threads-writes unix shm -t write_bw --pin no -T
plot threads-writes "threads that write" "million a second" emu tcp shm
numbers 1 2 8 | by_number threads-messages unix shm -t send_bw -s 64 -w 1 --pin no -T
plot threads-messages "threads that send" "million a second" emu tcp shm
numbers 1 10 1000 | while read -r n; do "$bin/emu-memory" --peers "$n"; done | cut -f 2,5 >"$folder/memory-peers.tsv"
plot memory-peers "peers" "KiB" emu
numbers 1 10 1000000 | while read -r n; do "$bin/emu-memory" --regions "$n"; done | cut -f 2,5 >"$folder/memory-regions.tsv"
plot memory-regions "regions" "KiB" emu

if command -v gnuplot >/dev/null; then
	echo "The plots are in $folder."
else
	echo "The tables are in $folder. For plots install gnuplot (Debian, Ubuntu: the package gnuplot-nox) and run this again."
fi
exit $failed
