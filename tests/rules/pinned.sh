#!/bin/sh
# SPDX-License-Identifier: BSD-2-Clause
# pinned.sh - all rules once more, where the NIC pins what is registered: pinned.sh KIT
# Skipped where no process may pin, which the kit's own test of S81 names, and for users that may not pin much.
set -u

CAP_IPC_LOCK=14

"$1" --rule S81 | grep 'not applicable' | grep FI_EMU_PINNED && exit 77
caps=$(sed -n 's/^CapEff:[[:space:]]*//p' /proc/self/status)
if [ "$(ulimit -l)" != unlimited ] && [ $((0x$caps >> CAP_IPC_LOCK & 1)) = 0 ]; then
	echo "RLIMIT_MEMLOCK is $(ulimit -l) KiB, and some tests register more"
	exit 77
fi
FI_EMU_PINNED=1 exec "$1" --tap --mode allocated
