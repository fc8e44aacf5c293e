#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# told.sh - what users are told of a verbs program: by its log, emurun --check, emuctl. told.sh PROGRAM EMUCTL BUSY LEFT
. "$EMU_SOURCE_DIR/tests/verdict.sh"
refused=$1 emuctl=$2 busy=$3 left=$4 emurun=$EMU_SOURCE_DIR/tools/emurun
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export FI_EMU_CTL=$dir/ctl

line=$(grep -n 'refused here' "$EMU_SOURCE_DIR/tests/verbs/refused.c" | cut -d: -f1)
"$emurun" "$refused" >"$dir/out" 2>&1
has the_log_says_why "$dir/out" '^emu: warn: ibv_reg_mr: access has IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE'
EMU_LOG_LEVEL=none "$emurun" "$refused" >"$dir/out" 2>&1
echo "$? $(cat "$dir/out")" >"$dir/quiet"
has the_log_can_be_silent "$dir/quiet" '^0 $'
FI_EMU_PORT=1 "$emurun" "$refused" >"$dir/out" 2>&1
has a_misspelt_setting_is_told "$dir/out" 'FI_EMU_PORT is no setting of emu, and does nothing\. Is FI_EMU_PORTS meant'
all=$("$emurun" fi_info -e 2>/dev/null | grep -ao 'FI_EMU_[A-Z_]*' | sort -u)
verdict settings_of_libfabric_are_there "$(grep -c . <<<"$all" | sed 's/^..$/tens/')" tens
env ${all//$'\n'/= }= "$emurun" "$refused" >"$dir/out" 2>&1
verdict none_of_them_is_misspelt "$(grep 'is no setting' "$dir/out")" ""
"$emurun" --check "$refused" >"$dir/out" 2>&1
echo "$?" >"$dir/status"
has the_check_fails "$dir/status" '^86$'
has the_check_names_the_line "$dir/out" "refused\.c:$line in main"
has the_check_names_the_call "$dir/out" 'by ibv_reg_mr'
"$emurun" "$refused" "$emuctl ps; $emuctl mr; $emuctl info" >"$dir/out" 2>&1
has emuctl_lists_the_process "$dir/out" ' verbs  '
has emuctl_shows_the_region "$dir/out" '0x.* 100 .*recv'
has emuctl_names_the_library "$dir/out" '^libibverbs +1\.18$'
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0 # these two leave objects on purpose
"$emurun" "$busy" >"$dir/out" 2>&1
echo "$? $(grep -vE 'max_(send|recv)_wr' "$dir/out")" >"$dir/quiet" # its queues are full at times
has a_process_ends_while_its_threads_call "$dir/quiet" '^0 $'
line=$(grep -n 'queue here' "$EMU_SOURCE_DIR/tests/verbs/left_open.c" | cut -d: -f1)
"$emurun" --check "$left" >"$dir/out" 2>&1
has objects_that_are_left_are_told "$dir/out" 'object-open: a completion queue is open at exit: ibv_destroy_cq was not called'
has where_they_were_made_is_told "$dir/out" "left_open\.c:$line in main"
has a_region_that_is_left_is_told "$dir/out" 'region-open: a region of 16384 B'
has its_memory_that_is_gone_is_told "$dir/out" 'memory-unmapped: the region of 16384 B'
has a_window_that_is_left_is_told "$dir/out" 'object-open: a memory window is open at exit: ibv_dealloc_mw was not called'
has an_address_handle_that_is_left_is_told "$dir/out" 'object-open: an address handle is open at exit: ibv_destroy_ah was not '
has what_holds_them_is_not_told "$dir/out" '5 findings'
"$emurun" --check "$left" destroy >"$dir/out" 2>&1
echo "$?" >"$dir/status"
has nothing_is_told_of_what_is_destroyed "$dir/status" '^0$'
FI_EMU_TRACE=$dir/trace "$emurun" "$refused" >/dev/null 2>&1
"$emurun" emu_trace "$dir/trace" >"$dir/out" 2>&1
has a_trace_names_the_program "$dir/out" '^# process [0-9]+ on .*verbs-refused$'
has a_trace_has_the_region "$dir/out" 'region opened: key 0x[0-9a-f]* addr 0x[0-9a-f]* length 100$'
FI_EMU_TRACE=$dir/pair "$emurun" emu_rules --verbs -r V78 >/dev/null 2>&1
"$emurun" emu_trace --ops "$dir/pair" >"$dir/out" 2>&1
has a_trace_names_queue_pairs "$dir/out" ' posted: send [0-9]+ to [0-9a-f.:]+ QPN 0x[0-9a-f]{6} length '
has a_trace_names_what_a_connection_is_with "$dir/out" ' connection with [0-9a-f.:]+ QPN 0x[0-9a-f]{6} open'
exit $failed
