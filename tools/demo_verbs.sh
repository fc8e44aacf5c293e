#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# demo_verbs.sh - shows programs of libibverbs on the emulated NIC, between two hosts: demo_verbs.sh
#
# First ib_write_bw of perftest, as the distribution has it, then tools/demo/verbs_rkey.c, which writes with the right rkey and
# with a wrong one. Exit status 0 only if all went as stated.
#
# The hosts are two containers of Docker without any privilege: no root, no capability, no device, a file system that is only read.
# Where no Docker engine can see this tree they are two namespaces that the user makes; where that is not allowed either, two
# processes of this machine.
#
# Installs what the build needs, and builds in build/demo, or build/release where that has been configured. EMU_BUILD=folder:
# nothing is installed or built; the programs come from there.
set -euo pipefail
. "$(dirname "$(readlink -f "$0")")/lib.sh"
take_help "$@"

build=${EMU_BUILD:-}
if [ -z "$build" ]; then
	build=$EMU_ROOT/build/release
	[ -e "$build/CMakeCache.txt" ] || build=$EMU_ROOT/build/demo
	echo "builds in $build"
	"$EMU_ROOT/tools/setup.sh" --build
	mkdir -p "$EMU_ROOT/build"
	(cd "$EMU_ROOT" && { [ -e "$build/CMakeCache.txt" ] || cmake --preset "${build##*/}"; } &&
		cmake --build "$build" --target emu-fi emu-verbs emu-cm verbs_rkey) >"$EMU_ROOT/build/demo_verbs.log" 2>&1 ||
		die "the build failed; all of it is in $EMU_ROOT/build/demo_verbs.log"
fi
build=$(cd "$build" && pwd)
program=$build/tools/demo/verbs_rkey
scratch=$(mktemp -d)
chmod 755 "$scratch"
image=emu-demo-$$
west=() east=()	# what a command runs in
west_at= east_at=

end() {
	docker rm -f $image-west $image-east >/dev/null 2>&1 || :
	docker rmi $image >/dev/null 2>&1 || :
	kill $(jobs -p) 2>/dev/null || :
	rm -rf "$scratch"
}
trap end EXIT

# NAME: a container of an empty image, with this system's programs to be read. Prints its address, if it serves for this.
container() {
	local folder folders=() address

	for folder in /usr /bin /sbin /lib /lib32 /lib64 /etc /opt "$EMU_ROOT" "$build"; do
		[ ! -e "$folder" ] || folders+=(-v "$folder:$folder:ro")
	done
	docker run -d --name "$image-$1" --cap-drop ALL --security-opt no-new-privileges --user 65534:65534 --read-only \
		--tmpfs /tmp --shm-size 64m "${folders[@]}" -v "$scratch:$scratch" $image sleep 600 >/dev/null 2>&1 || return 1
	address=$(docker inspect -f '{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}' "$image-$1")
	docker exec "$image-$1" test -p "$scratch/answers" 2>/dev/null &&
		docker exec "$image-$1" env EMU_BUILD="$build" "$EMU_ROOT/tools/emurun" "$program" index "$address" \
			>/dev/null 2>&1 && echo "$address"
}

docker_hosts() {
	command -v docker >/dev/null && docker info >/dev/null 2>&1 &&
		tar c -T /dev/null | docker import - $image >/dev/null 2>&1 &&
		west_at=$(container west) && east_at=$(container east) || return 1
	west=(docker exec $image-west) east=(docker exec $image-east)
	echo "hosts      two containers of Docker, $west_at and $east_at: no root, no capability, no device"
}

# NAME: holds a network of its own; its process in $holder.
hold() {
	unshare --net --mount sh -c 'mount -t tmpfs none /dev/shm && echo && exec sleep infinity' >"$scratch/$1" &
	holder=$!
	until [ -s "$scratch/$1" ]; do kill -0 $holder 2>/dev/null || die "no namespace could be made"; sleep 0.1; done
}

