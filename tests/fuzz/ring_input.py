#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""ring_input.py - an input of the fuzz target ring, of one or two real trace files: ring_input.py RING [RING] >INPUT

Takes the head, and of each block the head and its records, each as a piece by itself, as long as the input stays small."""
import struct
import sys

HEAD, HEAD_USED, BLOCK, BLOCK_HEAD, BLOCKS_MIN, ROOM = 4096, 352, 65536, 32, 8, 6000


def piece(ring, place, data):
    return struct.pack("<BH", ring << 7 | place, len(data)) + data


def records_of(block):
    used, at = struct.unpack_from("<I", block, 24)[0], BLOCK_HEAD
    while at < used:
        length = struct.unpack_from("<I", block, at + 4)[0]
        yield block[at:at + length]
        at += length


def pieces_of(ring, data):
    head = bytearray(data[:HEAD_USED])
    blocks, cold = struct.unpack_from("<II", head, 24)
    struct.pack_into("<II", head, 24, BLOCKS_MIN, 1)
    out = piece(ring, 0, bytes(head))
    for place, index in ((1, 0), (2, cold)):
        block = data[HEAD + index * BLOCK:HEAD + (index + 1) * BLOCK]
        out += piece(ring, place, block[:24] + bytes(8))  # how much of it counts goes by what is taken
        for record in records_of(block):
            if len(out) + len(record) > ROOM * place // 2:
                break
            out += piece(ring, place, record)
    return out


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[1].startswith("-"):
        helps = sys.argv[1:] == ["--help"]
        wrong = f"unknown option {sys.argv[1]}" if sys.argv[1:2] and sys.argv[1].startswith("-") else "name one or two trace files"
        print(__doc__ if helps else f"ring_input.py: {wrong}; --help says more",
              file=sys.stdout if helps else sys.stderr)
        return 0 if helps else 2
    for ring, path in enumerate(sys.argv[1:]):
        with open(path, "rb") as file:
            sys.stdout.buffer.write(pieces_of(ring, file.read()))
    return 0


sys.exit(main())
