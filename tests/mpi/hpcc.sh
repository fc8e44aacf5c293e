#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# hpcc.sh - the HPC Challenge programs over the provider: hpcc.sh MPIRUN_ARGUMENT... Linear algebra, transposition,
# random updates and Fourier transforms of distributed arrays, each of which checks its own result. hpccinf.txt has the
# sizes.
here=$(cd "$(dirname "$0")" && pwd)

# As a rank, in the folder where all ranks run: rank 0 reads the input there, and leaves its report.
if [ "${1:-}" = as_rank ]; then
	cp "$here/hpccinf.txt" "hpccinf.txt.$OMPI_COMM_WORLD_RANK"
	mv "hpccinf.txt.$OMPI_COMM_WORLD_RANK" hpccinf.txt
	hpcc || exit 1
	[ "$OMPI_COMM_WORLD_RANK" != 0 ] || mv hpccoutf.txt "$EMU_HPCC_REPORT"
	exit 0
fi

command -v hpcc >/dev/null || { echo "skip hpcc no hpcc on this machine"; exit 77; }
EMU_HPCC_REPORT=$(mktemp) || exit 1
export EMU_HPCC_REPORT
trap 'rm -f "$EMU_HPCC_REPORT"' EXIT
"$here/mpirun.sh" "$@" "$here/hpcc.sh" as_rank
status=$?
[ $status != 77 ] || exit 77
[ $status = 0 ] || { echo "not ok hpcc exit status $status"; exit 1; }

. "$here/../verdict.sh"
has finished "$EMU_HPCC_REPORT" '^Success=1$'
has linear_algebra "$EMU_HPCC_REPORT" '^ *1 tests completed and passed residual checks,$'
has transposition "$EMU_HPCC_REPORT" '^PTRANS_residual=0$'
has random_access "$EMU_HPCC_REPORT" '^MPIRandomAccess_Errors=0$'
has random_access_lcg "$EMU_HPCC_REPORT" '^MPIRandomAccess_LCG_Errors=0$'
has fourier_transform "$EMU_HPCC_REPORT" '^MPIFFT_maxErr=[0-9.]*e-1[0-9]$'
exit $failed
