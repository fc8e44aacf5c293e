# SPDX-License-Identifier: BSD-2-Clause
# explore_run.py - one run of the command under a plan: its time, how it ended, and what it said.
import json
import os
import signal
import subprocess
import time

CHECKED = 86  # emurun --check: something was refused, misused or leaked
TOLD = "emurun --check had something to report"
GRACE_S = 5


class Outcome:
    """How a run ended. `failure`: None, or what failed; two that are equal are the same failure."""

    def __init__(self, failure, hung, seconds):
        self.failure, self.hung, self.seconds = failure, hung, seconds


class Runner:
    """Runs the command, in a process group of its own, without input. `folder` is private."""

    def __init__(self, emurun, words, command, folder):
        self.start = [emurun] + words + command
        self.known = set()  # causes of findings that are no failure any more
        self.checked = any(word in ("--check", "--expect", "--no-checked", "--allow-none") for word in words)
        self.folder = folder
        self.limit = None  # seconds until a run is a hang; None: none
        self.wanted = None  # the output that a run should have; None: any
        self.group = None

    def path(self, name):
        return os.path.join(self.folder, name)

    def said(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def end_group(self):
        """All that the command started and that still runs, which would disturb the next run."""
        if self.group is None:
            return
        try:
            os.killpg(self.group.pid, signal.SIGTERM)
            self.group.wait(timeout=GRACE_S)
            os.killpg(self.group.pid, signal.SIGKILL)
        except subprocess.TimeoutExpired:
            os.killpg(self.group.pid, signal.SIGKILL)
            self.group.wait()
        except ProcessLookupError:
            self.group.wait()
        self.group = None

    def run(self, settings):
        """Under these variables."""
        environment = dict(os.environ, **settings)
        start, report = list(self.start), self.path("report.json")
        if self.checked:
            start[1:1] = ["--report", report]
            if os.path.exists(report):
                os.remove(report)
        before = time.monotonic()
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            self.group = subprocess.Popen(start, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment,
                                          start_new_session=True, close_fds=False)
            try:
                status = self.group.wait(timeout=self.limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                self.end_group()
        return Outcome(self.judge(status), status is None, time.monotonic() - before)

    def judge(self, status):
        if status is None:
            return f"it had not ended after {self.limit:g} s"
        if status < 0:
            return f"it was killed by {signal.Signals(-status).name}"
        if status > 128:
            return f"it ended with status {status}, as by signal {status - 128}"
        if status == CHECKED and self.checked:
            found = self.found()
            if "race" in found.values():
                return "emurun --check found a race"
            if not found or found.keys() - self.known:
                return TOLD
        elif status:
            return f"it ended with status {status}"
        if self.wanted is not None and self.said("out") != self.wanted:
            return "its output was not that of the undisturbed run"
        return None

    def found(self):
        """The causes of what emurun --check told of the last run, and their kinds; none where it has not met what was expected."""
        report = read_json(self.path("report.json"))
        if report.get("unmet") or report.get("none"):
            return {}
        found = [finding for finding in report.get("findings", []) if isinstance(finding, dict) and finding.get("unexpected")]
        return {finding.get("cause"): finding.get("kind") for finding in found}

    def undisturbed(self, settings):
        """The first run, and its processes that opened a NIC, each a dictionary with its `personality`, and what it posted and
        `served`; None: not known."""
        if self.checked:
            outcome = self.run(settings)
            # There is none where another emurun --check has the records.
            return outcome, read_json(self.path("report.json")).get("processes")
        records = self.path("records")
        os.mkdir(records)
        outcome = self.run(dict(settings, FI_EMU_REPORT=records))
        return outcome, [read_record(os.path.join(records, name)) for name in os.listdir(records)]


def read_json(path):
    """A file of one object; what is none has no members."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return parse(file.read())
    except OSError:
        return {}


def parse(text):
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def read_record(path):
    """The head of a process's record, and its counts, which are the last line if it has ended."""
    with open(path, encoding="utf-8", errors="replace") as file:
        lines = file.readlines() or [""]
    end = parse(lines[-1])
    return dict(parse(lines[0]), ops=end.get("ops", {}), served=end.get("served", {}))


def uses_verbs(processes):
    """A provider of libfabric's that looks for devices opens one as well, and does nothing with it."""
    verbs = [process for process in processes if process.get("personality") == "verbs"]
    return len(verbs) == len(processes) > 0 or any(process.get("ops") or process.get("served") for process in verbs)


def most_ops(processes, kinds):
    """Of each of these kinds that any process posted: how many one process did, at most."""
    counts = []
    for kind in kinds:
        posted = [process.get("ops", {}).get(kind, {}).get("posted", 0) for process in processes or []]
        if any(posted):
            counts.append((kind, max(posted)))
    return tuple(counts)
