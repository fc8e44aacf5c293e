#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# soak.sh - eight processes under load for MINUTES (10) while connections are cut and processes are killed:
#   soak.sh [MINUTES]
#
# Reports the ops, the faults survived, what was lost (must be nothing), and how memory and descriptors of two processes
# that live through it have grown. Exit status 0 only if nothing was lost or done twice, and nothing grew.
. "$(dirname "$0")/../tools/lib.sh"

take_help "$@"
minutes=${1:-10}
[[ $# -le 1 && $minutes =~ ^[1-9][0-9]*$ ]] || usage_error "not a number of minutes: $*"
build_target release soak && build_target release emu-fi || exit 1
find_libfabric
EMU_BUILD=$EMU_ROOT/build/release \
	exec "$EMU_ROOT/tools/emurun" "$EMU_ROOT/build/release/tests/process/soak" $((minutes * 60))
