#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# cluster.sh - nodes under steady traffic on hosts of their own, which are network namespaces with a bridge between them:
#   cluster.sh [CASE...]
#
# Nodes are killed, paused, cut off and restarted meanwhile. Nothing may be lost or doubled among those that live, an op with
# one that is dead ends in an error in words, and no other node needs to be restarted. Without a name all cases run:
#   mtu_1280 killed_and_restarted paused cut_and_rejoined cut_off_for_long packets_lost loss_and_delay rolling_restart
#   two_networks one_address other_address port_range translated mpi
# Takes root, or a kernel that gives an ordinary user namespaces. What cannot run here is skipped by name.
here=$(cd "$(dirname "$0")" && pwd)

# Open MPI reaches a host by a command `agent HOST COMMAND...`: this one enters the host's namespaces.
if [ -n "${EMU_CLUSTER_HOSTS:-}" ]; then
	read -r pid <"$EMU_CLUSTER_HOSTS/$1"
	exec nsenter -t "$pid" --net --uts "$here/../mpi/mpirun.sh" "$@"
fi

. "$here/../../tools/lib.sh"
. "$here/nodes.sh"
take_help "$@"
CASES="mtu_1280 killed_and_restarted paused cut_and_rejoined cut_off_for_long packets_lost loss_and_delay rolling_restart
	two_networks one_address other_address port_range translated mpi"
NET=10.77.0 WAN=10.78.0 # of the bridges

# --- hosts ---

declare -A host # the process that holds a host's namespaces

# For a process in the background, whose number is then the command's own.
exec_in_host() {
	exec nsenter -t "${host[$1]}" --net --uts "${@:2}"
}

in_host() {
	(exec_in_host "$@")
}

