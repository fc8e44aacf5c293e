#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hosts.sh - rdmacm-utils' programs for datagrams, groups and rsockets, between two processes of one host, and between two hosts:
# hosts.sh LATE, the program of late.c.
command -v mckey >/dev/null || { echo "skip hosts no mckey on this machine"; exit 77; }
late=$1
. "$(dirname "$0")/../verbs/two_hosts.sh"

# NAME FILE PATTERN SERVER CLIENT: two command lines. The client begins when that file of the server's /proc/net has the pattern:
# a number of rdma_cm that is taken, or a group that is heard.
ends() {
	local name=$1 file=$server_net/$2 pattern=$3 serves=$4 asks=$5 server
	"${server_in[@]}" "${run[@]}" timeout 60 $serves >"$work/server" 2>&1 &
	server=$!
	until grep -qi "$pattern" "$file"; do kill -0 $server 2>/dev/null || break; sleep 0.1; done
	if "${client_in[@]}" "${run[@]}" timeout 60 $asks >"$work/client" 2>&1 && wait $server; then
		echo "ok $name"
	else
		failed "$name"
	fi
}

number=:1C06   # udaddy's
rsocket_number=:1D2F
in_v4=4D4D4DEF # 239.77.77.77
in_v6=ff150000000000000000000000000077

# SUFFIX CLIENT'S_ADDRESS: each program, where the client has these addresses.
programs() {
	ends udaddy_$1 udp $number "udaddy -c 3 -C 10 -S 1000" "udaddy -s 10.77.0.1 -c 3 -C 10 -S 1000"
	ends udaddy_bound_$1 udp $number "udaddy -b 10.77.0.1 -p 0x111" "udaddy -s 10.77.0.1 -b 10.77.0.$2 -p 0x111"
	ends udaddy_v6_$1 udp6 $number "udaddy -b fd77::1" "udaddy -s fd77::1"
	ends rstream_$1 udp $rsocket_number "rstream -I 3 -C 20 -S 70000 -T v" "rstream -s 10.77.0.1 -I 3 -C 20 -S 70000 -T v"
	ends rstream_v6_$1 udp6 $rsocket_number "rstream -b fd77::1 -I 3 -T b -T v" "rstream -s fd77::1 -I 3 -T b -T v"
	ends mckey_$1 igmp $in_v4 "mckey -m 239.77.77.77 -b 10.77.0.1 -C 20 -S 1000" \
		"mckey -m 239.77.77.77 -s -b 10.77.0.$2 -C 20 -S 1000 -p 0x111"
	ends mckey_sends_only_$1 igmp $in_v4 "mckey -m 239.77.77.77 -b 10.77.0.1" "mckey -m 239.77.77.77 -s -o -b 10.77.0.$2"
	ends mckey_v6_$1 igmp6 $in_v6 "mckey -m ff15::77 -b fd77::1" "mckey -m ff15::77 -s -b fd77::$2"
	ends mckey_v6_sends_only_$1 igmp6 $in_v6 "mckey -m ff15::77 -b fd77::1" "mckey -m ff15::77 -s -o -b fd77::$2"
}

# The asking side's cable is pulled between its request and the reply. It loses its address of IPv6 by that.
out_of_reach() {
	local server client

	mkfifo "$work/go" && exec 9<>"$work/go"
	"${server_in[@]}" env FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=300 "${run[@]}" timeout 60 "$late" <&9 >"$work/server" 2>&1 &
	server=$!
	until grep -qi ":$(printf %04X 7174)" "$server_net/udp"; do kill -0 $server 2>/dev/null || break; sleep 0.1; done
	"${client_in[@]}" "${run[@]}" timeout 60 rping -c -a 10.77.0.1 -C 1 >"$work/client" 2>&1 &
	client=$!
	until grep -q asked "$work/server"; do kill -0 $server $client 2>/dev/null || break; sleep 0.1; done
	"${client_in[@]}" ip link set east down
	echo >&9
	if wait $server && grep -q "RDMA_CM_EVENT_UNREACHABLE -110, accepted" "$work/server"; then
		echo "ok out_of_reach"
	else
		failed out_of_reach
	fi
	kill $client
	wait $client
}

programs hosts 2
out_of_reach
client_in=("${server_in[@]}")
programs processes 1

# A host as a container is at first: its only address of IPv6 may not be bound yet, as duplicates of it are looked for.
unshare --net --mount sh -c 'mount -t tmpfs none /dev/shm && ip link add near type veth peer name far && ip link set lo up &&
	ip link set far up && echo 1000 >/proc/sys/net/ipv6/conf/near/dad_transmits && ip link set near up &&
	until ip addr show dev near | grep -q tentative; do sleep 0.1; done && echo && exec sleep infinity' >"$work/young" &
holder[young]=$!
until [ -s "$work/young" ]; do kill -0 $! || exit 1; sleep 0.1; done
server_in=(nsenter -t "${holder[young]}" --net --mount)
client_in=("${server_in[@]}")
server_net=/proc/${holder[young]}/net
ends unproved_address udp $number "udaddy -b 127.0.0.1" "udaddy -s 127.0.0.1"
exit $status
