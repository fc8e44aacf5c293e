#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test_nodes.sh - what the nodes of compose.yml do, without an engine: processes on the loopback interface, and in a
# network of their own, with names of their own, where the kernel lets this user have that. Environment: EMU_SOURCE_DIR,
# EMU_BUILD.
set -uo pipefail
# Else timeout sends SIGCONT behind each signal, which can undo the stop by which the leak sanitizer looks at a process that ends.
node=(timeout --foreground 120 "$EMU_SOURCE_DIR/tools/emurun" "$EMU_BUILD/docker/emu-node")
status=0

# verdict NAME PASSED
verdict() {
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		cat "$out"/* 2>/dev/null
		echo "not ok $1"
		status=1
	fi
	rm -f "$out"/*
}

# table ARG...: in the background; then `ends STATUS SENTENCE` waits for it, and for the nodes.
table() {
	FI_EMU_IFACE=lo "${node[@]}" --table "$@" >"$out/table" 2>&1 &
	table=$!
}

join() {
	local at

	for at; do
		"${node[@]}" --join "$at" >"$out/node-$at" 2>&1 &
	done
}

ends() {
	local got=0

	wait "$table" || got=$?
	wait
	[ "$got" = "$1" ] && grep -q -e "$2" "$out/table"
}

# says FILE SENTENCE: waits until a process has written that.
says() {
	local tries

	for ((tries = 0; tries < 300; tries++)); do
		! grep -qs -e "$2" "$out/$1" || return 0
		sleep 0.1
	done
	return 1
}

# refused SENTENCE COMMAND...: ends by itself with status 1 and the sentence.
refused() {
	local sentence=$1 got=0
	shift

	"$@" >"$out/table" 2>&1 || got=$?
	[ $got = 1 ] && grep -q -e "$sentence" "$out/table"
}

# A port from which on `count` are free now, as far as /proc tells.
free_ports() {
	local count=$1 port taken

	while :; do
		port=$((20000 + RANDOM % 12000)) taken=
		for ((i = port; i < port + count; i++)); do
			! grep -qs ":$(printf %04X "$i") " /proc/net/tcp /proc/net/tcp6 || taken=1
		done
		[ "$taken" ] || break
	done
	echo "$port"
}

on_loopback() {
	local port places

	port=$(free_ports 4)
	mapfile -t places < <(seq -f '127.0.0.1:%.0f' "$port" $((port + 3)))
	join "${places[@]}"
	EMU_NODES=4 table "${places[@]}"
	ends 0 'all moved and intact: 4 nodes'
	verdict four_nodes $?

	"${node[@]}" 1 "${places[@]:0:2}" >"$out/node" 2>&1 &
	"${node[@]}" 0 "${places[@]:0:2}" >"$out/table" 2>&1 &
	table=$!
	ends 0 'all moved and intact: 2 nodes'
	verdict listed_nodes $?

	join "${places[0]}"
	EMU_NODES=2 EMU_WAIT_S=2 table "${places[0]}" "${places[1]}"
	ends 1 "^${places[1]} has the address ${places[1]} and does not answer there, after 2 s" &&
		grep -q -e 'told to end: \|does not answer' "$out/node-${places[0]}"
	verdict missing_node $?

	EMU_WAIT_S=1 refused "^the name .no-such-node.invalid' does not resolve, after 1 s: start that service" \
		"${node[@]}" --table no-such-node.invalid
	verdict unresolved_name $?
	EMU_WAIT_S=1 EMU_NODES=3 refused "^2 of 3 nodes (EMU_NODES) came in 1 s: .*--scale node=3" \
		"${node[@]}" --table "${places[@]:0:2}"
	verdict too_few_nodes $?
	EMU_NODES=2 refused '^3 nodes are there, and EMU_NODES is 2' "${node[@]}" --table "${places[@]:0:3}"
	verdict more_than_expected $?
	EMU_NODES=65 refused '^EMU_NODES=65: it takes a number from 2 to 64' "${node[@]}" --table "${places[0]}"
	verdict too_many_expected $?
	EMU_WAIT_S=1 refused "^no table has started the node at ${places[0]} in 2 s" "${node[@]}" --join "${places[0]}"
	verdict no_table $?
	refused '192.0.2.1:7471, which must be an address of this host' "${node[@]}" --join 192.0.2.1
	verdict strange_address $?

	join "${places[0]}"
	says "node-${places[0]}" 'waits for the table'
	refused 'Address already in use' "${node[@]}" --join "${places[0]}"
	verdict port_in_use $?
	kill $!
	wait

	EMU_NODES=2 table "${places[0]}" no-such-node.invalid
	says table 'looks for nodes'
	kill -TERM "$table"
	ends 1 'stopped while it waited for the nodes to have addresses'
	verdict stopped $?
}

# With its own /etc/hosts, where lines come and go as they do in the name service of an engine.
by_name() {
	local hosts=$out/../hosts i

	echo '127.0.0.1 localhost' >"$hosts"
	mount --bind "$hosts" /etc/hosts
	ip link set lo up
	for i in $(seq 65); do
		ip addr add "10.99.0.$i/24" dev lo
	done
	for i in $(seq 8); do
		ip addr add "fd00:99::$i/64" dev lo nodad
	done

	seq -f '10.99.0.%g node' 8 >>"$hosts"
	join $(seq -f '10.99.0.%g' 8)
	EMU_NODES=8 table node
	ends 0 'all moved and intact: 8 nodes'
	verdict eight_by_name $?

	seq -f 'fd00:99::%g node' 8 >>"$hosts"
	export EMU_FAMILY=6
	join $(seq -f '[fd00:99::%g]' 8)
	table node # without EMU_NODES: the list has settled
	ends 0 'all moved and intact: 8 nodes' && grep -q '\[fd00:99::8\]:7471' "$out/table"
	verdict ipv6 $?
	unset EMU_FAMILY

	echo '10.99.0.1 late' >>"$hosts"
	join 10.99.0.1
	EMU_NODES=2 table late
	says table 'looks for nodes'
	echo '10.99.0.2 late' >>"$hosts"
	join 10.99.0.2
	ends 0 'all moved and intact: 2 nodes'
	verdict late_node $?

	table late
	says table 'starts 2 nodes'
	echo '10.99.0.3 late' >>"$hosts"
	join 10.99.0.1 10.99.0.2
	ends 1 '^10.99.0.3:7471 came late and was left out'
	verdict late_node_left_out $?

	# As Compose does when a node is killed: its name goes, and all are told to stop.
	printf '10.99.0.%s\n' '50 alpha pair' '51 beta pair' >>"$hosts"
	EMU_NODES=3 table pair
	says table '2 nodes are there'
	grep -v beta "$hosts" >"$hosts.new"
	cat "$hosts.new" >"$hosts"
	kill -TERM "$table"
	ends 1 '^stopped, and beta had ended before'
	verdict killed_node $?

	seq -f '10.99.0.%g many' 65 >>"$hosts"
	refused '^65 nodes are there, and a table takes at most 64' "${node[@]}" --table many
	verdict too_many_nodes $?
}

if [ "${1:-}" = by_name ]; then
	out=$2
	by_name
	exit $status
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-nodes.XXXXXX") || exit 1
out=$scratch/out
mkdir "$out"
trap 'kill $(jobs -p) 2>/dev/null; rm -rf "$scratch"' EXIT
on_loopback
spaces=(--mount --net)
[ "$(id -u)" = 0 ] || spaces=(--user --map-root-user "${spaces[@]}")
if ! command -v ip >/dev/null; then
	echo "skip by_name ip (iproute2) is not installed"
elif ! unshare "${spaces[@]}" sh -c 'mount --bind /etc/hostname /etc/hosts' 2>/dev/null; then
	echo "skip by_name this user may have no network of its own here"
else
	unshare "${spaces[@]}" "$BASH" "$0" by_name "$out" || status=1
fi
exit $status
