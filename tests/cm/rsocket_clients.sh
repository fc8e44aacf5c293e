#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# rsocket_clients.sh - programs of rsockets, each between two processes: rsocket_clients.sh [whole]. `whole` is each size.
. "$(dirname "$0")/../verbs/sides.sh"
listens=udp # which a program has at its number if it uses rsockets, and no TCP port
tcp_side=$EMU_BUILD/tests/cm/tcp_side

cat >"$work/stream_side" <<'END_OF_SIDE'
#!/bin/bash
# stream_side PROGRAM OPTION... -p PORT [ADDRESS]
if [[ ${!#} == *.* ]]; then exec "${@:1:$#-1}" -s "${!#}"; else exec "$@"; fi
END_OF_SIDE
cat >"$work/copy_side" <<'END_OF_SIDE'
#!/bin/bash
# copy_side FROM TO -p PORT [ADDRESS]: the server takes no end, so it is told by its client's
if [ $# = 4 ]; then
	rcopy -p "$4" &
	until [ -e "$2.done" ]; do sleep 0.1; done
	kill $!
	exit 0
fi
rcopy "$1" "$5:$2" -p "$4"
code=$?
touch "$2.done"
exit $code
END_OF_SIDE
cat >"$work/dgram_side" <<'END_OF_SIDE'
#!/bin/bash
# dgram_side PROGRAM OPTION... -p PORT [ADDRESS]: likewise; it is at one address, as it is none that all have
if [[ ${!#} == *.* ]]; then
	"${@:1:$#-1}" -s "${!#}"
	code=$?
	touch "$(dirname "$0")/${*: -2:1}.done"
	exit $code
fi
"$@" -b 127.0.0.1 &
until [ -e "$(dirname "$0")/${!#}.done" ]; do sleep 0.1; done
kill $!
END_OF_SIDE
chmod +x "$work/stream_side" "$work/copy_side" "$work/dgram_side"

# NAME PROGRAM OPTION...
stream_pair() {
	local name=$1 side=$work/stream_side
	shift
	command -v "$1" >/dev/null || { echo "skip $name no $1 on this machine"; return; }
	[ "$1" = udpong ] && side=$work/dgram_side
	if both "$side" "$@" && ! grep -h warn "$work/client" "$work/server"; then
		echo "ok $name"
	else
		failed "$name"
	fi
}

copies() {
	command -v rcopy >/dev/null || { echo "skip rcopy no rcopy on this machine"; return; }
	head -c 5000001 /dev/urandom >"$work/file"
	if both "$work/copy_side" "$work/file" "$work/there" && both "$work/copy_side" "$work/there" "$work/back" &&
		cmp "$work/file" "$work/back" >>"$work/client"; then
		echo "ok rcopy"
	else
		failed rcopy
	fi
}

# NAME PROGRAM OPTION...: a program of TCP sockets, with librdmacm's library that has them be rsockets
preloaded() {
	local name=$1 library
	shift
	library=$(ls /usr/lib/*/rsocket/librspreload.so.1 2>/dev/null | head -n 1)
	[ "$library" ] || { echo "skip $name no librspreload on this machine"; return; }
	if ldd "$EMU_BUILD/emu/verbs/lib/libibverbs.so.1" | grep -q libtsan; then
		echo "skip $name calls come from within those of ThreadSanitizer, which follows no locks then"
		return
	fi
	server_env=(LD_PRELOAD="$library")
	client_env=("${server_env[@]}")
	pair "$name" "$@"
	server_env=()
	client_env=()
}

stream_pair rstream rstream -I 3 -C 20 -S 70000
stream_pair rstream_async rstream -I 3 -C 20 -S 5000 -T a -T v
stream_pair rstream_blocking rstream -I 3 -C 20 -S 100001 -T b -T v
stream_pair rstream_both rstream -I 3 -C 20 -S 100001 -T a -T b -T v
stream_pair rstream_nonblocking rstream -I 3 -C 20 -T n -T v
stream_pair rstream_resolved rstream -I 3 -C 20 -T r -T v
stream_pair rstream_small_buffers rstream -I 2 -C 10 -B 700 -S 3001 -i 0 -T v
stream_pair rstream_keepalive rstream -I 2 -C 10 -k 20
stream_pair riostream riostream -I 3 -C 20 -S 70001 -T v
stream_pair riostream_blocking riostream -I 3 -C 20 -S 1000 -T b -T v
stream_pair udpong udpong -C 200 -S 1000
stream_pair udpong_blocking udpong -C 200 -S 64 -T b
stream_pair udpong_async udpong -C 200 -S 2000 -T a
stream_pair udpong_echo udpong -C 20 -S 1000 -T b -T e
copies
preloaded preloaded "$tcp_side"
if [ "${1:-}" = whole ]; then
	stream_pair rstream_sizes rstream -S all
	stream_pair rstream_sizes_blocking rstream -T b -T a
	stream_pair riostream_sizes riostream -I 10 -C 10 -S 1000000 -T a
	cat >"$work/iperf_side" <<-'END'
		#!/bin/bash
		# iperf_side -p PORT [ADDRESS]
		if [ $# = 3 ]; then exec iperf3 -c "$3" -p "$2" -n 50M; else exec iperf3 -s -1 -p "$2"; fi
	END
	chmod +x "$work/iperf_side"
	if command -v iperf3 >/dev/null; then
		preloaded iperf "$work/iperf_side"
	else
		echo "skip iperf no iperf3 on this machine"
	fi
fi
exit $status
