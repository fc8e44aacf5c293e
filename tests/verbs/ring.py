# SPDX-License-Identifier: BSD-2-Clause
# ring.py - ranks of MPI pass messages of several sizes around, each of which adds to it: ring.py, by mpirun.
from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
for length in (1, 1000, 20000, 300000):
    buffer = bytearray(length)
    for turn in range(5):
        if rank == 0:
            comm.Send(bytes([turn]) * length, dest=1)
            comm.Recv(buffer, source=size - 1)
            assert buffer == bytes([turn + size - 1]) * length, (length, turn)
        else:
            comm.Recv(buffer, source=rank - 1)
            comm.Send(bytes(byte + 1 for byte in buffer), dest=(rank + 1) % size)
assert comm.allreduce(rank) == size * (size - 1) // 2
