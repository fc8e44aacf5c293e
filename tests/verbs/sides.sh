# SPDX-License-Identifier: BSD-2-Clause
# sides.sh - to be sourced: programs of others as a server and a client, two processes of this machine.
run=("$EMU_SOURCE_DIR/tools/emurun")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# Below those that the system gives, which devices and clients have. Scripts that run at a time have near PIDs, and count up apart.
port=$((10000 + $$ * 131 % 20000))
server_env=()
client_env=()
server_in=() # what the two run in, where that is not this host
client_in=()
server_at=127.0.0.1
server_net=/proc/net
listens=tcp # udp: the server is one of rdma_cm
status=0

# PROGRAM OPTION...: a server, and a client as soon as that listens. 0 when both have ended well.
both() {
	local try ASAN_OPTIONS=${ASAN_OPTIONS:-}
	[[ $1 == ibv_* ]] || ASAN_OPTIONS+=:detect_leaks=0 # others free not all that they have
	port=$((port + 1))
	"${server_in[@]}" env "${server_env[@]}" "${run[@]}" "$@" -p $port >"$work/server" 2>&1 &
	for ((try = 0; try < 600; try++)); do # a client that comes too early finds nobody, and ends
		grep -qiE "^ *[0-9]*: [0-9A-F:]*:$(printf %04X $port) [0-9A-F:]* 0[7A]" \
			$server_net/$listens $server_net/${listens}6 && break
		kill -0 $! 2>/dev/null || break
		sleep 0.1
	done
	if "${client_in[@]}" env "${client_env[@]}" "${run[@]}" "$@" -p $port $server_at >"$work/client" 2>&1; then
		wait $!
	else
		kill $! 2>/dev/null
		wait $! # and not for what else this shell has in the background
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
