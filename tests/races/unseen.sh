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
# A thread that begins traps its calls a little later; on a busy machine some buffers come before.
threads='0 are on stacks, .*, [0-9]* came while a thread did not trap its system calls, 0 while .*, and 0 were too many'
verdict unseen_is_nothing "$(sed "s/.* buffers were not looked at: $threads$//" <<<"$text")" ""
text=$(unseen stack-read-into-awaited | sed "s/.* buffers were not looked at: $threads$//")
[ -z "$text" ] || # by breakpoints
	verdict unseen_are_stacks "$(sed 's/.*\(to .* buffers\) were not looked at: \(.* stacks\),.*/\1, \2/' <<<"$text")" \
	"to 8 of 8 buffers, 8 are on stacks"
if python3 -c 'import ctypes; exit(ctypes.CDLL(None).syscall(425, 1, ctypes.create_string_buffer(256)) < 0)'; then
	shows unseen_is_what_follows_io_uring "from here on, .*io_uring" unseen reads-by-a-ring
fi
exit $failed
