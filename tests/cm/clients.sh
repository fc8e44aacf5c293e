#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# clients.sh - programs of rdma_cm, each between two processes: clients.sh [whole]. `whole` is each tool of perftest.
. "$(dirname "$0")/../verbs/sides.sh"
listens=udp

cat >"$work/flagged" <<'END'
#!/bin/bash
# flagged CLIENT_WORDS SERVER_WORDS PROGRAM OPTION... [ADDRESS]: for programs that take the server's address behind a flag
client=$1 server=$2 program=$3 last=${!#}
shift 3
if [[ $last == *[.:]* ]]; then exec "$program" $client "$last" "${@:1:$#-1}"; else exec "$program" $server "$@"; fi
END
chmod +x "$work/flagged"

cat >"$work/fio_side" <<'END'
#!/bin/bash
# fio_side VERB -p PORT [ADDRESS]: moves 1 MiB to or from the server's memory. Whose rw is `read` is the server, whatever the verb.
common="[side]\nioengine=rdma\nport=$3\nbs=4k\nsize=1m\niodepth=4\n"
if [ $# = 4 ]; then job="hostname=$4\nverb=$1\nrw=write\n"; else job="rw=read\n"; fi
exec fio <(printf "$common$job")
END
cat >"$work/qperf_side" <<'END'
#!/bin/bash
# qperf_side -p PORT [ADDRESS]: each of its tests over RC, and then the server ends
if [ $# = 2 ]; then exec qperf --listen_port "$2"; fi
tests=(rc_lat rc_bw rc_bi_bw rc_rdma_write_lat rc_rdma_write_bw rc_rdma_write_poll_lat rc_rdma_read_lat rc_rdma_read_bw
	rc_fetch_add_mr rc_compare_swap_mr ver_rc_fetch_add ver_rc_compare_swap)
qperf --listen_port "$2" "$3" -cm1 -t 1 "${tests[@]}" && qperf --listen_port "$2" "$3" quit
END
cat >"$work/pingpong_side" <<'END'
#!/bin/bash
# pingpong_side PROVIDER ENDPOINTS -p PORT [ADDRESS]: libfabric's, over its own provider verbs and layers of it
if [ $# = 5 ]; then to=(-P "$4" "$5"); else to=(-B "$4"); fi
FI_PROVIDER=verbs,ofi_rxm,ofi_rxd exec fi_pingpong -p "$1" -e "$2" -I 20 -c "${to[@]}"
END
chmod +x "$work/fio_side" "$work/qperf_side" "$work/pingpong_side"

# NAME PROGRAM WRAPPER OPTION...
wrapped() {
	local name=$1
	command -v "$2" >/dev/null || { echo "skip $name no $2 on this machine"; return; }
	shift 2
	pair "$name" "$@"
}

# NAME CLIENT_WORDS SERVER_WORDS PROGRAM OPTION...
flag_pair() {
	local name=$1
	shift
	command -v "$3" >/dev/null || { echo "skip $name no $3 on this machine"; return; }
	if both "$work/flagged" "$@"; then echo "ok $name"; else failed "$name"; fi
}

# NAME CLIENT SERVER OPTION...: two programs that are one pair
named_pair() {
	local name=$1 client=$2 server=$3
	shift 3
	command -v "$server" >/dev/null || { echo "skip $name no $server on this machine"; return; }
	printf '#!/bin/bash\ncase $1 in -s) exec %s "$@" ;; *) exec %s "$@" ;; esac\n' "$client" "$server" >"$work/named"
	chmod +x "$work/named"
	flag_pair "$name" -s "" "$work/named" "$@"
}

flag_pair rping "-c -a" -s rping -C 10
if grep -qs '^0*1 ' /proc/net/if_inet6; then
	server_at=::1
	flag_pair rping_ipv6 "-c -a" "-s -a ::1" rping -C 10
	server_at=127.0.0.1
fi
flag_pair rping_checked "-c -a" -s rping -v -V -C 20 -S 500
flag_pair ucmatose -s "" ucmatose -c 5 -C 10 -S 1000
named_pair rdma_client rdma_client rdma_server
for kind in r x; do
	named_pair rdma_xclient_$kind rdma_xclient rdma_xserver -c $kind
done
for tool in write_lat send_bw read_bw; do
	pair perftest_$tool ib_$tool -R -F -n 100
done
pair perftest_ud_send_lat ib_send_lat -R -c UD -F -n 100
head -c 32 /dev/urandom >"$work/secret"
chmod 600 "$work/secret"
server_env=(FI_EMU_SECRET_FILE="$work/secret")
client_env=("${server_env[@]}")
flag_pair secret "-c -a" -s rping -C 10
client_env=()
if command -v rping >/dev/null; then
	if ! both "$work/flagged" "-c -a" -s rping -C 10 && grep -q 'UNREACHABLE.*-13' "$work/client"; then
		echo "ok secret_on_one_side"
	else
		failed secret_on_one_side
	fi
fi
server_env=()
if [ "${1:-}" = whole ]; then
	for tool in write_bw read_lat send_lat atomic_lat atomic_bw; do
		pair perftest_$tool ib_$tool -R -F -n 100
	done
	pair perftest_queue_pairs ib_write_bw -R -F -n 50 -q 4
	pair perftest_events ib_send_lat -R -F -n 50 -e
	pair perftest_ud_send_bw ib_send_bw -R -c UD -F -n 100 -q 2
	pair perftest_ud_events ib_send_lat -R -c UD -F -n 50 -e
	pair perftest_sizes ib_send_bw -R -F -n 20 -a
	for verb in write read; do
		wrapped fio_$verb fio "$work/fio_side" $verb
	done
	listens=tcp
	wrapped qperf qperf "$work/qperf_side"
	unset LD_LIBRARY_PATH # the libfabric that setup.sh builds is without that provider
	if FI_PROVIDER=verbs "${run[@]}" env FI_PROVIDER=verbs fi_info 2>/dev/null | grep -q '^provider: verbs$'; then
		for kind in 'verbs msg' 'verbs dgram' 'verbs;ofi_rxm rdm' 'verbs;ofi_rxd rdm'; do
			pair "libfabric_${kind//[; ]/_}" "$work/pingpong_side" $kind
		done
	else
		echo "skip libfabric_verbs this machine's libfabric has no provider verbs"
	fi
fi
exit $status
