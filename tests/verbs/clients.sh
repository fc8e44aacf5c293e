#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# clients.sh - rdma-core's pingpongs and perftest's tools over RC, UC and UD, each between two processes: clients.sh [whole].
# `whole` is each tool with each option that it has.
. "$(dirname "$0")/sides.sh"

every_option() {
	local tool

	for tool in write_bw read_bw send_bw atomic_bw; do
		pair ${tool}_both_ways ib_$tool -x 0 -F -n 50 -b
		pair ${tool}_queue_pairs ib_$tool -x 0 -F -n 50 -q 4
		pair ${tool}_lists ib_$tool -x 0 -F -n 64 -l 4
		pair ${tool}_duration ib_$tool -x 0 -F -D 1
	done
	for tool in read_bw send_bw atomic_bw read_lat send_lat atomic_lat; do
		pair ${tool}_events ib_$tool -x 0 -F -n 50 -e
	done
	for tool in write_bw read_bw send_bw write_lat read_lat send_lat; do
		pair ${tool}_sizes ib_$tool -x 0 -F -n 20 -a
	done
	for tool in write_bw send_bw write_lat send_lat; do
		pair ${tool}_inline ib_$tool -x 0 -F -n 50 -I 64 -s 64
	done
	for tool in write_bw read_bw send_bw atomic_bw write_lat read_lat send_lat atomic_lat; do
		pair ${tool}_old_post ib_$tool -x 0 -F -n 64 --use_old_post_send
	done
	pair send_lat_srq ib_send_lat -x 0 -F -n 50 --use-srq
	pair send_bw_srq_both_ways ib_send_bw -x 0 -F -n 50 --use-srq -q 4 -b
	pair send_bw_receive_lists ib_send_bw -x 0 -F -n 64 --recv_post_list 4
	pair write_bw_on_demand ib_write_bw -x 0 -F -n 50 --odp
	pair write_bw_each_completion ib_write_bw -x 0 -F -n 50 --cq-mod 1
	pair write_bw_regions ib_write_bw -x 0 -F -n 50 -q 2 --mr_per_qp
	pair write_bw_mtu ib_write_bw -x 0 -F -n 50 -m 256
	pair atomic_bw_fetch_add ib_atomic_bw -x 0 -F -n 50 -A FETCH_AND_ADD
	for tool in write_bw write_lat send_lat; do
		pair uc_${tool}_sizes ib_$tool -x 0 -F -n 20 -a -c UC
		pair uc_${tool}_inline ib_$tool -x 0 -F -n 50 -I 64 -s 64 -c UC
		pair uc_${tool}_old_post ib_$tool -x 0 -F -n 64 --use_old_post_send -c UC
	done
	pair uc_write_bw_both_ways ib_write_bw -x 0 -F -n 50 -b -q 4 -c UC
	pair uc_send_lat_events ib_send_lat -x 0 -F -n 50 -e -c UC
	pair pingpong_prefetch ibv_rc_pingpong -g 0 -n 50 -o -P
	pair pingpong_all ibv_rc_pingpong -g 0 -n 50 -e -t -c -N
	pair pingpong_mtu ibv_rc_pingpong -g 0 -n 50 -m 4096 -r 16
	pair srq_pingpong_odp ibv_srq_pingpong -g 0 -n 50 -o -c
	for tool in send_lat send_bw; do
		pair ud_${tool}_sizes ib_$tool -c UD -x 0 -F -n 50 -a
		pair ud_${tool}_old_post ib_$tool -c UD -x 0 -F -n 64 --use_old_post_send
		pair ud_${tool}_inline ib_$tool -c UD -x 0 -F -n 50 -I 64 -s 64
		pair ud_${tool}_srq ib_$tool -c UD -x 0 -F -n 50 --use-srq
	done
	pair ud_send_bw_both_ways ib_send_bw -c UD -x 0 -F -n 100 -b
	pair ud_send_lat_events ib_send_lat -c UD -x 0 -F -n 50 -e
}

# NAME: a pingpong whose client fails as on hardware, and is told of the secret.
no_secret_in_common() {
	if ! both ibv_rc_pingpong -g 0 -n 10 && grep -q "retry counter exceeded.*FI_EMU_SECRET_FILE" "$work/client"; then
		echo "ok $1"
	else
		failed "$1"
	fi
}

