#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ucx.sh - ucx_perftest's tests of UCX's transports over RC and over UD queue pairs, and of its upper layer, ucp, which connects RC
# queue pairs by UD ones, between two processes; and of Open MPI over that. UCX looks for devices in /dev/infiniband and /sys.
. "$(dirname "$0")/sides.sh"
run+=(--sys)

# NAME TEST [OPTION...]
transport() {
	pair "$1" ucx_perftest -d emu0:1 -x rc_verbs -w 10 -n 100 -t "${@:2}"
}

transport put_lat put_lat
transport put_copied put_lat -D bcopy -s 2048
transport put_bw put_bw
transport put_large put_bw -D zcopy -s 65536
transport get_copied get -D bcopy
transport get get -D zcopy -s 65536
transport am_lat am_lat
transport am_copied am_lat -D bcopy -s 2048
transport am_bw am_bw
transport am_lists am_bw -D zcopy -s 4096
transport add_lat add_lat
transport add_rate add_mr
transport fadd fadd
transport cswap cswap
for test in am_lat am_bw; do
	pair ud_$test ucx_perftest -d emu0:1 -x ud_verbs -w 10 -n 100 -t $test
done
pair ud_am_copied ucx_perftest -d emu0:1 -x ud_verbs -w 10 -n 100 -t am_lat -D bcopy -s 512
for transports in ud_v,self rc_v,ud_v,self; do
	server_env=(UCX_TLS=$transports)
	client_env=("${server_env[@]}")
	for test in tag_lat tag_bw ucp_put_bw ucp_get; do
		pair ${transports%%,*}_$test ucx_perftest -w 10 -n 100 -t $test -s 16384
	done
done

# Open MPI's pml ucx, which is above that: three ranks.
open_mpi() {
	command -v mpirun >/dev/null && /usr/bin/python3 -c 'import mpi4py' 2>/dev/null ||
		{ echo "skip $1 no Open MPI or no mpi4py on this machine"; return; }
	: >"$work/server"
	if ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 timeout 120 "${run[@]}" mpirun --allow-run-as-root --oversubscribe -np 3 \
		--mca pml ucx -x UCX_TLS=rc_v,ud_v,self -x UCX_NET_DEVICES=emu0:1 /usr/bin/python3 "$(dirname "$0")/ring.py" \
		>"$work/client" 2>&1; then
		echo "ok $1"
	else
		failed "$1"
	fi
}

open_mpi open_mpi
exit $status
