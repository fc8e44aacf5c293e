#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# litmus_forbidden.sh - runs what is forbidden among the litmus tests, by one seed after the other, for so many minutes:
#   litmus_forbidden.sh MINUTES [SEED]
#
# With the NIC of EMU_BUILD, or as emurun finds it. Prints how often each test ran under each order, and ends with 1 as soon as an
# outcome is seen that is forbidden.
. "$(dirname "$0")/../../tools/lib.sh"

RUNS=2000			# of each test and order by a seed
options=
take_help "$@"
[[ ${1:-} =~ ^[1-9][0-9]*$ && ${2:-1} =~ ^[1-9][0-9]*$ && $# -le 2 ]] || usage_error "give minutes, and perhaps the first seed"
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
until=$((SECONDS + $1 * 60)) first=${2:-1} status=0
for ((seed = first; SECONDS < until && !status; seed++)); do
	"$EMU_ROOT/tools/emurun" emu_litmus --forbidden -n $RUNS -s "$seed" >>"$said" || status=$?
done
echo "seeds $first to $((seed - 1)), $RUNS runs of each test by each"
awk -v runs=$RUNS '
	/ FORBIDDEN SEEN / { print "not ok " $0; next }
	{ if (!(($3, $1) in of)) names[++count] = $3 SUBSEP $1; of[$3, $1] += runs }
	END {
		for (i = 1; i <= count; i++) {
			split(names[i], name, SUBSEP)
			print name[1], name[2], of[name[1], name[2]]
		}
	}' "$said"
exit $status
