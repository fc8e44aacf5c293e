#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# unseen.sh - races mode says in words which accesses of the CPU it could not look at: unseen.sh RACE_VERBS
. "$(dirname "$0")/../../tools/lib.sh"
take_help "$@"
[ $# = 1 ] || usage_error "the program race_verbs is wanted"
program=$1
. "$EMU_ROOT/tests/verdict.sh"

# What was not looked at, by the words of one of the cases.
unseen() { # CASE
	"$EMU_SOURCE_DIR"/tools/emurun --check=races "$program" "$1" 2>&1 | grep 'accesses of the CPU'
}

text=$(unseen completed-and-loaded)
if [[ $text == *"not looked at here"* ]]; then
	passed "unseen_is_all"
	exit 0
fi
verdict unseen_is_nothing "$text" ""
text=$(unseen stack-read-into-awaited)
verdict unseen_are_stacks "$(sed 's/.*\(to .* buffers\) were not looked at: \(.* stacks\),.*/\1, \2/' <<<"$text")" \
	"to 8 of 8 buffers, 8 are on stacks"
if python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(256)) < 0)'; then
	shows unseen_is_what_follows_io_uring "from here on, .*io_uring" unseen reads-by-a-ring
fi
exit $failed
