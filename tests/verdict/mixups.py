# SPDX-License-Identifier: BSD-2-Clause
# mixups.py - each mix-up between two processes is told as what it is. mixups.py PROGRAM, in the environment of runner.sh.
import json
import os
import sys

from records import EMURUN, has, main, run, same

PROGRAM = sys.argv[1]
# What the report says, of the cases of verdict_mixups.c. The target says it, but for the last three.
SAYS = {
    "descriptor": "The key is the local descriptor of this region.",
    "swapped": "Key and address are swapped",
    "asked": "The key is what this region asked for",
    "half": "The key is the lower half of this region's.",
    "turned": "The key is this region's with its bytes in the reverse order.",
    "address_as_key": "The key is an address in this region.",
    "other_key": "This region holds the range under another key.",
    "offset": "The address is an offset",
    "other_range": "Another region holds the range",
    "page": "The range is off by one page.",
    "element": "The range is off by one element of 64 B.",
    "word": "The range is off by 8 B.",
    "rights": "This region holds the same bytes and allows it.",
    "anew": "The memory was registered anew",
    "own_descriptor": "The key is the descriptor of a region of this process.",
    "own_key": "The key is that of a region of this process.",
    "own_address": "The remote address lies in a region of this process.",
}


def is_told(case):
    def told(folder):
        path = os.path.join(folder.path, "out.json")
        answer = run(EMURUN, "--check", "--report", path, PROGRAM, case)
        same(answer.returncode, 86)
        has(answer.stderr, "nearest    " + SAYS[case])
        with open(path, encoding="utf-8") as file:
            one, = (one for one in json.load(file)["findings"] if one["kind"] == "refusal")
        side = one["initiator" if case.startswith("own_") else "target"]
        has(side["nearest"]["what"], SAYS[case])
    told.__name__ = case
    return told


cases = run(PROGRAM).stdout.split()
same(sorted(cases), sorted(SAYS))
main([is_told(case) for case in cases])
