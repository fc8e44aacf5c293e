#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""errors.py - runs the wrong programs of emu/ERRORS.md, and compares what they print with what the page shows.

    errors.py [--write]

A heading of the page that is a cause in backquotes begins its section. Its program is tests/errors/wrong/wrong_CAUSE.c, which
the section shows, less its head, and below that what `emurun --check` printed of it. A section without a program says why.
--write puts what differs into the page: the programs, and what they print now. In the environment of runner.sh."""

import os
import re
import subprocess
import sys

SOURCE = os.environ.get("EMU_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGE = os.path.join(SOURCE, "emu", "ERRORS.md")
WRONG = os.path.join(SOURCE, "tests", "errors", "wrong")
PLANS = os.path.join(SOURCE, "tests", "errors", "plans")
GUARD_S = 60
FINDINGS = 86  # exit status of emurun --check

# Settings that a program needs to be wrong.
SETTINGS = {
    "not-ready": {"FI_EMU_FAULT": os.path.join(PLANS, "not_ready.ini"), "FI_EMU_RNR_RETRY": "0"},
    "unreachable": {"FI_EMU_FAULT": os.path.join(PLANS, "unreachable.ini"), "FI_EMU_RETRY_MS": "200"},
}
# A right program meets these: they are completions in error, and no findings.
UNTOLD = {"cancelled", "firewall", "group", "no-message", "stranger"}
# They are told as notes, which fail no run.
NOTES = {"claim-mismatch", "completions-unread"}

# What differs from run to run, and from machine to machine.
VARIES = [
    (re.compile(r"0x[0-9a-f]+"), "0x"),
    (re.compile(r"\b[0-9a-f:.]+ QPN 0x"), "PEER QPN 0x"),
    (re.compile(r"\b\d+(\.\d+)? (ns|us|ms|s) "), "N us "),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+:\d+"), "PEER"),
    (re.compile(r"\[[0-9a-f:]+\]:\d+"), "PEER"),
    (re.compile(r"\[\d+\]@\S+"), "[PID]@HOST"),
    (re.compile(r"holds \d+ entries"), "holds N entries"),
    (re.compile(r"^( +counted +)(\d+ times|once)"), r"\1N times"),
    (re.compile(r"\bat \d{10,20}\b"), "at 0x"),
    (re.compile(r"^.*\b(libc|ld-linux|_start|__libc)\b.*$"), ""),
]


def program_of(cause):
    return "wrong_" + cause.replace("-", "_")


def shown(cause):
    """The program as the page shows it: what follows its includes of pair.h, the SPDX line and its comment."""
    with open(os.path.join(WRONG, program_of(cause) + ".c"), encoding="utf-8") as file:
        text = file.read()
    return text.split('#include "tests/errors/pair.h"\n', 1)[1].strip("\n")


def run(cause):
    """What the program prints, and what is wrong with its exit status."""
    program = os.path.join(os.environ["EMU_BUILD"], "tests", "errors", program_of(cause))
    leaks = os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"  # some of the programs are wrong by leaving objects open
    environment = dict(os.environ, LC_ALL="C.UTF-8", ASAN_OPTIONS=leaks, **SETTINGS.get(cause, {}))
    command = [os.path.join(SOURCE, "tools", "emurun"), "--check", program]
    done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=GUARD_S, check=False, text=True)
    want = 0 if cause in UNTOLD | NOTES else FINDINGS
    wrong = "" if done.returncode == want else "exit status %d, and not %d" % (done.returncode, want)
    return re.sub(r"\S*/(tests/errors/)", r"\1", done.stdout.strip("\n")), wrong


def plain(text):
    lines = []
    for line in text.split("\n"):
        for pattern, put in VARIES:
            line = pattern.sub(put, line)
        if line.strip():
            lines.append(line.rstrip())
    return lines


def difference(page, real):
    page, real = plain(page), plain(real)
    for at, line in enumerate(real):
        if at >= len(page) or page[at] != line:
            return "printed: %s; the page has: %s" % (line, page[at] if at < len(page) else "no more lines")
    return "" if len(page) == len(real) else "the page has more: " + page[len(real)]


def fence(kind, text):
    return "```%s\n%s\n```" % (kind, text)


def section(cause, body, write):
    """The section's text, and what is wrong with it."""
    if not os.path.exists(os.path.join(WRONG, program_of(cause) + ".c")):
        return body, "" if "No program" in body else "no program, and no reason why not"
    real, wrong = run(cause)
    blocks = re.findall(r"```(c|text)\n(.*?)\n```", body, re.S)
    good = [kind for kind, _ in blocks] == ["c", "text"] and blocks[0][1] == shown(cause) and not difference(blocks[1][1], real)
    if write and not good:
        prose = re.sub(r"```(c|text)\n.*?\n```\n*", "", body, flags=re.S).strip("\n")
        return "\n" + "\n\n".join([prose, fence("c", shown(cause)), fence("text", real)]) + "\n\n", wrong
    if good or wrong:
        return body, wrong
    if [kind for kind, _ in blocks] != ["c", "text"]:
        return body, "the section has not one program and its output: errors.py --write makes them"
    if blocks[0][1] != shown(cause):
        return body, "the page has another program: errors.py --write mends it"
    return body, difference(blocks[1][1], real)


def main():
    if sys.argv[1:] in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    write = sys.argv[1:] == ["--write"]
    if sys.argv[1:] and not write:
        print("usage: errors.py [--write]", file=sys.stderr)
        return 2
    with open(PAGE, encoding="utf-8") as file:
        parts = re.split(r"(^#+ `[a-z-]+`\n)", file.read(), flags=re.M)
    failed = False
    named = set()
    for at in range(1, len(parts), 2):
        cause = re.search(r"`(.*)`", parts[at]).group(1)
        named.add(program_of(cause) + ".c")
        body, chapter, rest = parts[at + 1].partition("\n## ")
        body, wrong = section(cause, body, write)
        parts[at + 1] = (body.rstrip("\n") + "\n" if chapter else body) + chapter + rest
        print(("not ok " + cause + " " + wrong) if wrong else "ok " + cause, flush=True)
        failed = failed or bool(wrong)
    for name in sorted(set(os.listdir(WRONG)) - named):
        print("not ok %s no section of the page is about it" % name)
        failed = True
    if write:
        with open(PAGE, "w", encoding="utf-8") as file:
            file.write("".join(parts))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
