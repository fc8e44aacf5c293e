#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# litmus_words.sh - what emu_litmus says of words that it cannot take: litmus_words.sh EMU_LITMUS. In the environment of
# runner.sh.
. "$EMU_SOURCE_DIR/tests/verdict.sh"
emu_litmus=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-litmus.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
unset FI_PROVIDER_PATH

# is_refused WORD OPTION...: with status 2, and a sentence that has the word.
is_refused() {
	local word=$1 out status

	shift
	out=$("$emu_litmus" "$@" 2>&1)
	status=$?
	echo "status $status: $out"
	[ $status = 2 ] && [[ $out == *"$word"* ]]
}

an_unknown_order() { is_refused '"nonsense" is not strong, rc or weak' --order nonsense; }
an_unknown_test() { is_refused 'there is no "nonsense"' --test nonsense; }
no_runs() { is_refused '"0" is not a number from 1 on' --runs 0; }
no_number() { is_refused '"7x" is not a number from 0 on' --seed 7x; }
a_word_too_many() { is_refused '"RAW" is one word too many' RAW; }
an_unknown_option() { is_refused 'usage: ' --nonsense; }
a_machine_without_emu() { FI_PROVIDER=tcp is_refused 'run emu_litmus under emurun' --test RAW --runs 1; }
a_plan_that_is_wrong() { FI_EMU_FAULT=/nowhere FI_PROVIDER_PATH=$EMU_PROVIDER_DIR is_refused 'finds no provider emu' -t RAW -n 1; }

for case in an_unknown_order an_unknown_test no_runs no_number a_word_too_many an_unknown_option a_machine_without_emu \
	a_plan_that_is_wrong; do
	succeeds $case
done
exit $failed
