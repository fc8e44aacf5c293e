#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# programs.sh - right programs of others in races mode: they end as they do without it, and it tells of no race.
#   programs.sh              a few programs of verbs
#   programs.sh SCRIPT...    those that a script of another folder runs
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/lib.sh"
take_help "${1:-}" # what follows is the script's
. "$here/../verbs/sides.sh"
mkdir "$work/report"
export FI_EMU_CHECK=races FI_EMU_REPORT=$work/report

if [ $# = 0 ]; then
	pair pingpong ibv_rc_pingpong -g 0 -n 50 -c
	pair datagrams ibv_ud_pingpong -g 0 -n 50
	for tool in write_bw read_bw send_lat atomic_lat; do
		pair $tool ib_$tool -x 0 -F -n 50
	done
	listens=udp
	cat >"$work/rping" <<-'END'
		#!/bin/bash
		if [[ ${!#} == *.* ]]; then exec rping -c -a "${!#}" "${@:1:$#-1}"; else exec rping -s "$@"; fi
	END
	chmod +x "$work/rping"
	command -v rping >/dev/null && pair rping "$work/rping" -v -V -C 10 -S 500
else
	"$@" || status=$?
fi
[ $status != 77 ] || exit 77
[ -n "$(ls "$work/report")" ] || { echo "not ok programs_are_looked_at no process left a record"; exit 1; }
told=$(grep -ho '"cause":"operation-[a-z]*".*"text":"[^"]*"' "$work/report"/*.jsonl | head -n 3)
if [ -z "$told" ]; then
	echo "ok no_race_is_told"
else
	echo "not ok no_race_is_told $(tr '\n' ' ' <<<"$told")"
	status=1
fi
exit $status
