#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# mpirun.sh - runs an MPI program over the provider under test: mpirun.sh [-r] [-s] [-m NAME=VALUE] RANKS COMMAND...
#   -r  one-sided communication goes by RDMA: osc rdma over btl ofi
#   -w  the program has windows: skipped where Open MPI has them by RDMA alone, unless that is asked for
#   -s  every rank is on a node of its own, as far as Open MPI can tell, so that nothing goes by shared memory; node1 and so
#       on are where the command EMU_MPI_AGENT leads, if that is set, else all here
#   -m  sets a parameter of Open MPI's
# Exit status 77, with a line that begins with `skip`, where Open MPI, or what it needs here, is not installed.
here=$(cd "$(dirname "$0")" && pwd)
options=(--oversubscribe)
messages=(--mca pml cm --mca mtl ofi --mca mtl_ofi_provider_include "${EMU_TEST_PROVIDER:-emu}")
separate= windows= rdma=

# Open MPI reaches other nodes by a command `agent HOST COMMAND...`; ours stays here. Each node has its own folder for
# what its processes share.
if [ -n "${EMU_MPI_NODES:-}" ]; then
	export TMPDIR=$EMU_MPI_NODES/$1
	mkdir -p "$TMPDIR"
	shift
	exec bash -c "$*"
fi

while getopts rswm: option; do
	case $option in
	r) rdma=1 ;;
	s) separate=1 ;;
	w) windows=1 ;;
	m) options+=(--mca "${OPTARG%%=*}" "${OPTARG#*=}") ;;
	*) exit 2 ;;
	esac
done
shift $((OPTIND - 1))
ranks=$1
shift

major=$(mpirun --version 2>/dev/null | sed -n 's/.*Open MPI) \([0-9]*\).*/\1/p')
if [ -z "$major" ]; then
	echo "skip ${1##*/} Open MPI is not installed"
	exit 77
elif ! command -v "$1" >/dev/null; then
	echo "skip ${1##*/} is not built, for want of Open MPI's headers"
	exit 77
elif [ "$major" -ge 5 ] && [ -n "$windows" ] && [ -z "$rdma" ]; then
	echo "skip ${1##*/} Open MPI $major has no windows over messages of libfabric, only by RDMA"
	exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/emu-mpi.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
export TMPDIR=$scratch
[ "$(id -u)" != 0 ] || options+=(--allow-run-as-root)
if [ -n "$rdma" ]; then
	options+=(--mca osc rdma)
	if [ "$major" -lt 5 ]; then
		options+=(--mca btl ofi,self)
	else	# whose windows take no btl beside pml cm, whatever the provider; messages go by TCP then
		messages=(--mca pml ob1 --mca btl ofi,self,tcp)
	fi
fi
options+=("${messages[@]}")
if [ -n "$separate" ]; then
	export EMU_MPI_NODES=$scratch
	agent=${EMU_MPI_AGENT:-$here/mpirun.sh}
	if [ "$major" -lt 5 ]; then
		options+=(--mca plm rsh --mca plm_rsh_agent "$agent")
	else
		options+=(--prtemca plm ssh --prtemca plm_ssh_agent "$agent")
	fi
	options+=(-H "$(seq -f 'node%g:1' -s, "$ranks")")
	for name in $(compgen -e | grep -E '^(FI_|EMU_|LD_LIBRARY_PATH$|LD_PRELOAD$|[A-Z]*SAN_OPTIONS$)'); do
		[ "$name" = EMU_MPI_NODES ] || options+=(-x "$name")
	done
fi
run=
[ "${EMU_TEST_PROVIDER:-emu}" != emu ] || run=$EMU_SOURCE_DIR/tools/emurun # a provider with sanitizers needs it
cd "$scratch" && mpirun "${options[@]}" -n "$ranks" $run "$@"
