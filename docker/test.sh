#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# test.sh - builds the images and runs the demonstrations of the compose files; makes the base image first if none can be
# fetched. Without an option: emu:runtime, and what needs no more. --all: emu:mpi, emu:verbs and emu:lab as well, which takes
# some minutes the first time. Removes its containers, volumes and networks, and leaves the images for the next time.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../tools/lib.sh"
options=--all
take_help "$@"
project=emu-test-$$
size_max=$((60 * 1000 * 1000))
status=0

skip() {
	echo "skip docker $*"
	exit 0
}

# compose FILE[,FILE] ARG...
compose() {
	local files=(-p "$project") file

	for file in ${1//,/ }; do
		files+=(-f "$file")
	done
	run_compose "${files[@]}" "${@:2}"
}

down() {
	compose "$here/compose.yml,$here/compose.verbs.yml" down -v --remove-orphans -t 1 >/dev/null 2>&1
	docker volume rm "${project}_keys" "${project}_home" >/dev/null 2>&1
}

# verdict NAME PASSED: prints what was written, and removes the containers.
verdict() {
	if [ "$2" = 0 ]; then
		echo "ok $1"
	else
		cat "$scratch/log"
		echo "not ok $1"
		status=1
	fi
	down
}

# demo SERVICE FILES ARG...: runs a demonstration, which ends as that service does.
demo() {
	compose "$2" up --no-build --exit-code-from "$1" "${@:3}" >"$scratch/log" 2>&1
}

says() {
	grep -q -e "$1" "$scratch/log"
}

# Each image as a container that may do nothing: it answers, is healthy, is not root, and cannot write.
confined() {
	local name id health tries=0

	: >"$scratch/log"
	for name in "$@"; do
		id=$(docker run -d --read-only --cap-drop ALL --security-opt no-new-privileges --health-interval 1s --tmpfs /tmp \
			"emu:$name" sleep infinity) || return 1
		until health=$(docker inspect -f '{{.State.Health.Status}}' "$id") && [ "$health" = healthy ]; do
			((tries++ < 600)) || break
			sleep 0.1
		done
		docker exec "$id" sh -c 'id -u; fi_info -p emu | grep -m1 provider:
			! touch /etc/x 2>/dev/null && ! touch ~/x 2>/dev/null && echo read-only
			(emuctl --help && emu_trace --help && emu_perf --help && emu_rules -h && emurun fi_info -p emu) >/dev/null
			echo tools $?' 2>&1 | grep -xE '[0-9]+|provider: emu|read-only|tools .*' >"$scratch/out"
		docker rm -f "$id" >/dev/null
		{
			echo "$name: $health"
			cat "$scratch/out"
		} >>"$scratch/log"
		[ "$health" = healthy ] &&
			[ "$(tr '\n' ' ' <"$scratch/out")" = "1000 provider: emu read-only tools 0 " ] || return 1
	done
}

# By the two lines that the template's text names.
own_program() {
	mkdir -p "$scratch/app"
	printf '#!/bin/sh\necho "own program at $(hostname -i)"; exec fi_pingpong -p emu -e msg "$@"\n' >"$scratch/app/mine"
	chmod -R a+rX "$scratch" && chmod 755 "$scratch/app/mine"
	sed -e 's|command: .*# 1:.*|command: ./mine|' -e 's|command: .*# 2:.*|command: ./mine server|' "$here/compose.app.yml" \
		>"$here/compose.$project.yml" # beside the others, since paths are from there
	EMU_APP_DIR=$scratch/app demo client "$here/compose.$project.yml"
}

mpi() {
	compose "$here/compose.mpi.yml" run --rm -T head "$@" >"$scratch/log" 2>&1 </dev/null
}

mpi_demos() {
	mpi && says '^all arrived intact: 4 ranks on 2 hosts'
	verdict mpi_table $?
	EMU_WORKERS=3 compose "$here/compose.mpi.yml" up -d --no-build --scale worker=3 worker >"$scratch/log" 2>&1 &&
		EMU_WORKERS=3 compose "$here/compose.mpi.yml" run --rm -T --no-deps head mpirun -n 6 python3 -c \
			'from mpi4py import MPI; w = MPI.COMM_WORLD; print("rank", w.rank, w.allreduce(1), flush=True)' \
			>>"$scratch/log" 2>&1 </dev/null && [ "$(grep -c '^rank [0-5] 6' "$scratch/log")" = 6 ]
	verdict mpi_three_workers $?
	! mpi mpirun -n 2 false
	verdict mpi_failure $?
	! EMU_WAIT_S=2 compose "$here/compose.mpi.yml" run --rm -T --no-deps head true >"$scratch/log" 2>&1 &&
		says "the name .worker' does not resolve, after 2 s: start the workers"
	verdict mpi_no_workers $?
}

# carried NAME: this interface of the client has received and sent what 100 pings of 60,000 bytes are.
carried() {
	grep -oE "$1: .*" "$scratch/log" | awk '{ exit !($2 > 6000000 && $10 > 6000000) }'
}

verbs_demos() {
	local verbs=$here/compose.verbs.yml

	demo perftest "$verbs" perftest && says ' RDMA_Write BW Test' && says ' 65536 *5000 '
	verdict verbs_perftest $?
	EMU_PERFTEST='ib_send_lat -R -n 100' demo perftest "$verbs" perftest && says 'rdma_cm QPs.*: ON' && says ' 2 *100 '
	verdict verbs_perftest_rdma_cm $?
	EMU_PERFTEST='ib_send_bw -c UD -n 100' demo perftest "$verbs" perftest && says ' 1024 *100 '
	verdict verbs_perftest_datagrams $?
	! EMU_PERFTEST='ib_write_bw -d none' demo perftest "$verbs" perftest
	verdict verbs_failure $?
	demo fio "$verbs" fio && says 'issued rwts: total=0,1024,0,0'
	verdict verbs_fio $?
	demo rdma_cm "$verbs" rdma_cm && says 'rping with server-left: done' && says 'rping with server-right: done' &&
		carried eth0 && carried eth1
	verdict verbs_rdma_cm_two_networks $?
}

lab() {
	local own='#include <rdma/fabric.h>\nint main(void) { return fi_version() < FI_VERSION(1, 17); }\n'

	compose "$here/compose.lab.yml" run --rm -T lab sh -c 'cd && printf "$0" >own.c && cc -g own.c -lfabric -o own &&
		gdb -batch -ex run ./own && ./own' "$own" >"$scratch/log" 2>&1 </dev/null
	verdict lab_compiles $?
	compose "$here/compose.lab.yml" run --rm -T lab lab check all --solution >"$scratch/log" 2>&1 </dev/null
	verdict lab_solutions $?
}

[ -z "${1:-}" ] || all=1
scratch=$(mktemp -d "${TMPDIR:-/tmp}/$project.XXXXXX") || exit 1
trap 'down; rm -rf "$scratch" "$here/compose.$project.yml"' EXIT
command -v docker >/dev/null || skip "docker is not installed"
has_compose || skip "Docker Compose is not installed"
images=(runtime ${all:+mpi verbs lab})
docker image ls -q --filter dangling=true | sort >"$scratch/dangling"
"$here/build.sh" "${images[@]}" 2>"$scratch/log"
case $? in
0) ;;
77) skip "$(sed -n 's/^build.sh: //p' "$scratch/log")" ;;
*)
	cat "$scratch/log"
	echo "not ok images"
	exit 1
	;;
