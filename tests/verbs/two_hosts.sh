# SPDX-License-Identifier: BSD-2-Clause
# two_hosts.sh - to be sourced, with the script's arguments: sides.sh with the server on another host than the client. These are
# network namespaces, west and east, with a shared memory of their own and a cable between them, at 10.77.0.1 and 10.77.0.2, fd77::1
# and fd77::2. Takes root, or a kernel that gives an ordinary user namespaces.
if [ "${TWO_HOSTS:-}" != inside ]; then
	for program in ip unshare nsenter ibv_rc_pingpong; do
		command -v $program >/dev/null || { echo "skip hosts no $program on this machine"; exit 77; }
	done
	spaces=(--mount --net --pid --fork --kill-child --mount-proc)
	[ "$(id -u)" = 0 ] || spaces=(--user --map-root-user "${spaces[@]}")
	unshare "${spaces[@]}" ip link add west type veth peer name east 2>/dev/null ||
		{ echo "skip hosts this user may have no network of its own here"; exit 77; }
	TWO_HOSTS=inside exec unshare "${spaces[@]}" "$0" "$@"
fi
. "$(dirname "${BASH_SOURCE[0]}")/sides.sh"

# NAME NUMBER: one end of the cable, with addresses. Both are there at once, as is the index of their GIDs.
host() {
	nsenter -t "${holder[$1]}" --net sh -c "ip link set lo up && ip link set $1 addrgenmode none up &&
		ip addr add 10.77.0.$2/24 dev $1 && ip addr add fd77::$2/64 nodad dev $1"
}

declare -A holder
for name in west east; do
	unshare --net --mount sh -c 'mount -t tmpfs none /dev/shm && echo && exec sleep infinity' >"$work/$name" &
	holder[$name]=$!
	until [ -s "$work/$name" ]; do kill -0 $! || exit 1; sleep 0.1; done
done
ip link add west netns "${holder[west]}" type veth peer name east netns "${holder[east]}"
host west 1 && host east 2 || exit 1
server_in=(nsenter -t "${holder[west]}" --net --mount)
client_in=(nsenter -t "${holder[east]}" --net --mount)
server_at=10.77.0.1
server_net=/proc/${holder[west]}/net
