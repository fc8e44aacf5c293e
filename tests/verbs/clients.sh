#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# clients.sh - rdma-core's pingpongs and perftest's tools over RC, each between two processes.
run=$EMU_SOURCE_DIR/tools/emurun
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
port=$((10000 + $$ % 20000)) # below those that the system gives, which devices and clients have
server_env=()
client_env=()

# PROGRAM OPTION...: a server, and a client as soon as that listens. 0 when both have ended well.
both() {
	local try ASAN_OPTIONS=${ASAN_OPTIONS:-}
	[[ $1 != ib_* ]] || ASAN_OPTIONS+=:detect_leaks=0 # perftest frees not all that it has
	port=$((port + 1))
	env "${server_env[@]}" "$run" "$@" -p $port >"$work/server" 2>&1 &
	for ((try = 0; try < 600; try++)); do # a client that comes too early finds nobody, and ends
		grep -qi "^ *[0-9]*: [0-9A-F:]*:$(printf %04X $port) [0-9A-F:]* 0A" /proc/net/tcp /proc/net/tcp6 && break
		kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	if env "${client_env[@]}" "$run" "$@" -p $port 127.0.0.1 >"$work/client" 2>&1; then
		wait $!
	else
		kill $! 2>/dev/null
		wait
		return 1
	fi
}

failed() {
	echo "not ok $1 $(tail -n 3 "$work/client" "$work/server" | tr '\n' ' ')"
	status=1
}

# NAME PROGRAM OPTION...
pair() {
	local name=$1
	shift
	command -v "$1" >/dev/null || { echo "skip $name no $1 on this machine"; return; }
	if both "$@"; then echo "ok $name"; else failed "$name"; fi
}

# NAME: a pingpong whose client fails as on hardware, and is told of the secret.
no_secret_in_common() {
	if ! both ibv_rc_pingpong -g 0 -n 10 && grep -q "retry counter exceeded.*FI_EMU_SECRET_FILE" "$work/client"; then
		echo "ok $1"
	else
		failed "$1"
	fi
}

pair pingpong ibv_rc_pingpong -g 0 -n 200
pair pingpong_v4 ibv_rc_pingpong -g 1 -n 200
pair pingpong_by_events ibv_rc_pingpong -g 0 -n 50 -e
pair pingpong_odp ibv_rc_pingpong -g 0 -n 50 -o
pair pingpong_timestamps ibv_rc_pingpong -g 0 -n 50 -t
pair pingpong_checked ibv_rc_pingpong -g 0 -n 50 -c
pair pingpong_by_calls ibv_rc_pingpong -g 0 -n 50 -N
pair pingpong_long ibv_rc_pingpong -g 0 -n 20 -s 1000000
pair srq_pingpong ibv_srq_pingpong -g 0 -n 100 -q 4
pair srq_pingpong_by_events ibv_srq_pingpong -g 0 -n 50 -q 4 -e
for tool in write_lat write_bw read_lat read_bw send_lat send_bw atomic_lat atomic_bw; do
	pair perftest_$tool ib_$tool -x 0 -F -n 200
done
pair perftest_sizes ib_write_bw -x 0 -F -n 20 -a
pair perftest_events ib_send_lat -x 0 -F -n 50 -e
pair perftest_queue_pairs ib_write_bw -x 0 -F -n 50 -q 4
pair perftest_lists ib_write_bw -x 0 -F -n 64 -l 4
pair perftest_inline ib_send_lat -x 0 -F -n 100 -I 64
pair perftest_srq ib_send_bw -x 0 -F -n 100 --use-srq -q 2
pair perftest_both_ways ib_send_bw -x 0 -F -n 100 -b
pair perftest_old_post ib_write_lat -x 0 -F -n 100 --use_old_post_send

head -c 32 /dev/urandom >"$work/secret"
head -c 32 /dev/urandom >"$work/another"
chmod 600 "$work/secret" "$work/another"
server_env=(FI_EMU_SECRET_FILE="$work/secret")
client_env=("${server_env[@]}")
pair secret ibv_rc_pingpong -g 0 -n 50
client_env=(FI_EMU_SECRET_FILE="$work/another")
no_secret_in_common secret_differs
client_env=()
no_secret_in_common secret_on_one_side
exit ${status:-0}
