# SPDX-License-Identifier: BSD-2-Clause
# transfer.py - one side of a transfer by Mooncake's engine: transfer.py target | initiator SEGMENT ADDRESS
#
# The target prints its port and the address of its buffer, and looks at that buffer when its input ends.
import ctypes
import sys

from mooncake.engine import TransferEngine

SIZE = 1 << 20
HALF = SIZE // 2


def main():
    engine = TransferEngine()
    if engine.initialize("127.0.0.1", "P2PHANDSHAKE", "rdma", "emu0"):
        sys.exit("the engine does not start")
    buffer = (ctypes.c_char * SIZE)()
    here = ctypes.addressof(buffer)
    if engine.register_memory(here, SIZE):
        sys.exit("the engine does not register memory")
    if sys.argv[1] == "target":
        buffer[:] = b"t" * SIZE
        print(f"at 127.0.0.1:{engine.get_rpc_port()} {here}", flush=True)
        sys.stdin.read()
        return buffer[:HALF] != b"i" * HALF or buffer[HALF:] != b"t" * HALF
    segment, there = sys.argv[2], int(sys.argv[3])
    if engine.transfer_sync_read(segment, here, there, SIZE) or buffer[:] != b"t" * SIZE:
        sys.exit("the read fails, or brings other bytes")
    buffer[:] = b"i" * SIZE
    return engine.transfer_sync_write(segment, here, there, HALF) != 0


sys.exit(main())
