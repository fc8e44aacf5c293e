#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# loading.sh - emurun brings libibverbs into every program, where it starts nothing: no thread, no descriptor, no file, no line of
# log; and it is the only one that a program finds, whatever name it loads.
if ldd "$EMU_BUILD/emu/verbs/lib/libibverbs.so.1" | grep -q 'lib[at]san'; then
	echo "skip loading emurun preloads the run time of a sanitizer, too"
	exit 77
fi
. "$EMU_SOURCE_DIR/tests/verdict.sh"
emurun=$EMU_SOURCE_DIR/tools/emurun dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
export FI_EMU_CTL=$dir/ctl EMU_LOG_LEVEL=debug

# A program's threads, descriptors and output, without and with emurun.
same() {
	local name=$1
	shift

	verdict "$name" "$("$emurun" "$@" 2>&1)" "$("$@" 2>&1)"
}

own='import os
there = [fd for fd in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + fd)]
print(len(os.listdir("/proc/self/task")), sorted(os.readlink("/proc/self/fd/" + fd).split(":")[0] for fd in there))'
same bash_has_no_more bash -c 'set -- /proc/$$/task/*; echo $#; set -- /proc/$$/fd/*; echo $#'
same git_has_no_more git --version
if command -v python3 >/dev/null; then
	same python_has_no_more python3 -c "$own"
	same pass_has_no_more python3 -c pass
	loads='from ctypes import CDLL
import sys
for name in sys.argv[1:]:
	CDLL(name)
print(len({line.split()[5] for line in open("/proc/self/maps") if "/libibverbs.so" in line or "/librdmacm.so" in line}))'
	verdict every_name_is_ours "$("$emurun" python3 -c "$loads" libibverbs.so libibverbs.so.1 librdmacm.so librdmacm.so.1)" 2
	verdict loading_starts_no_thread "$("$emurun" python3 -c "$loads
$own" libibverbs.so | tail -n 1 | cut -d' ' -f1)" 1
else
	echo "skip python_has_no_more no python3 on this machine"
fi
verdict no_file_is_left "$(ls -A "$dir")" ""

# Programs that are built with the address sanitizer want to see its run time first.
echo 'int main(void) { return 7; }' >"$dir/main.c"
if ${CC:-cc} -fsanitize=address -o "$dir/main" "$dir/main.c" 2>"$dir/log"; then
	"$emurun" "$dir/main" 2>"$dir/says"
	verdict a_program_with_the_address_sanitizer_runs "$? $(cat "$dir/says")" "7 "
else
	echo "skip a_program_with_the_address_sanitizer_runs this compiler has none"
fi
# perftest is linked with libraries of providers, and with all of librdmacm.
if command -v ib_write_bw >/dev/null; then
	verdict perftest_loads "$("$emurun" ib_write_bw --version 2>&1)" "$(ib_write_bw --version 2>&1)"
	verdict perftest_finds_all "$("$emurun" ldd -r "$(command -v ib_write_bw)" 2>&1 | grep -c undefined)" 0
else
	echo "skip perftest_loads no perftest on this machine"
fi
exit $failed
