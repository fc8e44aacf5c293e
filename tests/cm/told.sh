#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# told.sh - what checked mode tells of a program of rdma_cm. told.sh UNACKED
. "$EMU_SOURCE_DIR/tests/verdict.sh"
unacked=$1 emurun=$EMU_SOURCE_DIR/tools/emurun
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export FI_EMU_CTL=off
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # it leaves objects on purpose

line=$(grep -n 'event here' "$EMU_SOURCE_DIR/tests/cm/unacked.c" | cut -d: -f1)
"$emurun" --check "$unacked" >"$dir/out" 2>&1
has an_event_is_not_acknowledged "$dir/out" 'object-open: an event of rdma_cm is open at exit: rdma_ack_cm_event was not called'
has where_it_was_read_is_told "$dir/out" "unacked\.c:$line in main"
has an_id_is_not_destroyed "$dir/out" 'object-open: an id of rdma_cm is open at exit: rdma_destroy_id was not called'
has a_channel_is_not_destroyed "$dir/out" 'object-open: an event channel is open at exit: rdma_destroy_event_channel was not called'
"$emurun" --check "$unacked" many >"$dir/out" 2>&1
line=$(grep -n 'ids here' "$EMU_SOURCE_DIR/tests/cm/unacked.c" | cut -d: -f1)
has thousands_of_ids_are_told_at_once "$dir/out" 'counted    5,000 times'
has where_they_were_made_is_told "$dir/out" "unacked\.c:$line in main"
"$emurun" --check "$unacked" end >"$dir/out" 2>&1
echo "$?" >"$dir/status"
has nothing_is_told_of_what_has_ended "$dir/status" '^0$'
exit $failed
