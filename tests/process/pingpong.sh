#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# pingpong.sh - libfabric's own fi_pingpong between two processes, on the provider under test.
provider=${EMU_TEST_PROVIDER:-emu}
export FI_PROVIDER=$provider
run=
[ "$provider" != emu ] || run=$EMU_SOURCE_DIR/tools/emurun # a provider with sanitizers needs it
command -v fi_pingpong >/dev/null || { echo "skip pingpong no fi_pingpong on this machine"; exit 77; }

out=$(mktemp -d) || exit 1
server=
trap 'kill $server 2>/dev/null; rm -rf "$out"' EXIT

# A port that is free now; another pair of runs may take it, so the pair is tried again.
run_pair() {
	local port=$((20000 + RANDOM % 30000)) size=$1
	timeout 60 $run fi_pingpong -p "$provider" -e rdm -I 200 -S "$size" -B "$port" >"$out/server" 2>&1 &
	server=$!
	for _ in $(seq 300); do # the server listens
		grep -qs ":$(printf %04X $port) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	timeout 60 $run fi_pingpong -p "$provider" -e rdm -I 200 -S "$size" -P "$port" 127.0.0.1 >"$out/client" 2>&1
	client=$?
	wait $server && [ $client = 0 ]
}

for size in 64 4096 65536 1048576; do
	if run_pair $size || run_pair $size; then
		echo "ok pingpong_$size"
	else
		echo "not ok pingpong_$size $(tail -qn1 "$out/client" "$out/server" | tr '\n' ' ')"
		status=1
	fi
done
exit ${status:-0}
