#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ucx.sh - ucx_perftest's tests of UCX's transport over RC queue pairs, between two processes. UCX looks for devices in
# /dev/infiniband and /sys. Its upper layer, ucp, connects by UD queue pairs, which are to come.
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
exit $status
