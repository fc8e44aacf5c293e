#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# containers.sh - nodes under steady traffic in containers, by the image emu:runtime, which docker/build.sh makes:
#   containers.sh [CASE...]
#
# Containers are killed, paused, taken off their network, and started anew under their name with another address. What must hold
# is the same as in cluster.sh. Without a name all cases run:
#   killed_and_restarted paused disconnected other_address two_networks
# Skipped by name where no engine answers, or the image is not there. Removes its containers and networks.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../tools/lib.sh"
. "$here/nodes.sh"
take_help "$@"
CASES="killed_and_restarted paused disconnected other_address two_networks"
name=emu-cluster-$$ # of all that is made

skip() {
	echo "skip containers $*"
	exit 77
}

# network NAME: with addresses that are free, and no way out; its first three bytes are in `net`.
network() {
	local tries

	for ((tries = 0; tries < 50; tries++)); do
		net=10.$((RANDOM % 156 + 100)).$((RANDOM % 256))
		! docker network create --internal --subnet "$net.0/24" --label "$name" "$name-$1" >/dev/null 2>&1 || return 0
	done
	return 1
}

# start_at ADDRESS I [SETTING...]: node I in its container. Only the traffic is not in the image.
start_at() {
	local at=$1 i=$2 setting settings=()
	shift 2

	for setting; do
		settings+=(-e "$setting")
	done
	echo heard >>"$scratch/out/node$i" # nothing yet
	docker run --rm --init --sig-proxy=false --name "$name-$i" --label "$name" --network "$name-lan" --ip "$net.$at" \
		--read-only --cap-drop ALL --security-opt no-new-privileges -v "$EMU_BUILD/tests/cluster/traffic:/traffic:ro" \
		"${settings[@]}" emu:runtime /traffic "$i" "${places[@]}" >>"$scratch/out/node$i" 2>&1 &
	node[$i]=$!
}

# nodes [SETTING...]: three of them.
nodes() {
	local i

	for i in 0 1 2; do
		start_at 1$((i + 1)) "$i" "$@"
	done
}

stop() {
	docker kill -s "$1" "$name-$2" >/dev/null
}

# tidy_up: removes all that a case has made.
tidy_up() {
	local made

	[ -z "${EMU_CLUSTER_LOGS:-}" ] || cp -r "$scratch/out" "$EMU_CLUSTER_LOGS/$case"
	made=$(docker ps -aq --filter "label=$name")
	[ -z "$made" ] || docker rm -f $made >/dev/null 2>&1
	wait
	made=$(docker network ls -q --filter "label=$name")
	[ -z "$made" ] || docker network rm $made >/dev/null 2>&1
	node=()
	rm -rf "$scratch"/out/*
}

killed_and_restarted() {
	local good=0

	network lan
	places=("$net".{11..13})
	nodes EMU_MORTAL=2 FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=1500
	moved 50 0 1 2 || good=1
	gone 2 KILL
	await says 0 '^lost 2: .* failed: .' && await says 1 '^lost 2: .* failed: .' && moved $WHILE 0 1 || good=1
	await removed 2
	start_at 13 2 EMU_MORTAL=2
	moved $WHILE 0 1 2 && finish && [ $good = 0 ]
	verdict killed_and_restarted $?
}

# removed I: its name is free again.
removed() {
	! docker inspect "$name-$1" >/dev/null 2>&1
}

paused() {
	network lan
	places=("$net".{11..13})
	nodes FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=60000
	moved 50 0 1 2 && docker pause "$name-2" >/dev/null && moved $WHILE 0 1 && docker unpause "$name-2" >/dev/null &&
		moved 50 0 1 2 && finish
	verdict paused $?
}

disconnected() {
	network lan
	places=("$net".{11..13})
	nodes FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=60000
	moved 50 0 1 2 && docker network disconnect "$name-lan" "$name-2" && moved $WHILE 0 1 &&
		docker network connect --ip "$net.13" "$name-lan" "$name-2" && moved 50 0 1 2 && finish
	verdict disconnected $?
}

# The peers know them by name. While a name leads nowhere, its peers do nothing but ask for it.
other_address() {
	local good=0

	network lan
	places=("$name"-{0..2})
	nodes EMU_MORTAL=2 FI_EMU_TIMEOUT_MS=1000 FI_EMU_RETRY_MS=1500
	moved 50 0 1 2 || good=1
	gone 2 KILL
	await removed 2
	start_at 113 2 EMU_MORTAL=2
	moved $WHILE 0 1 2 && finish && [ $good = 0 ] && grep -q "^ *2 $net.113:" "$scratch/out/node0"
	verdict other_address $?
}

# A second network beside: the address on the first is the one that peers reach.
two_networks() {
	local first

	network lan
	places=("$net".{11..13})
	nodes
	first=$net
	network wan
	docker network connect "$name-wan" "$name-0" && docker network connect "$name-wan" "$name-1" &&
		moved $WHILE 0 1 2 && finish && grep -q "^ *0 $first.11:" "$scratch/out/node1"
	verdict two_networks $?
}

for case; do
	[[ " $CASES " == *" $case "* ]] || usage_error "no such case: $case"
done
command -v docker >/dev/null || skip "docker is not installed"
timeout 20 docker info >/dev/null 2>&1 || skip "no Docker engine answers"
docker image inspect emu:runtime >/dev/null 2>&1 || skip "there is no image emu:runtime: docker/build.sh"
if [ -z "${EMU_BUILD:-}" ]; then
	build_target release traffic || exit 1
	export EMU_BUILD=$EMU_ROOT/build/release
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/$name.XXXXXX") || exit 1
trap 'tidy_up; rm -rf "$scratch"' EXIT
mkdir "$scratch/out"
case=start
docker run --rm --init --label "$name" --network none -v "$EMU_BUILD/tests/cluster/traffic:/traffic:ro" emu:runtime \
	sh -c '/traffic 2>&1 | grep -q usage:' 2>/dev/null || skip "what is built here does not run in emu:runtime"
for case in ${*:-$CASES}; do
	"$case"
done
exit $status