# own_network PID: has it left this one?
own_network() {
	[ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

# host_open I: a host without an interface.
host_open() {
	unshare --net --uts sleep infinity &
	host[$1]=$!
	await own_network "${host[$1]}"
	echo "${host[$1]}" >"$scratch/hosts/node$1"
	in_host "$1" ip link set lo up
	in_host "$1" hostname "node$1" 2>/dev/null
}

# plug I BRIDGE ADDRESS [MTU]: gives it an interface, which is named for the bridge.
plug() {
	ip link add "$2-$1" mtu "${4:-1500}" type veth peer name "$2" mtu "${4:-1500}" netns "${host[$1]}"
	ip link set "$2-$1" master "$2" up
	in_host "$1" ip addr add "$3/24" dev "$2"
	in_host "$1" ip link set "$2" up
}

# bridge NAME [MTU]
bridge() {
	ip link add "$1" mtu "${2:-1500}" type bridge
	ip link set "$1" up
}

# hosts COUNT [MTU]: on one bridge, which is all that most cases need.
hosts() {
	local i

	bridge lan "${2:-1500}"
	places=()
	for ((i = 0; i < $1; i++)); do
		host_open "$i"
		plug "$i" lan "$NET.$((i + 1))" "${2:-1500}"
		places+=("$NET.$((i + 1))")
	done
}

cut_off() {
	ip link set "lan-$1" down
}

rejoin() {
	ip link set "lan-$1" up
}

# can_filter RULES: does the kernel take them?
can_filter() {
	command -v nft >/dev/null && nft -f - <<<"$1" 2>/dev/null && nft flush ruleset
}

# packets RULES I...: nft's rules for them on these hosts.
packets() {
	local i

	for i in "${@:2}"; do
		in_host "$i" nft -f - <<<"$1"
	done
}

# Ends what a case has made.
tidy_up() {
	local i link

	[ -z "${EMU_CLUSTER_LOGS:-}" ] || cp -r "$scratch/out" "$EMU_CLUSTER_LOGS/$case"
	for i in "${node[@]}" "${host[@]}"; do
		kill -KILL "$i" && wait "$i"
	done 2>/dev/null
	for link in $(ip -o link 2>/dev/null | sed -n 's/^[0-9]*: \([a-z]*\(-[0-9]*\)\{0,1\}\)[@:].*/\1/p'); do
		[ "$link" = lo ] || ip link del "$link" 2>/dev/null
	done
	node=() host=()
	rm -rf "$scratch"/out/* "$scratch"/hosts/*
}

# --- nodes ---

# start I [SETTING...]: the node on that host, with `places`.
start() {
	local i=$1
	shift

	echo heard >>"$scratch/out/node$i" # nothing yet
	exec_in_host "$i" env "$@" "$EMU_ROOT/tools/emurun" "$EMU_BUILD/tests/cluster/traffic" "$i" "${places[@]}" \
		>>"$scratch/out/node$i" 2>&1 &
	node[$i]=$!
}

start_all() {
	local i

	for i in "${!places[@]}"; do
		start "$i" "$@"
	done
}

# start_unnamed OWN [SETTING...]: all nodes of `places`, each with OWN in the place of its own address.
start_unnamed() {
	local own=$1 all=("${places[@]}") i
	shift

	for i in "${!all[@]}"; do
		places=("${all[@]}")
		places[i]=$own
		start "$i" "$@"
	done
	places=("${all[@]}")
}

# stop SIGNAL I
stop() {
	kill -"$1" "${node[$2]}"
}

# --- cases ---

mtu_1280() {
	hosts 3 1280
	start_all
	moved $WHILE 0 1 2 && finish
	verdict mtu_1280 $?
}

killed_and_restarted() {
	local i good=0

	hosts 4
	start_all EMU_MORTAL=3
	moved 50 0 1 2 3 || good=1
	gone 3 KILL
	for i in 0 1 2; do
		await says "$i" '^lost 3: .* failed: .*' || good=1
	done
	moved $WHILE 0 1 2 || good=1
	start 3
	moved $WHILE 0 1 2 3 && finish && [ $good = 0 ]
	verdict killed_and_restarted $?
}

paused() {
	hosts 4
	start_all FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=60000
	moved 50 0 1 2 3 && stop STOP 3 && moved $WHILE 0 1 2 && stop CONT 3 && moved 50 0 1 2 3 && finish
	verdict paused $?
}

# For longer than a connection may be silent, and shorter than the budget.
cut_and_rejoined() {
	hosts 4
	start_all FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=60000
	moved 50 0 1 2 3 && cut_off 3 && moved $WHILE 0 1 2 && rejoin 3 && moved 50 0 1 2 3 && finish
	verdict cut_and_rejoined $?
}

# For longer than the budget: both sides are told, and both go on with each other afterwards.
cut_off_for_long() {
	local i good=0

	hosts 4
	for i in 0 1 2; do
		start $i FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=1500 EMU_MORTAL=3
	done
	start 3 FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=1500 EMU_MORTAL=0,1,2
	moved 50 0 1 2 3 || good=1
	cut_off 3
	for i in 0 1 2; do
		await says $i '^lost 3: .* failed: .*retry budget' && await says 3 "^lost $i: .* failed: .*retry budget" || good=1
	done
	moved $WHILE 0 1 2 || good=1
	rejoin 3
	moved $WHILE 0 1 2 3 && finish && [ $good = 0 ]
	verdict cut_off_for_long $?
}

packets_lost() {
	if ! can_filter "$(lossy)"; then
		echo "skip packets_lost nft (nftables), or its numgen, is not here"
		return
	fi
	hosts 3
	packets "$(lossy)" 0 1 2
	start_all
	moved $WHILE 0 1 2 && finish
	verdict packets_lost $?
}

lossy() {
	echo 'table inet lossy { chain input { type filter hook input priority 0; numgen random mod 100 < 2 drop; }; }'
}

loss_and_delay() {
	local i

	hosts 3
	for i in 0 1 2; do
		if ! in_host $i tc qdisc add dev lan root netem loss 2% delay 50ms 2>"$scratch/out/tc"; then
			echo "skip loss_and_delay the kernel has no netem ($(tail -n 1 "$scratch/out/tc"))"
			tidy_up
			return
		fi
	done
	start_all
	moved 100 0 1 2 && finish
	verdict loss_and_delay $?
}

# Each in turn, and the others go on: half of them die, half leave.
rolling_restart() {
	local i j good=0

	hosts 4
	start_all EMU_MORTAL=0,1,2,3
	moved 50 0 1 2 3 || good=1
	for i in 0 1 2 3; do
		[ $((i % 2)) = 0 ] && gone $i KILL || gone $i INT
		for j in 0 1 2 3; do
			[ $i = $j ] || await says $j "^lost $i: .* failed: ." || good=1
		done
		start $i EMU_MORTAL=0,1,2,3
		moved 100 0 1 2 3 || good=1
	done
	finish && [ $good = 0 ]
	verdict rolling_restart $?
}

# All are on two networks, and FI_EMU_IFACE names the one that they use: that the other goes is nothing to them.
two_networks() {
	local i

	hosts 3
	bridge wan
	for i in 0 1 2; do
		plug $i wan $WAN.$((i + 1))
	done
	places=($WAN.{1..3})
	start_unnamed '*:7471' FI_EMU_IFACE=wan
	moved 50 0 1 2 && cut_off 0 && cut_off 1 && cut_off 2 && moved $WHILE 0 1 2 && finish
	verdict two_networks $?
}

# Node 0 is on two networks, names no address, and shares one network with each of the others. An endpoint has one address, that
# of the first interface. A node of the other network learns in words that no endpoint answers there.
one_address() {
	local i

	bridge lan
	bridge wan
	for i in 0 1 2; do
		host_open $i
	done
	plug 0 lan $NET.1
	plug 0 wan $WAN.1
	plug 1 lan $NET.2
	plug 2 wan $WAN.3
	places=('*:7471' $NET.2 -)
	start 0
	places=($NET.1 $NET.2 -)
	start 1
	places=($WAN.1 - $WAN.3)
	start 2 EMU_MORTAL=0
	moved $WHILE 0 1 && await says 2 '^does not reach 0: .*no endpoint.* answers at the peer.s address' && finish
	verdict one_address $?
}

# resolves I ADDRESS: its name.
resolves() {
	sed "/ node$1\$/d" "$scratch/etc_hosts" >"$scratch/etc_hosts.new"
	echo "$2 node$1" >>"$scratch/etc_hosts.new"
	cat "$scratch/etc_hosts.new" >"$scratch/etc_hosts" # which is mounted
}

# A node that starts anew under its name, with another address.
other_address() {
	local i good=0

	hosts 3
	for i in 0 1 2; do
		resolves $i "${places[$i]}"
	done
	places=(node0 node1 node2)
	start_all EMU_MORTAL=2 FI_EMU_RETRY_MS=1500 FI_EMU_TIMEOUT_MS=1000
	moved 50 0 1 2 || good=1
	gone 2 KILL
	in_host 2 ip addr del $NET.3/24 dev lan
	in_host 2 ip addr add $NET.103/24 dev lan
	resolves 2 $NET.103
	start 2 EMU_MORTAL=2
	moved $WHILE 0 1 2 && finish && [ $good = 0 ] && grep -q "^ *2 $NET.103:7471" "$scratch/out/node0"
	verdict other_address $?
}

# All that a host lets in is TCP to the ports of FI_EMU_PORTS.
firewall() {
	echo 'table inet wall { chain input { type filter hook input priority 0; policy drop; ct state established accept
		meta l4proto icmp accept; tcp dport 47000 accept; }; }'
}

port_range() {
	if ! can_filter "$(firewall)"; then
		echo "skip port_range nft (nftables) is not here, or finds no connections tracked"
		return
	fi
	hosts 3
	packets "$(firewall)" 0 1 2
	places=($NET.{1..3}:47000)
	start_unnamed '*' FI_EMU_PORTS=47000-47000
	moved $WHILE 0 1 2 && finish
	verdict port_range $?

	hosts 2
	packets "$(firewall)" 0 1
	places=($NET.{1..2}:48000)
	start_all FI_EMU_RETRY_MS=1500 EMU_MORTAL=0,1
	await says 0 '^does not reach 1: .*retry budget' && await says 1 '^does not reach 0: .*retry budget'
	verdict port_out_of_range $?
}

# A node behind address translation, which tells its peers the router's address; and one that does not, as they say.
translated() {
	if ! can_filter "$(router)"; then
		echo "skip translated nft (nftables) is not here, or translates no addresses"
		return
	fi
	behind_router FI_EMU_ADVERTISE=$NET.9
	moved $WHILE 0 1 2 && finish && ! grep -q 'addresses are translated' "$scratch"/out/node*
	verdict translated $?
	behind_router
	await says 0 "<warn> $NET.9:7471 says that its address is $WAN.2:7471: addresses are translated" &&
		moved $WHILE 0 1 2 && finish
	verdict translated_unsaid $?
}

# behind_router [SETTING...]: of the node there.
behind_router() {
	hosts 2
	bridge inner
	host_open 2
	host_open 3
	plug 3 lan $NET.9
	plug 3 inner $WAN.1
	plug 2 inner $WAN.2
	in_host 2 ip route add default via $WAN.1
	packets "$(router)" 3
	in_host 3 sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
	places=($NET.1 $NET.2 $NET.9)
	start 0 FI_LOG_LEVEL=warn
	start 1 FI_LOG_LEVEL=warn
	places[2]='*:7471'
	start 2 "$@"
}

# Host 3 is the router of host 2: it lets in connections to the port of the node there, and none out.
router() {
	echo "table ip router {
		chain inward { type nat hook prerouting priority -100; iifname lan tcp dport 7471 dnat to $WAN.2; };
		chain through { type filter hook forward priority 0; iifname inner ct state new reject with tcp reset; }; }"
}

# Eight hosts with a rank each, in a job that is begun outside of them.
mpi() {
	local i job=("$here/../mpi/mpirun.sh" -s 8)

	if ! /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || ! command -v mpirun >/dev/null; then
		echo "skip mpi Open MPI, or MPI for Python, is not installed"
		return
	fi
	bridge lan
	ip addr add $NET.254/24 dev lan
	for i in {1..8}; do
		host_open "$i"
		plug "$i" lan $NET."$i"
	done
	export EMU_SOURCE_DIR=$EMU_ROOT EMU_CLUSTER_HOSTS=$scratch/hosts EMU_MPI_AGENT=$here/cluster.sh
	# What Python and Open MPI leave is theirs.
	ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=0 "${job[@]}" /usr/bin/python3 "$here/../../docker/mpi/table.py" \
		>"$scratch/out/table" 2>&1 && grep -q '^all arrived intact: 8 ranks on 8 hosts' "$scratch/out/table"
	verdict mpi_table $?
	unset EMU_CLUSTER_HOSTS EMU_MPI_AGENT
}

if [ "${1:-}" = inside ]; then
	scratch=$2
	shift 2
	mkdir -p "$scratch/out" "$scratch/hosts"
	mount --bind "$scratch/etc_hosts" /etc/hosts
	ip link set lo up
	for case in ${*:-$CASES}; do
		began=$SECONDS
		"$case"
		[ -z "${EMU_CLUSTER_TIMES:-}" ] || echo "$case took $((SECONDS - began)) s"
	done
	exit $status
fi

for case; do
	[[ " $(echo $CASES) " == *" $case "* ]] || usage_error "no such case: $case"
done
if [ -z "${EMU_BUILD:-}" ]; then
	build_target release traffic && build_target release emu-fi || exit 1
	export EMU_BUILD=$EMU_ROOT/build/release
	find_libfabric
fi
for program in ip unshare nsenter; do
	command -v $program >/dev/null || { echo "skip cluster $program is not installed"; exit 77; }
done
# All that runs there ends with its first process.
spaces=(--mount --net --uts --pid --fork --kill-child --mount-proc)
[ "$(id -u)" = 0 ] || spaces=(--user --map-root-user "${spaces[@]}")
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-cluster.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
echo '127.0.0.1 localhost' >"$scratch/etc_hosts"
try='mount --bind "$0" /etc/hosts && ip link add lan type bridge'
if ! unshare "${spaces[@]}" sh -c "$try" "$scratch/etc_hosts" 2>/dev/null; then
	echo "skip cluster this user may have no network of its own here"
	exit 77
fi
with=()
! command -v setpriv >/dev/null || with=(setpriv --pdeathsig KILL) # if this script is killed itself
"${with[@]}" unshare "${spaces[@]}" "$BASH" "$here/cluster.sh" inside "$scratch" "$@" &
inside=$!
trap 'kill -KILL "$inside" 2>/dev/null; wait; rm -rf "$scratch"' EXIT
wait "$inside"
