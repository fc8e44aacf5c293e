#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""picture.py - draws what a program's NICs did, from a trace of a run: picture.py EMU_TRACE TRACE_FOLDER >picture.svg

Down the page is time, one row for each operation that the initiator posted: an arrow from its lane to the target's, dashed where
data come back, red where the target refuses. To the right are the target's regions, with the bytes that each operation meant."""

import html
import json
import os
import re
import subprocess
import sys
import tempfile

ROW, TOP, LEFT, RIGHT, WIDTH = 42, 70, 90, 430, 900
BOX_LEFT, BOX_WIDTH, MOST = 520, 330, 9
KEYED = ("write", "read", "atomic")  # what names a region of the target's
INK, RED, BLUE, PALE = "#222222", "#b3261e", "#1f5f99", "#e8eef4"


class Op:
    def __init__(self, begin):
        told = begin["args"]
        self.kind = begin["name"].split()[0]
        self.length = told.get("length", 0)
        self.outcome, self.injected = told.get("outcome"), told.get("inject", False)
        self.refused = self.outcome not in ("done", None)
        self.key, self.addr = told.get("key"), int(told.get("addr", "0"), 0)
        self.why = ""

    def text(self):
        return f"{self.kind} {self.length} B" + (f": {self.why or 'error'}" if self.refused else "")


class Region:
    def __init__(self, match):
        self.key, self.addr, self.length = match["key"], int(match["addr"], 0), int(match["length"])
        self.rights = match["rights"] or "no right of a peer's"


def read_trace(emu_trace, folder):
    """The initiator's operations by time, and the target's regions by key. `emu_trace`: the words of the command."""
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        subprocess.run([*emu_trace, "--perfetto", file.name, folder], check=True)
        told = json.load(file)
    events = told["traceEvents"] if isinstance(told, dict) else told
    process = {one["pid"]: one["args"]["process"] for one in events if one["name"] == "process_name"}
    initiator = next((one["pid"] for one in events if one.get("cat") == "op"), None)
    ops = [Op(one) for one in events if one.get("cat") == "op" and one["ph"] == "b" and one["pid"] == initiator]
    causes = [one["name"].split(": ")[1] for one in events if one.get("cat") == "refusal" and one["pid"] == initiator]
    for op, cause in zip([op for op in ops if op.refused], causes):
        op.why = "refused, " + cause
    lines = subprocess.run([*emu_trace, "--text", "--ops", folder], check=True, stdout=subprocess.PIPE, text=True).stdout
    opened = re.compile(r"^\s*\S+ (?P<pid>\d+) region opened: key (?P<key>\S+) addr (?P<addr>\S+) length (?P<length>\d+)"
                        r"(, (?P<rights>.*))?$", re.M)
    regions = {one["key"]: Region(one) for one in opened.finditer(lines) if int(one["pid"]) != process.get(initiator)}
    return ops, regions


def line(x1, y1, x2, y2, colour, more=""):
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{colour}" stroke-width="1.6" {more}/>'


def text(x, y, words, colour=INK, size=14, anchor="start"):
    return f'<text x="{x}" y="{y}" fill="{colour}" font-size="{size}" text-anchor="{anchor}">{html.escape(words)}</text>'


def head(x, y, left, colour):
    away = 9 if left else -9
    return f'<path d="M{x} {y} l{away} -5 l0 10 z" fill="{colour}"/>'


def arrows(op, y):
    colour = RED if op.refused else BLUE
    yield text((LEFT + RIGHT) / 2, y - 6, op.text(), colour, anchor="middle")
    yield line(LEFT, y, RIGHT, y, colour)
    if op.refused:
        yield f'<path d="M{RIGHT - 6} {y - 6} l12 12 m0 -12 l-12 12" stroke="{RED}" stroke-width="2.4" fill="none"/>'
    else:
        yield head(RIGHT, y, False, colour)
    if op.kind == "read" and not op.refused:
        yield line(LEFT, y + 10, RIGHT, y + 10, colour, 'stroke-dasharray="6 4"')
        yield head(LEFT, y + 10, True, colour)


def access(op, region, y):
    """The bytes meant, on a line as long as the region; what is outside of it stands beside it."""
    begin = (op.addr - region.addr) / region.length
    end = begin + op.length / region.length
    colour = RED if op.refused else BLUE
    yield f'<rect x="{BOX_LEFT}" y="{y - 7}" width="{BOX_WIDTH}" height="14" fill="{PALE}" stroke="{INK}" stroke-width="0.6"/>'
    if begin < 0 or end > 1:
        at = BOX_LEFT - 16 if begin < 0 else BOX_LEFT + BOX_WIDTH + 4
        yield f'<rect x="{at}" y="{y - 7}" width="12" height="14" fill="{RED}"/>'
    else:
        width = max(2, (end - begin) * BOX_WIDTH)
        yield f'<rect x="{BOX_LEFT + begin * BOX_WIDTH:.1f}" y="{y - 7}" width="{width:.1f}" height="14" fill="{colour}"/>'


def row(op, regions, y):
    yield from arrows(op, y)
    region = regions.get(op.key)
    if region:
        yield from access(op, region, y)
        yield text(BOX_LEFT, y + 20, f"region of {region.length} B, {region.rights}", size=11)
    elif op.kind in KEYED:
        yield text(BOX_LEFT, y + 4, "no region of the target has this key", RED, 12)
    elif op.kind == "send":
        yield text(BOX_LEFT, y + 4, "where the target's receive says", size=12)


def drawn(ops, regions):
    """All, or the first and the last where they are many."""
    shown = ops if len(ops) <= MOST else ops[:MOST // 2] + [None] + ops[-(MOST // 2):]
    height = TOP + ROW * len(shown) + 20
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
           'font-family="sans-serif">')
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    for x, name in ((LEFT, "initiator"), (RIGHT, "target")):
        yield text(x, 28, name, size=16, anchor="middle")
        yield line(x, 38, x, height - 10, INK)
    yield text(BOX_LEFT, 28, "the target's memory", size=16)
    for number, op in enumerate(shown):
        y = TOP + number * ROW
        if op:
            yield from row(op, regions, y)
        else:
            yield text((LEFT + RIGHT) / 2, y, f"{len(ops) - len(shown) + 1} more", anchor="middle")
    yield "</svg>"


def main(words):
    if words in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    if len(words) != 2 or not os.path.isdir(words[1]):
        print("usage: picture.py EMU_TRACE TRACE_FOLDER", file=sys.stderr)
        return 2
    print("\n".join(drawn(*read_trace(words[:1], words[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
