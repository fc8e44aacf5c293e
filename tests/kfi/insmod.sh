#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# insmod.sh - emu_insmod's command line, and what it says of modules that do wrong: insmod.sh EMU_INSMOD FOLDER-OF-MODULES
set -u
. "$(dirname "$(readlink -f "$0")")/../../tools/lib.sh"
take_help "$@"
[ $# -eq 2 ] || usage_error "a runner and a folder are needed"
insmod=$1
modules=$2
said=$(mktemp)
trap 'rm -f "$said"' EXIT
failed=0
# The sanitizer would report faults in the runner's place.
ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0
export ASAN_OPTIONS

# says NAME STATUS TEXT CMD...: the command ends with the status, and prints the text.
says() {
	name=$1 status=$2 text=$3
	shift 3
	"$@" >"$said" 2>&1
	got=$?
	if [ "$got" -ne "$status" ]; then
		echo "not ok $name [status $got in place of $status: $(tail -n 2 "$said" | tr '\n' ' ')]"
		failed=1
	elif ! grep -qF -e "$text" "$said"; then
		echo "not ok $name [it does not say: $text. It says: $(tail -n 3 "$said" | tr '\n' ' ')]"
		failed=1
	else
		echo "ok $name"
	fi
}

wrong=$modules/wrong.so
says help 0 'usage: emu_insmod' "$insmod" --help
says no_module 2 'usage: emu_insmod' "$insmod"
says unknown_option 2 'usage: emu_insmod' "$insmod" --no-such-option
says missing_file 2 'emu_insmod: ' "$insmod" "$modules/no_such_module.so"
says no_kernel_module 2 'is no kernel module' "$insmod" "$modules/plain.so"
says parameter_before_module 2 'comes before any module' "$insmod" number=1 "$wrong"
says parameters 0 'number -7 small 65535 flag 1 listed 2: 1 2 0 label xyz' \
	"$insmod" -u "$wrong" number=-7 small=0xffff flag list=1,2 label=xyz
says defaults 0 'number 1 small 0 flag 0 listed 0: 0 0 0 label ab' "$insmod" -u "$wrong"
says unknown_parameter 2 'has no parameter `nunber`' "$insmod" -u "$wrong" nunber=1
says its_parameters 2 'how=a text: null, thread' "$insmod" -u "$wrong" nunber=1
says no_value 2 'has no value' "$insmod" -u "$wrong" number
says not_a_number 2 '`4x` is not an int' "$insmod" -u "$wrong" number=4x
says too_large 2 '`65536` is not an unsigned short' "$insmod" -u "$wrong" small=65536
says too_small 2 '`-1` is not an unsigned short' "$insmod" -u "$wrong" small=-1
says not_a_bool 2 '`maybe` is not a bool' "$insmod" -u "$wrong" flag=maybe
says too_many 2 'is not an int or several' "$insmod" -u "$wrong" list=1,2,3,4
says too_long 2 'is not a shorter text' "$insmod" -u "$wrong" label=abcd
says unloaded 0 'wrong: unloaded' "$insmod" -u "$wrong"
says error_of_init 1 'module_init() returned -19' "$insmod" -u "$wrong" how=error
says null_pointer 139 'a NULL pointer dereference' "$insmod" -u "$wrong" how=null
says null_pointer_in_a_thread 139 'a NULL pointer dereference' "$insmod" "$wrong" how=thread
says call_trace 139 'Call trace' "$insmod" -u "$wrong" how=null
says stack_overflow 139 'emu_insmod: a stack overflow' "$insmod" -u "$wrong" how=overflow
says stack_overflow_in_a_thread 139 'emu_insmod: a stack overflow' "$insmod" "$wrong" how=thread_overflow
says where_a_stack_overflows 139 'wrong.so' "$insmod" "$wrong" how=thread_overflow
says bug 134 'aborted: a BUG()' "$insmod" -u "$wrong" how=bug
says left_open 1 'left' "$insmod" -u "$wrong" how=leak
says sleeping_unchecked 0 'unloaded' "$insmod" -u "$wrong" how=sleep
says sleeping_checked 0 'msleep' env FI_EMU_CHECK_ATOMIC=1 "$insmod" -u "$wrong" how=sleep
says wrong_personality 1 'FI_EMU_PERSONALITY' env FI_EMU_PERSONALITY=strict "$insmod" -u "$wrong"
# The first module ends again where the second does not start.
says second_fails 1 'wrong: unloaded' "$insmod" -u "$wrong" "$modules/wrong_too.so" how=error

# Signals: it waits for one, and ends well.
for signal in INT TERM; do
	rm -f "$said"
	"$insmod" "$wrong" >"$said" 2>&1 &
	pid=$!
	until grep -qs 'wrong: number' "$said"; do
		kill -0 $pid || break
	done
	kill -$signal $pid
	wait $pid
	got=$?
	if [ $got -eq 0 ] && grep -q 'wrong: unloaded' "$said"; then
		echo "ok ends_by_$signal"
	else
		echo "not ok ends_by_$signal [status $got: $(tail -n 2 "$said" | tr '\n' ' ')]"
		failed=1
	fi
done
exit $failed
