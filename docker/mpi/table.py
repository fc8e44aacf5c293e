# SPDX-License-Identifier: BSD-2-Clause
"""table.py - each rank sends to and receives from every other, over the provider emu; rank 0 prints who did.

    mpirun [-n RANKS] python3 table.py

Exit status 0 if all arrived intact."""
import sys
import time

from mpi4py import MPI

BYTES = 1 << 20
comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size


def pattern(source, target):
    return bytes((source * 31 + target * 7 + i) & 255 for i in range(256)) * (BYTES // 256)


began = time.monotonic()
intact = 0
for step in range(1, size):
    target, source = (rank + step) % size, (rank - step) % size
    got = bytearray(BYTES)
    comm.Sendrecv(pattern(rank, target), target, recvbuf=got, source=source)
    intact += got == pattern(source, rank)
took_ms = (time.monotonic() - began) * 1000
total = comm.allreduce(rank)
rows = comm.gather((rank, MPI.Get_processor_name(), intact, total, took_ms), root=0)
good = True
if rank == 0:
    print(f"{'rank':>4}  {'host':<16} {'received B':>12}   intact    {'sum':>6} {'ms':>8}")
    for peer, host, arrived, total, took_ms in rows:
        print(f"{peer:>4}  {host:<16} {(size - 1) * BYTES:>12} {arrived:>3} of {size - 1:<3} {total:>6} {took_ms:>8.1f}")
        good = good and arrived == size - 1 and total == size * (size - 1) // 2
    good = good and size > 1
    print(f"{'all' if good else 'NOT all'} arrived intact: {size} ranks on {len({row[1] for row in rows})} hosts")
sys.exit(not comm.bcast(good))
