#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# misuse.sh - checked mode reports each wrong program, once and by its cause, and nothing of its right twin: misuse.sh MISUSE
. "$(dirname "$0")/../../tools/lib.sh"
take_help "$@"
[ $# = 1 ] || usage_error "the program misuse is wanted"
program=$1
run=
[ "${EMU_TEST_PROVIDER:-emu}" != emu ] || run=$EMU_SOURCE_DIR/tools/emurun # a provider with sanitizers needs it
export FI_EMU_CHECK=1 FI_LOG_LEVEL=warn
. "$EMU_ROOT/tests/verdict.sh"

# The causes that a run reports, one a line.
causes() { # CASE wrong|right
	local log code
	log=$($run "$program" "$1" "$2" 2>&1)
	code=$?
	sed -n 's/.*\[\([a-z-]*\)\]$/\1/p' <<<"$log"
	[ $code = 0 ] || printf 'exit-status-%s\n%s\n' $code "$log"
}

for case in $("$program" --list); do
	case $case in
	send-buffer-unread) cause=send-buffer-changed ;;
	receive-buffer-cancelled) cause=receive-buffer-changed ;;
	receive-buffer-sent) cause=receive-buffer-used ;;
	threads-domain | threads-completion) cause=not-serialized ;;
	vector-overlap-read) cause=vector-overlap ;;
	context-overlap) cause=context-in-use ;;
	closed-busy) cause=closed-in-flight ;;
	wait-epoll | wait-select | wait-behind) cause=wait-not-tried ;;
	memory-unmapped) cause=$'memory-unmapped\nregion-open' ;;
	receive-unmapped) cause=memory-unmapped ;;
	send-buffer-shared | context-not-asked | context-small | cq-managed | completions-counted | \
		threads-locked | threads-safe | wait-elsewhere) cause= ;; # legal
	*) cause=$case ;;
	esac
	verdict "check_tells_$case" "$(causes "$case" wrong | sort | uniq)" "$cause"
	verdict "check_accepts_the_twin_of_$case" "$(causes "$case" right)" ""
done
FI_EMU_CHECK=0
verdict check_is_silent_when_it_is_off "$(causes send-buffer-changed wrong)" ""
exit $failed
