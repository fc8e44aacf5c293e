#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# night.sh - storms of fresh seeds on all cores: night.sh [MINUTES] [asan]
#
# 10 minutes of the release build unless told otherwise. Each failure is a line by which it runs again, and which
# tests/sim/shrink makes smaller. Ends with the seeds, and the simulated ops a second. Exit status 0 only if none failed.
. "$(dirname "$0")/../../tools/lib.sh"

take_help "$@"
minutes=${1:-10}
preset=${2:-release}
[[ $minutes =~ ^[1-9][0-9]*$ && $preset =~ ^(release|asan)$ ]] || usage_error "not [MINUTES] [asan]: $*"
build_target "$preset" sim_random || exit 1
exec "$EMU_ROOT/build/$preset/tests/sim/sim_random" --minutes "$minutes" --jobs "$(nproc)"
