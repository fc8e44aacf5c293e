#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# grow.sh - how latency, rate and memory grow, as tables and plots: grow.sh [--tiny] [FOLDER]
#
#   size       latency of a read, by its size from 1 B to 64 MiB, over emu, the provider tcp and raw TCP
#   window     rate of 8-byte writes and reads, by ops outstanding from 1 to 1024, over the same
#   peers      rate of 8-byte writes, by peers from 1 to 256, each a process on this machine
#   endpoints-tcp, endpoints-neighbours   the same, by endpoints of one other process, over emu, the provider tcp and shm
#   threads    the same, by threads that post, from 1 to 8
#   memory-peers, memory-regions   memory of a process, by peers from 1 to 1000, by regions from 1 to 1,000,000
#
# Each leaves NAME.tsv in FOLDER (build/grow): the number, then a column for each line of the plot; and NAME.svg, which
# gnuplot draws. By command only. --tiny: short runs, and no more than a few of everything. EMU_BUILD names another folder than
# build/release, LD_LIBRARY_PATH another libfabric than that of tools/setup.sh.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
. "$here/../../tools/lib.sh"
options=--tiny
take_help "$@"
find_libfabric
build=${EMU_BUILD:-$here/../../build/release}
bin=$build/tests/bench
export FI_PROVIDER_PATH=$build/emu/fi
blocks=9 ms=500 most=1000000
if [ "${1:-}" = --tiny ]; then
	blocks=2 ms=20 most=4
	shift
fi
folder=${1:-$here/../../build/grow}
[ -e "$bin/emu-grow" ] || { echo "grow.sh: no $bin/emu-grow: build the release preset first" >&2; exit 1; }
mkdir -p "$folder"

# numbers FIRST STEP LAST: multiplied by STEP each, as far as --tiny lets them.
numbers() {
	local n=$1

	while [ "$n" -le "$3" ] && [ "$n" -le "$most" ]; do
		echo "$n"
		n=$((n * $2))
	done
}

# plot NAME X Y LINE...: the columns from the second on. Both axes logarithmic.
plot() {
	local name=$1 x=$2 y=$3 column=2 lines=""
	shift 3

	echo "== $name"
	(printf '%s' "$x"; printf '\t%s' "$@"; echo) >"$folder/$name.head"
	cat "$folder/$name.head" "$folder/$name.tsv" | column -t -s "$(printf '\t')"
	rm "$folder/$name.head"
	command -v gnuplot >/dev/null || return 0
	for line; do
		lines="$lines${lines:+, }'$folder/$name.tsv' using 1:$column with linespoints title '$line'"
		column=$((column + 1))
	done
	gnuplot <<-END
		set terminal svg size 720,480
		set output '$folder/$name.svg'
		set datafile separator tab
		set datafile missing '-'
		set logscale xy
		set key top left
		set grid
		set xlabel '$x'
		set ylabel '$y'
		plot $lines
	END
}

# The rows of a sweep of emu-bench as a table: number, then the candidates' medians. sweep NAME BENCHMARK COLUMN
sweep() {
	awk -F '\t' -v bench="$2" -v column="$3" '
		index($1, bench) == 1 {
			if (!($column in seen))
				order[++count] = $column
			seen[$column] = 1
			median[$column, $3] = $5
		}
		function cell(n, who) { return ((n, who) in median) ? median[n, who] : "-" }
		END {
			for (i = 1; i <= count; i++)
				print order[i] "\t" cell(order[i], "emu") "\t" cell(order[i], "tcp") "\t" cell(order[i], "raw TCP")
		}' "$folder/rows" >"$folder/$1.tsv"
}

"$bin/emu-bench" --sweep size --blocks "$blocks" --providers emu,tcp --only "read latency" --tsv "$folder/rows" >/dev/null
sweep size "read latency" 2
plot size "bytes" "microseconds" emu tcp "raw TCP"
"$bin/emu-bench" --sweep window --blocks "$blocks" --providers emu,tcp --only rate --tsv "$folder/rows" >/dev/null
sweep window-writes "write rate" 9
plot window-writes "writes outstanding" "million a second" emu tcp
sweep window-reads "read rate" 9
plot window-reads "reads outstanding" "million a second" emu tcp "raw TCP"
rm "$folder/rows"

numbers 1 2 256 | while read -r n; do "$bin/emu-grow" peers "$n" "$ms"; done | cut -f 2,5 >"$folder/peers.tsv"
plot peers "processes written to" "million a second" emu
# rates PEERS FI_EMU_LOCAL PROVIDERS: a column for each, by emu_perf, whose providers take turns.
rates() {
	FI_EMU_LOCAL=$2 "$build/tools/perf/emu_perf" -t write_bw -P "$1" --compare "$3" --blocks "$blocks" \
		-D "$((blocks * ms / 1000 + 1))" | awk -v providers="$3" '
		NF > 5 && $3 ~ /^[0-9]+$/ { rate[$1] = $6 }
		END {
			count = split(providers, name, ",")
			for (i = 1; i <= count; i++)
				printf "\t%s", (name[i] in rate) ? rate[name[i]] : "-"
		}'
}

# endpoints NAME FI_EMU_LOCAL PROVIDERS [ALONE]: by endpoints of the other process. shm is measured in processes of its own: it puts
# handlers of its own over emu's guard against missing memory, and emu is slower beneath them.
endpoints() {
	local n

	numbers 1 4 1024 | while read -r n; do
		printf '%s%s%s\n' "$n" "$(rates "$n" "$2" "$3")" "${4:+$(rates "$n" "$2" "$4")}"
	done >"$folder/$1.tsv"
}

endpoints endpoints-tcp tcp emu,tcp
plot endpoints-tcp "endpoints written to" "million a second" emu tcp
endpoints endpoints-neighbours unix emu,tcp shm
plot endpoints-neighbours "endpoints written to" "million a second" emu tcp shm
numbers 1 2 8 | while read -r n; do "$bin/emu-grow" threads "$n" "$ms"; done | cut -f 2,5 >"$folder/threads.tsv"
plot threads "threads that post" "million a second" emu
numbers 1 10 1000 | while read -r n; do "$bin/emu-memory" --peers "$n"; done | cut -f 2,5 >"$folder/memory-peers.tsv"
plot memory-peers "peers" "KiB" emu
numbers 1 10 1000000 | while read -r n; do "$bin/emu-memory" --regions "$n"; done | cut -f 2,5 >"$folder/memory-regions.tsv"
plot memory-regions "regions" "KiB" emu

if command -v gnuplot >/dev/null; then
	echo "The plots are in $folder."
else
	echo "The tables are in $folder. For plots install gnuplot (Debian, Ubuntu: the package gnuplot-nox) and run this again."
fi
