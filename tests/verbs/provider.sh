#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# provider.sh - libfabric's own provider `verbs`, which loads our libibverbs and librdmacm in the place of the distribution's, in
# one process with ours. It takes the device from rdma_cm, and offers it where FI_PROVIDER lets it.
run=$EMU_SOURCE_DIR/tools/emurun
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset LD_LIBRARY_PATH # the libfabric that setup.sh builds is without that provider
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
command -v fi_info >/dev/null || { echo "skip provider no fi_info on this machine"; exit 77; }

# NAME STATUS WANTED UNWANTED COMMAND...: its exit status, and lines that its output has and has not.
check() {
	local name=$1 status=$2 wanted=$3 unwanted=$4 got
	shift 4

	"$@" >"$work/said" 2>&1
	got=$?
	if [ $got = "$status" ] && grep -q "$wanted" "$work/said" && ! grep -q "$unwanted" "$work/said"; then
		echo "ok $name"
	else
		echo "not ok $name exit status $got, $(tail -n 3 "$work/said" | tr '\n' ' ')"
		failed=1
	fi
}

FI_PROVIDER=verbs FI_LOG_LEVEL=warn "$run" env FI_PROVIDER=verbs fi_info >"$work/said" 2>&1
grep -q ':verbs:\|provider: verbs' "$work/said" || { echo "skip provider this machine's libfabric has no provider verbs"; exit 77; }
check emu_alone 0 '^provider: emu$' 'provider: [^e]' "$run" fi_info
check among_all 0 '^provider: emu$' 'Segmentation' "$run" env -u FI_PROVIDER fi_info
check verbs_has_the_device 0 'domain: emu0' 'provider: emu' "$run" env FI_PROVIDER=verbs fi_info
check both_named 0 '^provider: verbs$' 'provider: tcp' "$run" env FI_PROVIDER=emu,verbs fi_info
exit ${failed:-0}
