#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# told.sh - a window of MPICH under strict, without the setting that cures it: the log says what MPICH did and names the
# setting.
here=$(cd "$(dirname "$0")" && pwd)
program='import array; from mpi4py import MPI; MPI.Win.Create(array.array("i", [0]), 4, comm=MPI.COMM_WORLD).Free()'

export FI_EMU_PERSONALITY=strict FI_LOG_LEVEL=warn
said=$(timeout 120 "$here/registry.sh" mpich 2 -c "$program" 2>&1)
status=$?
[ $status != 77 ] || { echo "$said"; exit 77; }
if [ $status = 0 ]; then
	echo "skip told this MPICH binds no region to a transmit context"
elif grep -q 'to a transmit context of a scalable endpoint.*MPIR_CVAR_CH4_OFI_ENABLE_SCALABLE_ENDPOINTS=0' <<<"$said"; then
	echo "ok told"
else
	echo "not ok told $(tail -n 1 <<<"$said")"
	exit 1
fi
