# SPDX-License-Identifier: BSD-2-Clause
# pyverbs_suite.py - runs rdma-core's tests for Python in this process: pyverbs_suite.py FOLDER TABLE [whole]
#
# A line of the table is `PATTERN<tab>REASON`: MODULE.CLASS.TEST of what does not run, with * as in file names. A reason that begins
# with `machine: ` depends on the machine, and such a test may pass. Fails are: a test outside of the table that fails or skips
# itself, one of the table that passes, and a pattern that no test has.
import collections
import fnmatch
import sys
import unittest

FOLDER, TABLE, *WHOLE = sys.argv[1:]


def read_table():
    with open(TABLE, encoding="utf-8") as lines:
        return dict(line.rstrip("\n").split("\t") for line in lines if not line.startswith("#"))


class Outcome(unittest.TestResult):
    def __init__(self, table):
        super().__init__()
        self.table = table
        self.met = set()  # patterns
        self.passed = collections.Counter()  # by module
        self.left = collections.defaultdict(list)  # tests, by reason
        self.failed = {}  # the reason, by test

    def pattern_of(self, name):
        return next((pattern for pattern in self.table if fnmatch.fnmatchcase(name, pattern)), None)

    def enter(self, test, passed, said=""):
        name = test.id().removeprefix("tests.")
        pattern = self.pattern_of(name)
        reason = self.table.get(pattern, "")
        self.met.add(pattern)
        if not pattern and not passed:
            self.failed[name] = said
        elif pattern and passed and not reason.startswith("machine: "):
            self.failed[name] = f"passes, and the table says: {reason}"
        elif passed:
            self.passed[name.split(".")[0]] += 1
        else:
            self.left[reason].append(name)

    def addSuccess(self, test):
        self.enter(test, True)

    def addSkip(self, test, reason):
        self.enter(test, False, f"skips itself: {reason}")

    def addError(self, test, err):
        self.enter(test, False, f"{err[0].__name__}: {err[1]}".replace("\n", " "))

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err:
            self.addError(test, err)

    def tell(self):
        for module, count in sorted(self.passed.items()):
            print(f"ok {module} {count} tests")
        for reason, names in sorted(self.left.items()):
            few = ", ".join(names) if len(names) < 3 else f"{len(names)} tests"
            print(f"skip - {few}: {reason}")
        for name, reason in sorted(self.failed.items()):
            print(f"not ok {name} {reason}")


def cases(suite):
    for test in suite:
        yield from cases(test) if isinstance(test, unittest.TestSuite) else [test]


def main():
    table = read_table()
    sys.path[0:0] = [FOLDER, f"{FOLDER}/tests"]
    sys.argv[1:] = []
    from args_parser import parser
    parser.parse_args()
    import tests
    outcome = Outcome(table)
    modules = [pattern for pattern in table if "." not in pattern.removesuffix(".*")]
    for test in cases(unittest.defaultTestLoader.loadTestsFromModule(tests)):
        name = test.id().removeprefix("tests.")
        if WHOLE or not any(fnmatch.fnmatchcase(name, pattern) for pattern in modules):
            test.run(outcome)
    for pattern in table.keys() - outcome.met:
        if WHOLE or pattern not in modules:
            outcome.failed[pattern] = "is in the table, and no test has that name"
    outcome.tell()
    return bool(outcome.failed)


sys.exit(main())
