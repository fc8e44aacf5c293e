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

# run_pair PROVIDER ENDPOINT SIZE. A port that is free now; another pair of runs may take it, so the pair is tried again.
run_pair() {
	local port=$((20000 + RANDOM % 30000)) args=(-p "$1" -e "$2" -I 200 -S "$3")
	timeout 60 $run fi_pingpong "${args[@]}" -B "$port" >"$out/server" 2>&1 &
	server=$!
	for _ in $(seq 300); do # the server listens
		grep -qs ":$(printf %04X $port) 0*:0000 0A" /proc/net/tcp /proc/net/tcp6 && break
		kill -0 $server 2>/dev/null || break
		sleep 0.1
	done
	timeout 60 $run fi_pingpong "${args[@]}" -P "$port" 127.0.0.1 >"$out/client" 2>&1
	client=$?
	wait $server && [ $client = 0 ]
}

# pair NAME PROVIDER ENDPOINT SIZE
pair() {
	if run_pair "${@:2}" || run_pair "${@:2}"; then
		echo "ok $1"
	else
		echo "not ok $1 $(tail -qn1 "$out/client" "$out/server" | tr '\n' ' ')"
		status=1
	fi
}

for size in 64 4096 65536 1048576; do
	pair pingpong_$size "$provider" rdm $size
	[ "$provider" != emu ] || pair pingpong_msg_$size emu msg $size
done
# libfabric's own layers over connected endpoints and over datagrams, which emurun hides.
for layer in rxm rxd; do
	if [ "$provider" != emu ] || ! fi_info -l | grep -q "^ofi_$layer"; then
		echo "skip pingpong_$layer this libfabric has no ofi_$layer"
		continue
	fi
	layered=$run
	run="$run env FI_PROVIDER=emu,ofi_$layer"
	for size in 64 4096 1048576; do
		pair pingpong_${layer}_$size "emu;ofi_$layer" rdm $size
	done
	run=$layered
done
exit ${status:-0}