# NAME: ibv_asyncwatch prints the events that a plan has happen.
watches_events() {
	local try watch

	command -v ibv_asyncwatch >/dev/null || { echo "skip $1 no ibv_asyncwatch on this machine"; return; }
	printf '[%s]\nfault = event\nevent = %s\nafter = %s\n' down PORT_ERR 50ms up PORT_ACTIVE 100ms >"$work/plan"
	: >"$work/client"
	FI_EMU_FAULT=$work/plan "${run[@]}" stdbuf -oL ibv_asyncwatch >"$work/client" 2>"$work/server" &
	watch=$!
	for ((try = 0; try < 600; try++)); do
		[ "$(grep -c PORT_ "$work/client")" -lt 2 ] || break
		sleep 0.1
	done
	kill $watch
	wait $watch 2>/dev/null
	if [ "$(grep -o 'PORT_[A-Z]*' "$work/client" | paste -sd' ')" = "PORT_ERR PORT_ACTIVE" ]; then
		echo "ok $1"
	else
		failed "$1"
	fi
}

watches_events asyncwatch
pair pingpong ibv_rc_pingpong -g 0 -n 200
pair pingpong_v4 ibv_rc_pingpong -g 1 -n 200
pair pingpong_by_events ibv_rc_pingpong -g 0 -n 50 -e
pair pingpong_odp ibv_rc_pingpong -g 0 -n 50 -o
pair pingpong_timestamps ibv_rc_pingpong -g 0 -n 50 -t
pair pingpong_checked ibv_rc_pingpong -g 0 -n 50 -c
pair pingpong_device_memory ibv_rc_pingpong -g 0 -n 50 -j -c
pair pingpong_by_calls ibv_rc_pingpong -g 0 -n 50 -N
pair pingpong_long ibv_rc_pingpong -g 0 -n 20 -s 1000000
pair uc_pingpong ibv_uc_pingpong -g 0 -n 200
pair uc_pingpong_by_events ibv_uc_pingpong -g 0 -n 50 -e
pair uc_pingpong_long ibv_uc_pingpong -g 0 -n 20 -s 1000000
pair xsrq_pingpong ibv_xsrq_pingpong -g 0 -n 50
pair xsrq_pingpong_by_events ibv_xsrq_pingpong -g 0 -n 50 -e
pair srq_pingpong ibv_srq_pingpong -g 0 -n 100 -q 4
pair srq_pingpong_by_events ibv_srq_pingpong -g 0 -n 50 -q 4 -e
pair ud_pingpong ibv_ud_pingpong -g 0 -n 200
pair ud_pingpong_v4 ibv_ud_pingpong -g 1 -n 200
pair ud_pingpong_by_events ibv_ud_pingpong -g 0 -n 50 -e
for tool in send_lat send_bw; do
	pair perftest_ud_$tool ib_$tool -c UD -x 0 -F -n 100 # which the socket has room for
done
for tool in write_lat write_bw read_lat read_bw send_lat send_bw atomic_lat atomic_bw; do
	pair perftest_$tool ib_$tool -x 0 -F -n 200
done
pair perftest_sizes ib_write_bw -x 0 -F -n 20 -a
pair perftest_events ib_send_lat -x 0 -F -n 50 -e
pair perftest_queue_pairs ib_write_bw -x 0 -F -n 50 -q 4
pair perftest_lists ib_write_bw -x 0 -F -n 64 -l 4
pair perftest_inline ib_send_lat -x 0 -F -n 100 -I 64
for tool in write_bw write_lat send_lat; do
	pair perftest_uc_$tool ib_$tool -x 0 -F -n 100 -c UC
done
for tool in write_bw send_bw; do
	pair perftest_xrc_$tool ib_$tool -x 0 -F -n 100 -c XRC
done
pair perftest_srq ib_send_bw -x 0 -F -n 100 --use-srq -q 2
pair perftest_both_ways ib_send_bw -x 0 -F -n 100 -b
pair perftest_old_post ib_write_lat -x 0 -F -n 100 --use_old_post_send

[ "${1:-}" != whole ] || every_option

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
exit $status
