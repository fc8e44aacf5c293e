#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# wheel_use.sh - uses an installed wheel, whose programs are on PATH: wheel_use.sh FOLDER. In the folder may be the two programs of
# the demonstration. Programs and libfabrics that are not there are skipped by name. Needs no root, and verdict.sh beside it.
set -uo pipefail
. "$(dirname "$0")/verdict.sh"
demo=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/emu-use.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
export FI_EMU_CTL=$work/ctl
unset EMU_BUILD FI_PROVIDER FI_PROVIDER_PATH
REFUSED=86
port=$((20000 + $$ % 10000))

# verdict_with NAME PROGRAM COMMAND...: if that program is there.
verdict_with() {
	if command -v "$2" >/dev/null; then
		succeeds "$1" "${@:3}"
	else
		echo "skip $1 $2 is not installed"
	fi
}

# pair SERVER -- CLIENT: runs both, the second when the first listens at the port. Sets server_status and client_status.
pair() {
	local server=() pid

	while [ "$1" != -- ]; do
		server+=("$1")
		shift
	done
	shift
	timeout 120 "${server[@]}" >"$work/server" 2>&1 &
	pid=$!
	until grep -qs ":$(printf %04X $port) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6; do
		kill -0 $pid || break
		sleep 0.1
	done
	client_status=0 server_status=0
	timeout 120 "$@" >"$work/client" 2>&1 || client_status=$?
	wait $pid || server_status=$?
	cat "$work/server" "$work/client"
	echo "statuses $server_status and $client_status"
}

pingpong_runs() {
	pair emurun ibv_rc_pingpong -g 0 -p $port -- emurun ibv_rc_pingpong -g 0 -p $port 127.0.0.1
	[ $server_status = 0 ] && [ $client_status = 0 ] && grep -q '1000 iters in' "$work/client"
}

perftest_runs() {
	pair emurun ib_write_bw -x 0 -F -n 100 -p $port -- emurun ib_write_bw -x 0 -F -n 100 -p $port 127.0.0.1
	[ $server_status = 0 ] && [ $client_status = 0 ] && grep -q '^ 65536 *100 ' "$work/client"
}

# A message that is longer than what is posted for it: each side's report has the sentence.
a_fault_is_found() {
	pair emurun --check --report "$work/report.xml" ibv_rc_pingpong -g 0 -p $port -s 1024 -- \
		emurun --check ibv_rc_pingpong -g 0 -p $port -s 4096 127.0.0.1
	[ $server_status = $REFUSED ] && [ $client_status = $REFUSED ] && grep -q 'longer by 3072 B' "$work/client" &&
		grep -q '<failure' "$work/report.xml"
}

device_is_there() {
	emurun ibv_devices | grep -q emu0 && emurun --sys ibv_devinfo -d emu0 | grep -q PORT_ACTIVE
}

# Both names lead to one library. The symbol is of that, though the name without a version has none of its own.
both_names_are_one() {
	emurun python3 -c '
import ctypes
one, other = (ctypes.CDLL(name).ibv_get_device_list for name in ("libibverbs.so.1", "libibverbs.so"))
cm, other_cm = (ctypes.CDLL(name).rdma_getaddrinfo for name in ("librdmacm.so.1", "librdmacm.so"))
address = lambda call: ctypes.cast(call, ctypes.c_void_p).value
assert address(one) == address(other) and address(cm) == address(other_cm)' &&
		emurun --hmem cuda python3 -c '
import ctypes
for name in ("libcudart.so", "libcudart.so.12"):
	count = ctypes.c_int()
	assert ctypes.CDLL(name).cudaGetDeviceCount(ctypes.byref(count)) == 0 and count.value == 1
assert ctypes.CDLL("libcuda.so.1").cuInit(0) == 0'
}

tools_run() {
	emuctl --help && emu_trace --help && emu_report --help && emu-lab list | grep '^10 ' &&
		emurun --check --allow-none --report "$work/report.json" true && [ -s "$work/report.json" ]
}

provider_is_listed() {
	emurun fi_info -p emu | grep -q '^provider: emu$' && emurun --check --allow-none fi_info -p emu &&
		emurun emu_perf -t read_lat -D 0.1 --verify && emurun emu_rules -p emu -r S27 | grep -q ' 0 FAIL'
}

demo_runs() {
	local pid status=0

	mkfifo "$work/questions" "$work/answers"
	: >"$work/target.log"
	FI_LOG_LEVEL=warn emurun "$demo/demo-target" "$work/questions" "$work/answers" 2>"$work/target.log" &
	pid=$!
	FI_LOG_LEVEL=warn timeout 120 emurun "$demo/demo-initiator" "$work/questions" "$work/answers" "$demo/demo-target" \
		"$work/target.log" || status=$?
	[ $status = 0 ] || kill -KILL $pid 2>/dev/null
	wait $pid && return $status
}

# fi_info is of a libfabric that the provider can be loaded into; older ones say so, or do not list it.
fabric_is_too_old() {
	local version

	version=$(fi_info --version 2>/dev/null | sed -n 's/^libfabric: \([0-9.]*\).*/\1/p')
	[ "$(printf '%s\n1.17\n' "$version" | sort -V | head -n 1)" != 1.17 ]
}

verdict_with wheel_device ibv_devinfo device_is_there
verdict_with wheel_pingpong ibv_rc_pingpong pingpong_runs
verdict_with wheel_perftest ib_write_bw perftest_runs
verdict_with wheel_fault_is_found ibv_rc_pingpong a_fault_is_found
succeeds wheel_both_names_are_one both_names_are_one
succeeds wheel_tools_run tools_run
if ! command -v fi_info >/dev/null; then
	echo "skip wheel_provider libfabric is not installed"
elif fabric_is_too_old; then
	echo "skip wheel_provider libfabric is older than 1.17"
else
	succeeds wheel_provider provider_is_listed
	succeeds wheel_demo demo_runs
fi
exit $failed
