#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# verbs.sh - perftest's tools over emu beside emu_perf over emu, which does the same by libfabric, in turns: verbs.sh [ROUNDS]
#
# Between two processes of this machine, each with a core of its own, by Unix sockets and shared memory and then by TCP. Prints a
# row for each tool: the medians of 5 rounds, and how much longer perftest's takes: `pass` up to 1.3 times, else `short`. The last
# rows are of UD messages beside datagrams of a bare socket, and of connections by rdma_cm beside queue pairs that are connected by
# hand: `pass` up to twice as long. Exit status 1 if one is short, 77 where perftest is not installed or there is one core.
# EMU_BUILD names another folder than build/release.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
. "$here/../../tools/lib.sh"
take_help "$@"
rounds=${1:-5}
EMU_BUILD=${EMU_BUILD:-$EMU_ROOT/build/release}
export EMU_BUILD
find_libfabric
command -v ib_write_lat >/dev/null || { echo "skip verbs perftest is not installed"; exit 77; }
# Two processors that this shell may use.
read -r -d '' first second _ < <(taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' |
	while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done) || true
[ -n "$second" ] || { echo "skip verbs each process takes a core of its own"; exit 77; }
run=$EMU_ROOT/tools/emurun
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
port=$((10000 + $$ % 20000))

# perftest TOOL COLUMN OPTION...: a figure of its table.
perftest() {
	local tool=$1 column=$2 server
	shift 2

	port=$((port + 1))
	taskset -c "$first" "$run" "ib_$tool" -x 0 -F -p $port "$@" >"$scratch/server" 2>&1 &
	server=$!
	until grep -qi ":$(printf %04X $port) [0-9A-F:]* 0A" /proc/net/tcp /proc/net/tcp6; do
		kill -0 $server || { cat "$scratch/server" >&2; return 1; }
		sleep 0.05
	done
	taskset -c "$second" "$run" "ib_$tool" -x 0 -F -p $port "$@" 127.0.0.1 >"$scratch/client" 2>&1
	wait $server
	awk -v column="$column" '/^ #bytes/ { getline; print $column }' "$scratch/client"
}

# emu_perf TEST OPTION...: the median of the single ops, as perftest has it, or the bandwidth.
emu_perf() {
	"$run" emu_perf -t "$@" --json | sed -nE 's/.*"p50": ([0-9.e+-]+).*/\1/p; t; s/.*"median": ([0-9.e+-]+).*/\1/p'
}

# row LOCAL TOOL BETTER COLUMN SIZE PERFTEST_OPTIONS EMU_PERF_OPTIONS
row() {
	local tool=$2 better=$3 column=$4 size=$5 round

	: >"$scratch/figures"
	for ((round = 0; round < rounds; round++)); do
		if ((round % 2)); then
			echo "lib $(emu_perf "$tool" -s "$size" $7)" >>"$scratch/figures"
			echo "verbs $(perftest "$tool" "$column" -s "$size" $6)" >>"$scratch/figures"
		else
			echo "verbs $(perftest "$tool" "$column" -s "$size" $6)" >>"$scratch/figures"
			echo "lib $(emu_perf "$tool" -s "$size" $7)" >>"$scratch/figures"
		fi
	done
	sort -k1,1 -k2,2g "$scratch/figures" | awk -v tool="$tool" -v local="$1" -v size="$size" -v better="$better" '
		{ value[$1, ++count[$1]] = $2 }
		function median(of,    n) { n = count[of]; return (value[of, int((n + 1) / 2)] + value[of, int(n / 2) + 1]) / 2 }
		END {
			verbs = median("verbs") / (better == "more" ? 8 : 1) # Gb/s
			lib = median("lib")
			ratio = better == "more" ? lib / verbs : verbs / lib
			unit = better == "more" ? "GB/s" : "us"
			printf "%-5s %-5s ib_%-10s %6d B  %8.3f %-4s  emu_perf %8.3f %-4s  %.2f\n", ratio <= 1.3 ? "pass" : "short",
				local, tool, size, verbs, unit, lib, unit, ratio
			exit ratio > 1.3
		}' || status=1
}

for local in unix tcp; do
	export FI_EMU_LOCAL=$local
	for tool in write_lat send_lat; do
		row $local $tool less 5 8 "-n 20000" "-D 0.5"
	done
	row $local write_bw more 4 65536 "-n 5000 --report_gbits" "-w 128 -D 0.5"
	row $local read_bw more 4 65536 "-n 5000 --report_gbits" "-w 16 -D 0.5"
done
"$run" "$EMU_BUILD/tests/bench/ud_rate" || status=1
"$run" "$EMU_BUILD/tests/bench/cm_rate" || status=1
exit ${status:-0}