esac
echo "ok images"
[ -z "$(docker image ls -q --filter dangling=true | sort | comm -13 "$scratch/dangling" -)" ]
verdict no_image_without_name $?

base=$(docker history -q --no-trunc emu:runtime | grep sha256 | tail -n 1)
size=$(($(docker image inspect -f '{{.Size}}' emu:runtime) - $(docker image inspect -f '{{.Size}}' "$base")))
echo "emu:runtime is $((size / 1000000)) MB above its base" | tee "$scratch/log"
[ $size -le $size_max ]
verdict size $?
confined "${images[@]}"
verdict confined $?

nodes=$here/compose.yml
demo table "$nodes" && says 'all moved and intact: 4 nodes'
verdict four_nodes $?
EMU_NODES=8 demo table "$nodes" --scale node=8 && says 'all moved and intact: 8 nodes'
verdict eight_nodes $?
EMU_NODES=4 demo table "$nodes,$here/compose.ipv6.yml" && says 'all moved and intact: 4 nodes' &&
	says '\[fd00:656d:75::.*]:7471'
verdict ipv6 $?
! EMU_WAIT_S=4 demo table "$nodes" --scale node=1 && says 'only .*node.1 came in 4 s, and it takes two'
verdict one_node $?
printf 'services:\n  node:\n    mem_limit: 24m\n' >"$scratch/memory.yml"
! EMU_NODES=8 demo table "$nodes,$scratch/memory.yml" --scale node=8 &&
	says '8 nodes take 40 MiB in .*node.*fewer nodes'
verdict too_many_for_memory $?
! EMU_WAIT_S=2 compose "$nodes" run --rm -T --no-deps table >"$scratch/log" 2>&1 </dev/null &&
	says "the name .node' does not resolve, after 2 s: start that service"
verdict no_nodes $?

demo client "$here/compose.app.yml" && says '1m  *10  *=10'
verdict app_template $?
own_program && says 'own program at' && says '1m  *10  *=10'
verdict own_program $?

if [ -n "${all:-}" ]; then
	mpi_demos
	verbs_demos
	lab
else
	echo "skip mpi, verbs, lab: docker/test.sh --all"
fi
exit $status
