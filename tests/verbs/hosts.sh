#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hosts.sh - clients of verbs between two hosts, which are network namespaces with a shared memory of their own: hosts.sh GROUP,
# the program of group.c. Takes root, or a kernel that gives an ordinary user namespaces.
group=$1
. "$(dirname "$0")/two_hosts.sh"

# NAME ADDRESS: the index of its GID.
gid() {
	nsenter -t "${holder[$1]}" --net "${run[@]}" ibv_devinfo -v |
		awk -v end="$2," '/GID\[/ { n++ } index($0, end) && !found { found = 1; print n - 1 } END { exit !found }'
}

v4=$(gid west ::ffff:10.77.0.1) && v6=$(gid west fd77::1) || { echo "not ok gids of the addresses"; exit 1; }

pair pingpong_v4 ibv_rc_pingpong -g "$v4" -n 100 -c
pair pingpong_v6 ibv_rc_pingpong -g "$v6" -n 100 -c
pair pingpong_by_events ibv_rc_pingpong -g "$v4" -n 50 -e
pair srq_pingpong ibv_srq_pingpong -g "$v4" -n 50 -q 4
pair ud_pingpong_v4 ibv_ud_pingpong -g "$v4" -n 100
pair ud_pingpong_v6 ibv_ud_pingpong -g "$v6" -n 100
pair perftest_ud_send_lat ib_send_lat -c UD -x "$v4" -F -n 100
for tool in write_lat write_bw read_bw send_lat send_bw atomic_bw; do
	pair perftest_$tool ib_$tool -x "$v4" -F -n 100
done
pair perftest_sizes ib_write_bw -x "$v6" -F -n 20 -a

# NAME GID_INDEX: a message of the east to a group is heard in the west.
to_group() {
	local hears

	: >"$work/server"
	"${server_in[@]}" "${run[@]}" timeout 60 "$group" "$2" hear >"$work/server" 2>&1 &
	hears=$!
	until grep -q ready "$work/server"; do kill -0 $hears 2>/dev/null || { failed "$1"; return; }; sleep 0.1; done
	"${client_in[@]}" "${run[@]}" "$group" "$2" send >"$work/client" 2>&1 && wait $hears && echo "ok $1" || failed "$1"
}

to_group group_v4 "$v4"
to_group group_v6 "$v6"
exit $status
