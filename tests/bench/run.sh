#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# run.sh - runs the bench of the release build and holds emu to its figures: run.sh [--only NAME] [--blocks N] [--block-ms N]
#
# Prints tables, then a line for each figure: `pass` or `short`, what was measured and what it is to be. The figures are
# those of judge.c, and here: 4 ranks of Open MPI on 2 cores and on one not slower than over the provider tcp; a process
# that has talked to nobody within 2 MiB above libfabric itself, and a thousand connected peers within 8 MiB; an idle
# process with 100 connections under 0.1 % of a core. With --only, of these alone whose name contains NAME; the names here
# are `memory`, `idle` and `MPI`. --blocks is 100 unless given. Takes less than ten minutes.
# What emu reaches over TCP, as between machines (FI_EMU_LOCAL=tcp), is measured, too, and reported against the same figures.
# The provider shm is measured in a run of its own, as emu is slower in a process that has opened shm. Its medians are reported
# beside those of emu, and judge nothing.
# The library, and with it the provider tcp, is the libfabric that LD_LIBRARY_PATH leads to; without one, that of tools/setup.sh.
# Exit status 0 only if something was measured and nothing fell short. EMU_BUILD names another folder than build/release.
set -euo pipefail

here=$(dirname "$(readlink -f "$0")")
. "$here/../../tools/lib.sh"
options="--only --blocks --block-ms"
take_help "$@"
build=${EMU_BUILD:-$here/../../build/release}
find_libfabric
bench=$build/tests/bench/emu-bench
export FI_PROVIDER_PATH=$build/emu/fi

for file in "$bench" "$build/tests/bench/emu-memory" "$build/tests/bench/emu-idle" "$FI_PROVIDER_PATH/libemu-fi.so"; do
	[ -e "$file" ] || { echo "run.sh: no $file: build the release preset first" >&2; exit 1; }
done
only=
for ((i = 1; i < $#; i++)); do
	[ "${!i}" != --only ] || { next=$((i + 1)); only=${!next}; }
done
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
out=$scratch/out
: >"$scratch/emu.tsv"
: >"$scratch/shm.tsv"

# chosen NAME
chosen() {
	[[ $1 == *"$only"* ]]
}

# failed WHAT: what ended early is no figure, and the others go on.
failed() {
	echo "short: $1 could not be measured" | tee -a "$out"
}

# beside_shm: a line for each benchmark that both emu and shm do, from two runs.
beside_shm() {
	awk -F '\t' '
		$3 == "emu" { emu[$1, $2] = $5 }
		$3 == "shm" && ($1, $2) in emu {
			printf "reported: %s, %s B: emu %s %s, shm %s %s\n", $1, $2, emu[$1, $2], $4, $5, $4
		}' "$scratch/emu.tsv" "$scratch/shm.tsv"
}

"$bench" --blocks 100 --providers emu,emu:full,tcp --tsv "$scratch/emu.tsv" "$@" | tee -a "$out" ||
	failed "two processes on two cores"
"$bench" --blocks 100 --one-core --providers emu,tcp "$@" | tee -a "$out" || failed "two processes on one core"
FI_EMU_LOCAL=tcp "$bench" --blocks 25 --providers emu,emu:full,tcp "$@" | sed -E 's/^(pass|short):/reported: over TCP, \1:/' |
	tee -a "$out" || failed "two processes on two cores over TCP"
# After emu's, so that what fails here leaves them alone.
"$bench" --blocks 25 --providers shm --tsv "$scratch/shm.tsv" "$@" | tee -a "$out" ||
	echo "reported: the provider shm could not be measured" | tee -a "$out"
beside_shm >>"$out"
! chosen memory || "$build/tests/bench/emu-memory" | tee -a "$out" || failed memory
! chosen idle || "$build/tests/bench/emu-idle" | tee -a "$out" || failed "an idle process"
! chosen MPI || "$here/mpi.sh" | tee -a "$out" || failed "Open MPI"
! chosen MPI || FI_EMU_LOCAL=tcp "$here/mpi.sh" 3 200 16 2 | sed 's/^MPI/over TCP, MPI/' | tee -a "$out" ||
	failed "Open MPI over TCP"

# A row: what, bytes or how many, candidate, unit, median, nothing, nothing, for MPI the time relative to that over tcp.
echo "== the figures"
awk -F '\t' '
	function judge(good, text) {
		print (good ? "pass" : "short") ": " text
		judged++
		short += !good
	}
	/^reported: / { print }
	/^(pass|short): / {
		print
		judged++
		short += /^short/
	}
	$1 == "memory idle" { judge($5 <= 2048, "a process that has talked to nobody takes " $5 " KiB, to be within 2048") }
	$1 == "memory peers" { judge($5 <= 8192, "a thousand connected peers take " $5 " KiB, to be within 8192") }
	$1 ~ /^idle / { judge($5 < 0.1, "a process with " $2 " connections, " $1 ", uses " $5 " % of a core, to be under 0.1") }
	$1 ~ /MPI / && $3 == "emu" {
		text = $1 ", " $2 " B: " ($8 == "" ? "not measured" : $8 " times the time of tcp") ", to be at most 1"
		if ($1 ~ /^over TCP/)
			print "reported: " text
		else
			judge($8 != "" && $8 <= 1, text)
	}
	END {
		if (!judged)
			print "short: no figure of emu was measured"
		exit !judged || short
	}' "$out"
