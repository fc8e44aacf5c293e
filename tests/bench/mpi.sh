#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mpi.sh - all-to-all and all-reduce of Open MPI, over emu and the provider tcp in turns: mpi.sh [ROUNDS [MS [RANKS [CORES]]]]
#
# 4 ranks, on two cores and then on one, unless given. Prints a row for run.sh each: the median over the rounds, in microseconds,
# and for emu that of the quotients of both by round, for a start of MPI takes too long to take turns within one. A job that takes
# longer than a minute is ended, and is no figure. Exit status 77 where Open MPI is not installed.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/lib.sh"
take_help "$@"
rounds=${1:-5} ms=${2:-200} ranks=${3:-4}
find_libfabric
build=${EMU_BUILD:-$here/../../build/release}
program=$(readlink -f "$build")/tests/bench/mpi_patterns
export EMU_SOURCE_DIR=$here/../..

# The first $1 processors that this shell may use.
first_cores() {
	taskset -cp $$ | sed 's/.*: //' | tr ',' '\n' | while IFS=- read -r from to; do seq "$from" "${to:-$from}"; done |
		head -n "$1" | paste -sd,
}

# job CORES PROVIDER ROUND: lines `CORES PROVIDER ROUND PATTERN BYTES US`.
job() {
	EMU_TEST_PROVIDER=$2 timeout -k 5 60 taskset -c "$(first_cores "$1")" "$here/../mpi/mpirun.sh" \
		-m hwloc_base_binding_policy=none "$ranks" "$program" "$ms" | sed "s/^/$1 $2 $3 /"
}

for cores in ${4:-2 1}; do
	for round in $(seq "$rounds"); do
		order="emu tcp"
		[ $((round % 2)) = 0 ] || order="tcp emu"
		for provider in $order; do
			job "$cores" "$provider" "$round" && continue
			status=$?
			[ "$status" != 77 ] || { echo "mpi.sh: Open MPI, or mpi_patterns, is not here" >&2; exit 77; }
			echo "mpi.sh: over $provider on $cores cores: exit status $status" >&2
		done
	done
done | awk -v rounds="$rounds" -v ranks="$ranks" '
	function median(values, count,    i, j, kept) {
		for (i = 2; i <= count; i++)
			for (j = i; j > 1 && values[j - 1] > values[j]; j--) {
				kept = values[j]
				values[j] = values[j - 1]
				values[j - 1] = kept
			}
		return count % 2 ? values[(count + 1) / 2] : (values[count / 2] + values[count / 2 + 1]) / 2
	}
	NF == 6 {
		us[$1, $4, $5, $2, $3] = $6
		if (!(($1, $4, $5) in seen)) {
			seen[$1, $4, $5] = 1
			cells[++known] = $1 SUBSEP $4 SUBSEP $5
		}
	}
	END {
		for (i = 1; i <= known; i++) {
			split(cells[i], part, SUBSEP)
			count["emu"] = count["tcp"] = both = 0
			for (round = 1; round <= rounds; round++) {
				for (provider in count)
					if ((cells[i], provider, round) in us)
						all[provider, ++count[provider]] = us[cells[i], provider, round]
				if (((cells[i], "emu", round) in us) && ((cells[i], "tcp", round) in us))
					quotients[++both] = us[cells[i], "emu", round] / us[cells[i], "tcp", round]
			}
			for (provider in count) {
				for (n = 1; n <= count[provider]; n++)
					list[n] = all[provider, n]
				if (count[provider])
					printf("MPI %s, %d ranks, %d core%s\t%d\t%s\tus\t%.4g\t\t\t%s\n",
						part[2], ranks, part[1], (part[1] > 1 ? "s" : ""), part[3], provider,
						median(list, count[provider]),
						provider == "emu" && both ? sprintf("%.3f", median(quotients, both)) : "")
			}
		}
	}'
