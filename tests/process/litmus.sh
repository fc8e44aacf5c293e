#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# litmus.sh - litmus tests of the NIC's order, a case each: litmus.sh EMU_LITMUS [OPTION...]. In the environment of runner.sh.
emu_litmus=$1
shift

said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
"$EMU_SOURCE_DIR/tools/emurun" "$emu_litmus" "$@" >"$said"
status=$?
awk '
	{ name = $3 "-" $1 ($2 == "asked" ? "-asked" : "") }
	/ FORBIDDEN SEEN / { print "not ok " name " forbidden, and seen: " $0; next }
	/ not seen / && need { print "not ok " name " never seen: " $0; next }
	{ print "ok " name }' need="$([[ " $* " == *' --need '* ]] && echo 1)" "$said"
[ $status -lt 2 ] || echo "not ok ends status $status"
exit $status
