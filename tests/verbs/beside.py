#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""beside.py - libfabric and libibverbs in one process: beside.py PROGRAM EMUCTL"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
program, emuctl = sys.argv[1:3]
EMURUN = os.path.join(ROOT, "tools/emurun")
SYSTEM = {"LD_LIBRARY_PATH": None} # the libfabric that setup.sh builds is without provider verbs
failed = False


def environment(more):
    """This one's with these changes; None: without it."""
    return {key: value for key, value in dict(os.environ, **more).items() if value is not None}


def beside(*words, providers="emu", **more):
    """What is wrong, or nothing."""
    run = subprocess.run([EMURUN, "env", "FI_PROVIDER=" + providers, program, *words], env=environment(more), stdin=subprocess.DEVNULL,
                         capture_output=True, text=True)
    return f"status {run.returncode}: {(run.stdout + run.stderr)[-400:]}" if run.returncode else ""


def report(name, wrong):
    global failed
    print(f"not ok {name} {wrong}".replace("\n", " ") if wrong else f"ok {name}", flush=True)
    failed |= bool(wrong)


def both_are_seen():
    """Either NIC of a process has a control socket, and emuctl tells them apart."""
    work = tempfile.mkdtemp(prefix="emu-beside.")
    run = subprocess.Popen([EMURUN, program, "--pause", "verbs", "emu"], env=environment({"FI_EMU_CTL": work}), stdin=subprocess.PIPE,
                           stdout=subprocess.PIPE, text=True)

    def ask(*words):
        done = subprocess.run([emuctl, "--dir", work, *words], capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    try:
        if run.stdout.readline() != "ready\n":
            return "it ended too soon"
        seen = [json.loads(line) for line in ask("--json", "ps")[1].splitlines()]
        mine = sorted(line["personality"] for line in seen if line["pid"] == run.pid)
        if mine != ["strict", "verbs"]:
            return f"the NICs of the process: {mine}"
        status, said = ask("ep", str(run.pid))
        if status == 0 or f"{run.pid}/verbs" not in said:
            return f"which NIC is not asked: {said}"
        for nic, kind in (("strict", "rdm"), ("verbs", "msg")):
            kinds = {json.loads(line)["kind"] for line in ask("--json", "ep", f"{run.pid}/{nic}")[1].splitlines()
                     if json.loads(line)["type"] == "ep"}
            if kind not in kinds or ("rdm" if kind == "msg" else "msg") in kinds:
                return f"endpoints of {nic}: {kinds}"
        if ask("info", f"{run.pid}/lax")[0] == 0:
            return "a NIC that is not there answers"
        series = [line.rsplit(" ", 1)[0] for line in ask("metrics")[1].splitlines() if not line.startswith("#")]
        return "" if series and len(series) == len(set(series)) else "metrics of two NICs have the same labels"
    finally:
        run.stdin.close()
        run.stdout.close()
        if run.wait():
            print(f"not ok both_are_seen_ends status {run.returncode}")
        shutil.rmtree(work, ignore_errors=True)


def is_traced():
    """Each of the four NICs has a trace, and they are joined."""
    work = tempfile.mkdtemp(prefix="emu-beside.")
    try:
        wrong = beside("fabric", "emu", FI_EMU_TRACE=work)
        return wrong or ("" if len(os.listdir(work)) == 4 else f"{os.listdir(work)}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def reports_tell():
    """Checked mode has a report of each NIC, and finds nothing."""
    work = tempfile.mkdtemp(prefix="emu-beside.")
    try:
        wrong = beside("verbs", "emu", FI_EMU_CHECK="1", FI_EMU_REPORT=work)
        found = [json.loads(line) for name in os.listdir(work) for line in open(os.path.join(work, name))]
        fronts = sorted(line["personality"] for line in found if line.get("type") == "process")
        bad = [line for line in found if line.get("type") == "finding"]
        return wrong or (f"{bad[:2]}" if bad else "") or ("" if fronts == ["strict"] * 2 + ["verbs"] * 2 else f"{fronts}")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def has_verbs():
    """Does the system's libfabric have its provider verbs?"""
    run = subprocess.run([EMURUN, "env", "FI_PROVIDER=verbs", "fi_info"], env=environment(SYSTEM), capture_output=True, text=True)
    return "provider: verbs" in run.stdout


for first in ("fabric", "verbs"):
    report(f"{first}_ends_first", beside(first, "emu"))
report("two_endpoints", beside("verbs", "emu", "emu"))
report("over_tcp", beside("fabric", "emu", FI_EMU_LOCAL="tcp"))
report("within_a_range_of_ports", beside("verbs", "emu", FI_EMU_PORTS="21200-21231"))
report("checked", reports_tell())
report("traced", is_traced())
report("both_are_seen", both_are_seen())
if has_verbs():
    for first in ("fabric", "verbs"):
        report(f"provider_verbs_beside_emu_{first}_ends_first",
               beside(first, "emu", "verbs;ofi_rxm", providers="emu,verbs,ofi_rxm", **SYSTEM))
else:
    print("skip provider_verbs_beside_emu this machine's libfabric has no provider verbs")
sys.exit(failed)
