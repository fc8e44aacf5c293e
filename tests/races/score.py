#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""score.py - how many of the programs with races emurun --check=races finds, and what it says of their right twins.

    score.py [--brief] [--markdown] [--seeds N] [--only EXPRESSION] [--jobs N]

Runs each case of race_fi and race_verbs of the build under N seeds (5), a racy one until it is found; a racy one that is not found
then, for a minute of emurun --explore; and each right one for a few runs of that, too. Prints each case that is missed or falsely
told, and a table. --brief leaves out --explore and the cases of known.tsv, and runs right ones once. --only: cases whose FRONT/NAME
the expression finds.
Exit status: 1 if fewer than 95 % are found, an operation that meets another is missed, or a right twin is told of.
In the environment of runner.sh, or with the newest of the builds that emurun takes."""

import argparse
import collections
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("EMU_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
EMURUN = os.path.join(SOURCE, "tools", "emurun")
FRONTS = ("fi", "verbs")
ENOUGH = 0.95
GUARD_S = 120  # of one run
EXPLORE_RACY, EXPLORE_RIGHT = "1m", "10"
TOLD = 86  # emurun's status if there is something to tell
MET = "operation-operation"
KNOWN = os.path.join(SOURCE, "tests", "races", "known.tsv")

Case = collections.namedtuple("Case", "front program name racy kind causes")
Result = collections.namedtuple("Result", "case found explored wrong")  # wrong: what is not as it should be, in words


def build_folder():
    """The one that emurun takes."""
    if os.environ.get("EMU_BUILD"):
        return os.environ["EMU_BUILD"]
    builds = [os.path.join(SOURCE, "build", name) for name in ("release", "dev")]
    built = [build for build in builds if os.path.exists(os.path.join(build, "emu", "fi", "libemu-fi.so"))]
    if not built:
        sys.exit("score.py: there is no build in build/release or build/dev")
    return max(built, key=lambda build: os.path.getmtime(os.path.join(build, "emu", "fi", "libemu-fi.so")))


def cases_of(build, front):
    program = os.path.join(build, "tests", "races", front, f"race_{front}")
    if not os.path.exists(program):
        return []
    lines = subprocess.run([program, "--list"], stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
    words = [line.split("\t") for line in lines]
    return [Case(front, program, name, label == "racy", kind, causes.split("|")) for name, label, kind, causes in words]


def known_wrong():
    with open(KNOWN, encoding="utf-8") as file:
        return {line.split("\t")[0] for line in file if not line.startswith("#")}


def emurun(case, *words, **settings):
    """Its status and what it said; None for the status if it has not ended."""
    command = [EMURUN, *words, case.program, case.name]
    try:
        done = subprocess.run(command, env={**os.environ, **settings}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=GUARD_S, check=False, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return None, f"has not ended after {GUARD_S} s"
    return done.returncode, done.stdout


def findings_of(case, seed, folder):
    """The causes that a run tells, notes of polled memory with them, and what else went wrong."""
    path = os.path.join(folder, f"{case.front}-{case.name}-{seed}.json")
    status, said = emurun(case, "--check", "--report", path, FI_EMU_CHECK=f"races,seed={seed}")
    if status not in (0, TOLD) or not os.path.exists(path):
        return [], f"seed {seed}: status {status}: {said.strip()[-300:]}"
    with open(path, encoding="utf-8") as file:
        report = json.load(file)
    if report["status"] != 0:
        return [], f"seed {seed}: the program ended with status {report['status']}: {said.strip()[-300:]}"
    causes = [finding["cause"] for finding in report["findings"] if finding["kind"] != "note" or finding["cause"] == "memory-polled"]
    return causes, ""


def explored(case):
    """Likewise, of emurun --explore, which is ended where it has found something and would go on to shrink the plan."""
    command = [EMURUN, "--explore", EXPLORE_RACY if case.racy else EXPLORE_RIGHT, "--check=races,strict", case.program, case.name]
    lines = []
    with tempfile.TemporaryDirectory() as folder, \
            subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace") as explorer:
        for line in explorer.stdout:
            lines.append(line)
            if line.startswith("emurun: seed "):
                explorer.terminate()
                break
        explorer.stdout.read()
    said = "".join(lines)
    if "runs ended well" in said:
        return [], ""
    told = re.findall(r"^ *(?:error|note): ([a-z-]+):", said, re.M)
    return told, "" if told else f"emurun --explore: {said.strip()[-300:]}"


def judge_racy(case, seeds, brief, folder):
    others = []
    for seed in range(1, seeds + 1):
        causes, wrong = findings_of(case, seed, folder)
        if wrong:
            return Result(case, False, False, wrong)
        if set(causes) & set(case.causes):
            return Result(case, True, False, "")
        others += causes
    causes, wrong = ([], "") if brief else explored(case)
    if set(causes) & set(case.causes):
        return Result(case, True, True, "")
    others += causes + [wrong] * bool(wrong)
    return Result(case, False, False, "not found" + (f", but {', '.join(sorted(set(others)))}" if others else ""))


def judge_right(case, seeds, brief, folder):
    for seed in range(1, seeds + 1 if not brief else 2):
        causes, wrong = findings_of(case, seed, folder)
        if causes or wrong:
            return Result(case, True, False, wrong or f"seed {seed}: told of as {', '.join(sorted(set(causes)))}")
    causes, wrong = ([], "") if brief else explored(case)
    if causes or wrong:
        return Result(case, True, True, wrong or f"emurun --explore: told of as {', '.join(sorted(set(causes)))}")
    return Result(case, False, False, "")


def table(results):
    """Rows: front end, kind, racy, found, of these by --explore, right, falsely told."""
    rows = [("front end", "kind of race", "racy", "found", "of them by --explore", "right", "falsely told")]
    for front in FRONTS:
        of_front = [result for result in results if result.case.front == front]
        kinds = sorted({result.case.kind for result in of_front})
        for kind in kinds + ["all"] * bool(kinds):
            racy = [result for result in of_front if result.case.racy and kind in ("all", result.case.kind)]
            right = [result for result in of_front if not result.case.racy and kind in ("all", result.case.kind)]
            found = [result for result in racy if result.found]
            rows.append((front, kind, len(racy), len(found), sum(result.explored for result in found), len(right),
                         sum(result.found for result in right)))
    return rows


def show(rows, markdown):
    widths = [max(len(str(row[column])) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        if markdown:
            print("| " + " | ".join(str(cell) for cell in row) + " |")
        else:
            print("  ".join(str(cell).ljust(width) for cell, width in zip(row, widths)).rstrip())
        if markdown and row is rows[0]:
            print("| --- " * len(row) + "|")


def passes(results):
    racy = [result for result in results if result.case.racy]
    found = [result for result in racy if result.found]
    met = [result for result in racy if result.case.causes == [MET]]
    false = [result for result in results if not result.case.racy and result.found]
    print(f"found: {len(found)} of {len(racy)}; {MET}: {sum(result.found for result in met)} of {len(met)}; "
          f"falsely told: {len(false)} of {len(results) - len(racy)}")
    return len(found) >= ENOUGH * len(racy) and all(result.found for result in met) and not false


def main():
    parser = argparse.ArgumentParser(usage="\n".join(__doc__.split("\n\n")[1:2]).strip(), description=__doc__.split("\n\n")[2],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--brief", action="store_true")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--only", default="", type=re.compile)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    given = parser.parse_args()
    cases = [case for front in FRONTS for case in cases_of(build_folder(), front) if re.search(given.only, f"{front}/{case.name}")]
    if given.brief:
        known = known_wrong()
        cases = [case for case in cases if f"{case.front}/{case.name}" not in known]
    if not cases:
        sys.exit("score.py: there is no such case")
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        results = list(pool.map(lambda case: (judge_racy if case.racy else judge_right)(case, given.seeds, given.brief, folder),
                                cases))
    for result in results:
        if result.wrong:
            print(f"{result.case.front}/{result.case.name}, {'racy' if result.case.racy else 'right'}: {result.wrong}",
                  file=sys.stderr)
    show(table(results), given.markdown)
    return 0 if passes(results) else 1


if __name__ == "__main__":
    sys.exit(main())
