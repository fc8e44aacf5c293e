#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# allgather.sh - MPICH's allgather in place is told by emurun --check, and accepted by the file of expectations that is installed.
here=$(cd "$(dirname "$0")" && pwd)
program='
from mpi4py import MPI
comm = MPI.COMM_WORLD
for block in range(1, 300):
    data = bytearray(block * comm.size)
    data[block * comm.rank:block * (comm.rank + 1)] = bytes([comm.rank + 1]) * block
    comm.Allgather(MPI.IN_PLACE, data)
    assert all(data[i] == i // block + 1 for i in range(len(data))), block
'
check() { # OPTION...
	said=$(timeout 120 "$EMU_SOURCE_DIR/tools/emurun" --check "$@" "$here/registry.sh" mpich 2 -c "$program" 2>&1)
}

export FI_EMU_PERSONALITY=lax
check
status=$?
[ $status != 77 ] || { echo "$said"; exit 77; }
if [ $status = 0 ]; then
	echo "skip allgather this MPICH sends from no buffer that it receives into"
	exit 77
fi
if [ $status != 86 ] || ! grep -q 'error: receive-buffer-used: ' <<<"$said"; then
	echo "not ok allgather_is_told status $status: $(tail -n 1 <<<"$said")"
	exit 1
fi
echo "ok allgather_is_told"
if check --expect "$EMU_SOURCE_DIR/tools/expect/mpich.expect"; then
	echo "ok allgather_is_expected"
else
	echo "not ok allgather_is_expected $(tail -n 1 <<<"$said")"
	exit 1
fi
