#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# emurun.sh - what tools/emurun gives to a program and what it says when it cannot. In the environment of runner.sh.
. "$EMU_SOURCE_DIR/tests/verdict.sh"
emurun=$EMU_SOURCE_DIR/tools/emurun
unset FI_PROVIDER FI_PROVIDER_PATH

# The first line and the exit status of a command.
outcome() {
	local out status

	out=$("$@" 2>&1)
	status=$?
	echo "$(echo "$out" | head -n 1) [$status]"
}

usage='usage: emurun [--hmem cuda] [--sys] [--check[=races]] [--report FILE] [--expect FILE] [--no-checked]' # first line
verdict help "$(outcome "$emurun" --help)" "$usage [0]"
verdict no_command "$(outcome "$emurun")" "$usage [2]"
verdict unknown_option "$(outcome "$emurun" -x true)" "emurun: unknown option -x [2]"
verdict unknown_program "$(outcome "$emurun" no-such-program)" "emurun: no-such-program: no such program [127]"
verdict exit_status_comes_through "$(outcome "$emurun" sh -c 'exit 42')" " [42]"
verdict no_build "$(EMU_BUILD=/nowhere outcome "$emurun" true)" \
	"emurun: there is no emu/fi/libemu-fi.so in EMU_BUILD=/nowhere [1]"
verdict selects_the_provider "$("$emurun" sh -c 'echo "$FI_PROVIDER $FI_PROVIDER_PATH"')" "emu $EMU_BUILD/emu/fi"
verdict keeps_other_folders "$(FI_PROVIDER_PATH=/a:/b "$emurun" sh -c 'echo "$FI_PROVIDER_PATH"')" \
	"$EMU_BUILD/emu/fi:/a:/b"
verdict keeps_crashes_as_they_are "$(unset IPATH_NO_BACKTRACE; "$emurun" sh -c 'echo "$IPATH_NO_BACKTRACE"')" 1
verdict keeps_a_backtrace_that_is_asked_for "$(IPATH_NO_BACKTRACE= "$emurun" sh -c 'echo "<$IPATH_NO_BACKTRACE>"')" "<>"
verdict a_crash_is_a_crash "$(ulimit -c 0; "$emurun" sh -c 'kill -SEGV $$' >/dev/null 2>&1; echo $?)" 139
verdict keeps_arguments "$("$emurun" printf '<%s>' 'a b' '' '*')" '<a b><><*>'
verdict becomes_the_program "$(sh -c 'echo $$; exec "$0" sh -c "echo \$\$"' "$emurun" | uniq | wc -l)" 1
verdict only_cuda "$(outcome "$emurun" --hmem zluda true)" "emurun: --hmem takes cuda, and not \`zluda' [2]"
verdict nothing_to_run "$(outcome "$emurun" --hmem cuda)" "$usage [2]"
verdict no_devices_unasked "$("$emurun" sh -c 'echo "${FI_EMU_HMEM:-none}"')" none
verdict keeps_the_devices "$(FI_EMU_HMEM=cuda:3,ze:1 "$emurun" --hmem cuda sh -c 'echo "$FI_EMU_HMEM"')" cuda:3,ze:1
# The names that programs load, and one library behind all of them.
verdict cuda_is_there "$("$emurun" --hmem cuda python3 -c '
from ctypes import CDLL, byref, c_int, c_void_p
runtime, driver, count, memory = CDLL("libcudart.so"), CDLL("libcuda.so.1"), c_int(), c_void_p()
print(driver.cuInit(0), runtime.cudaGetDeviceCount(byref(count)), count.value, runtime.cudaMalloc(byref(memory), 8))
print(driver.cuMemGetAddressRange_v2(None, None, memory), CDLL(None).cudaFree(memory))')" "$(printf '0 0 1 0\n0 0')"
# A program that was linked with NVIDIA's library names the version of the runtime's calls; the loader finds it and says nothing.
linked=$(mktemp -d)
trap 'rm -r "$linked"' EXIT
mkdir "$linked/lib"
echo 'int cudaSetDevice(int device) { return device; }' >"$linked/stub.c"
echo 'libcudart.so.12 { global: cuda*; };' >"$linked/stub.map"
echo 'int cudaSetDevice(int device); int main(void) { return cudaSetDevice(0) + 10 * cudaSetDevice(1); }' >"$linked/program.c"
${CC:-cc} -shared -fPIC -o "$linked/lib/libcudart.so.12" -Wl,-soname,libcudart.so.12 -Wl,--version-script="$linked/stub.map" \
	"$linked/stub.c" && ${CC:-cc} -o "$linked/program" "$linked/program.c" "$linked/lib/libcudart.so.12"
verdict cuda_by_version "$(outcome "$emurun" --hmem cuda "$linked/program")" \
	"emu-cuda: cudaSetDevice: device 1, and there are 1 [$((10 * 101 % 256))]"
exit $failed