# The two ends of a cable, in namespaces of the one that this script runs in.
namespaces() {
	local first

	hold west
	first=$holder
	hold east
	ip link add west netns "$first" type veth peer name east netns "$holder"
	west=(nsenter -t "$first" --net --mount) east=(nsenter -t "$holder" --net --mount)
	west_at=10.77.0.1 east_at=10.77.0.2
	"${west[@]}" sh -c "ip link set lo up && ip link set west up && ip addr add $west_at/24 dev west"
	"${east[@]}" sh -c "ip link set lo up && ip link set east up && ip addr add $east_at/24 dev east"
	echo "hosts      two network namespaces, $west_at and $east_at"
}

spaces=(--mount --net --pid --fork --kill-child --mount-proc)
[ "$(id -u)" = 0 ] || spaces=(--user --map-root-user "${spaces[@]}")
mkfifo -m 666 "$scratch/questions" "$scratch/answers"
if [ "${1:-}" = inside ]; then
	namespaces
elif docker_hosts; then
	:
elif unshare "${spaces[@]}" ip link add west type veth peer name east 2>/dev/null; then
	end
	EMU_BUILD=$build exec unshare "${spaces[@]}" "$(readlink -f "$0")" inside
else
	west_at=127.0.0.1 east_at=127.0.0.1
	echo "hosts      two processes of this machine: no Docker engine sees this tree, and this user may have no namespaces"
fi

# on HOST CMD...: under emurun.
on() {
	local -n host=$1

	"${host[@]}" env EMU_BUILD="$build" "$EMU_ROOT/tools/emurun" "${@:2}"
}

expect() {
	grep -q "$2" "$scratch/$1" || { echo "demo_verbs.sh: $1 does not say: $2" >&2; status=1; }
}

status=0 port=18515
# perftest frees not all that it has, which a library built with the address sanitizer would tell.
perftest=(env ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" ib_write_bw -F -p $port -n 1000)
west_gid=$(on west "$program" index $west_at)
east_gid=$(on east "$program" index $east_at)
if command -v ib_write_bw >/dev/null; then
	on west "${perftest[@]}" -x "$west_gid" >"$scratch/server" 2>&1 &
	server=$!
	until "${west[@]}" grep -qi ":$(printf %04X $port) [0-9A-F:]* 0A" /proc/net/tcp /proc/net/tcp6; do
		kill -0 $server 2>/dev/null || { cat "$scratch/server" >&2; die "ib_write_bw has not begun"; }
		sleep 0.1
	done
	on east "${perftest[@]}" -x "$east_gid" "$west_at" >"$scratch/client" 2>&1 || status=1
	wait $server || status=1
	[ $status = 0 ] || tail -n 20 "$scratch/server" "$scratch/client" >&2
	echo "emurun ib_write_bw -x $east_gid -F $west_at says:"
	grep -A 1 '#bytes' "$scratch/client" | sed 's/^/    /'
	expect client '^ *65536  *1000 '
else
	echo "skip ib_write_bw, which is not on this machine (perftest)"
fi

on west "$program" target $west_at "$scratch/questions" "$scratch/answers" >"$scratch/target" 2>&1 &
target=$!
on east "$program" initiator $east_at "$scratch/answers" "$scratch/questions" >"$scratch/initiator" 2>&1 || status=1
wait $target || status=1
echo "A program that writes with an rkey, and with a wrong one:"
sed 's/^/    /' "$scratch/initiator"
echo "Its target:"
sed 's/^/    /' "$scratch/target"
expect initiator 'ibv_wc_status_str: success'
expect initiator 'ibv_wc_status_str: remote access error: remote write of 4096 B .* no region of the target.s PD has this rkey'
expect target 'no region of the target.s PD has this rkey'
[ $status = 0 ] || die "not all went as stated"
echo "demo       all went as stated"
