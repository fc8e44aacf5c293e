# SPDX-License-Identifier: BSD-2-Clause
# mpi4py_rank.py - one rank of mpi4py_suite.py, which starts it: mpi4py_rank.py PART EXCLUSIONS REPORTS FILE...
#
# Runs the cases of the files, and writes what comes to pass to a file of its own in the folder REPORTS: `begin CASE` and
# `end CASE` around each, in between `fail CASE REASON` or `skip CASE REASON` unless it passed; `skip` alone for a case or
# module that is excluded; `done` at the end.
import faulthandler
import os
import re
import signal
import sys
import unittest

import mpi4py

part, exclusions, reports, *files = sys.argv[1:]
faulthandler.register(signal.SIGTERM, chain=True)  # a run that hung is ended by this: it tells where
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(files[0]))
for package in "numpy", "cupy", "numba":
    sys.modules[package] = None
mpi4py.rc.threads = part == "messages"
mpi4py.rc.recv_mprobe = False  # else every recv() of an object is an MPI_Mrecv: see the exclusions

from mpi4py import MPI  # noqa: E402 - initializes MPI


def read_exclusions():
    reason, rules = None, []
    with open(exclusions, encoding="utf-8") as lines:
        for line in map(str.strip, lines):
            if line.startswith("#"):
                reason = line[2:]
            elif line:
                rules.append((re.compile(line), reason))
    return rules


rules = read_exclusions()
report = open(os.path.join(reports, str(MPI.COMM_WORLD.rank)), "w", buffering=1, encoding="utf-8")


def excluded(name):
    names = name, f"{part}: {name}"
    return next((reason for expression, reason in rules if any(map(expression.fullmatch, names))), None)


def tell(what, name="", reason=""):
    print(what, name, reason.strip().rpartition("\n")[2], file=report)


class Outcome(unittest.TestResult):
    def startTest(self, test):
        super().startTest(test)
        tell("begin", test.id())

    def stopTest(self, test):
        super().stopTest(test)
        tell("end", test.id())

    def addSkip(self, test, reason):
        allowed = excluded(f"skips itself: {reason}")
        tell("skip" if allowed else "fail", test.id(), allowed or f"skips itself: {reason}")

    def addFailure(self, test, err):
        tell("fail", test.id(), self._exc_info_to_string(err, test))

    def addError(self, test, err):
        self.addFailure(test, err)

    def addSubTest(self, test, subtest, err):
        if err:
            self.addFailure(test, err)


def run(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            run(test)
        elif reason := excluded(test.id()):
            tell("skip", test.id(), reason)
        else:
            test.run(Outcome())


for path in files:
    module = os.path.basename(path)[:-len(".py")]
    if reason := excluded(module):
        tell("skip", module, reason)
    else:
        run(unittest.defaultTestLoader.loadTestsFromName(module))
tell("done")
