# SPDX-License-Identifier: BSD-2-Clause
# explore.py - emurun --explore and --replay, which call it: runs a command again and again under plans that are drawn, and stops at
# the first that makes it fail. emurun(1) says what it promises.
import argparse
import os
import random
import re
import shlex
import signal
import sys
import tempfile
import time

from explore_plan import KINDS, OF_FABRIC, OF_VERBS, OPS, WAYS, draw_plan, singles_of
from explore_run import TOLD, Runner, most_ops, uses_verbs
from explore_shrink import Shrinker

FAILED, WRONG = 86, 2
SEEDS = 10 ** 9
LIMIT_TIMES, LIMIT_MORE_S = 20, 10
TRIES, TRIES_OF_RARE, TRIES_OF_HANGS = 5, 40, 2
CHECKS = ("races", "races,strict")
LAST_LINES = 20


def say(text):
    print("emurun: " + text, file=sys.stderr, flush=True)


def stop(text):
    say(text)
    sys.exit(WRONG)


def amount(text):
    """N runs, or N minutes: (runs, None) or (None, seconds)."""
    found = re.fullmatch(r"([0-9]{1,9})(m?)", text)
    if not found or not int(found.group(1)):
        stop(f"--explore takes a number of runs, such as 100, or of minutes, such as 5m, and not `{text}'")
    number = int(found.group(1))
    return (None, number * 60) if found.group(2) else (number, None)


def whole(text, option, most):
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 0 < int(text) <= most:
        stop(f"{option} takes a whole number from 1 to {most}, and not `{text}'")
    return int(text)


def options():
    parser = argparse.ArgumentParser(prog="emurun", add_help=False, allow_abbrev=False)
    for name in ("--emurun", "--explore", "--replay", "--timeout"):
        parser.add_argument(name)
    parser.add_argument("--same-output", action="store_true")
    parser.add_argument("--with", dest="words", action="append", default=[])
    parser.add_argument("command", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if given.explore is None and given.replay is None:
        stop("--same-output and --timeout go with --explore or --replay")
    if given.explore is not None and given.replay is not None:
        stop("--explore and --replay do not go together")
    given.runs, given.seconds = amount(given.explore) if given.explore is not None else (TRIES, None)
    if given.replay is not None:
        given.replay = whole(given.replay, "--replay", SEEDS * 2)
    if given.timeout is not None:
        given.timeout = whole(given.timeout, "--timeout", 10 ** 6)
    if "--report" in given.words:
        stop("--report is of one run, and --explore has many: give it with the plan of the run that failed")
    if os.environ.get("FI_EMU_FAULT"):
        stop("FI_EMU_FAULT is set, and --explore makes plans of its own")
    given.command = given.command[1:]
    given.said, given.check = given.words, None
    for word in given.said:
        if word.startswith("--check="):
            given.check = word.split("=", 1)[1]
            if given.check not in CHECKS:
                stop(f"--check= takes {' or '.join(CHECKS)}, and not `{given.check}'")
    if given.check:  # each run has a seed of its own, in FI_EMU_CHECK
        given.words = ["--check"] + [word for word in given.said if not word.startswith("--check")]
    return given


class Explorer:
    def __init__(self, given, folder):
        self.given = given
        self.folder = folder
        self.runner = Runner(given.emurun, given.words, given.command, folder)
        self.kinds, self.ops = OF_FABRIC, ()
        self.tried, self.singles = {}, 0
        self.failure = None
        self.tries = TRIES

    def call(self):
        return " ".join(shlex.quote(word) for word in ["emurun"] + self.given.words + self.given.command)

    def plan(self, seed):
        return draw_plan(seed, self.kinds, self.ops, self.given.check)

    def show_output(self):
        for name, what in (("out", "standard output"), ("err", "standard error")):
            lines = self.runner.said(name).decode(errors="replace").splitlines()
            if lines:
                say(f"the end of its {what}:")
                print("\n".join("    " + line for line in lines[-LAST_LINES:]), file=sys.stderr, flush=True)

    def begin(self):
        """The undisturbed run, which sets the limit of the others, and what they are to say."""
        self.runner.limit = self.given.timeout
        outcome, processes = self.runner.undisturbed({"FI_EMU_CHECK": "yes"} if self.given.check else {})
        if outcome.failure:
            self.show_output()
            if outcome.failure == TOLD:
                self.runner.known = set(self.runner.found())
            if not self.runner.known:
                stop(f"the command fails without any disturbance: {outcome.failure}; nothing was explored")
            say(f"undisturbed, emurun --check tells of {', '.join(sorted(self.runner.known))}: no run fails by that again")
        if processes == []:
            stop("no process of the command opened the NIC: there is nothing to disturb")
        self.kinds = OF_VERBS if uses_verbs(processes or []) else OF_FABRIC
        self.ops = most_ops(processes, OPS)
        if os.environ.get("FI_EMU_ORDER"):
            self.kinds = tuple(kind for kind in self.kinds if kind != "order")
        self.runner.limit = self.given.timeout or round(LIMIT_TIMES * outcome.seconds + LIMIT_MORE_S)
        say(f"undisturbed it ends well after {outcome.seconds:.2f} s; a run that takes more than {self.runner.limit} s is a hang")
        if self.given.same_output:
            self.runner.wanted = self.runner.said("out")
            failure = self.runner.run({"FI_EMU_CHECK": "yes"} if self.given.check else {}).failure
            if failure:
                stop(f"a second undisturbed run failed: {failure}; nothing was explored")

    def under(self, plan, path=None):
        """One run. Its plan is written to `path`, or to a file that goes."""
        path = path or self.runner.path("plan.ini")
        with open(path, "w", encoding="utf-8") as file:
            file.write(plan.text())
        return self.runner.run(plan.settings(path))

    def summary(self, runs):
        say("what the NIC did:")
        for kind in self.kinds + (("races",) if self.given.check else ()):
            count = self.tried.get(kind, 0)
            say(f"  in {count} of {runs} runs: {KINDS[kind]}")
        self.bound(runs)

    def bound(self, runs):
        """What is known of what would have been found, and what is not."""
        if not self.singles:
            say("no chance can be told by which a failure would have been found")
            return
        ways = len(WAYS) * singles_of(self.ops)
        missed = (1 - 1 / ways) ** self.singles
        say(f"in {self.singles} of {runs} runs one or two operations alone were late, drawn evenly among {ways} ways: a failure "
            f"that takes one of these, and nothing else, was missed with a chance of {100 * missed:.2g} % at most")
        say("this is PCT's bound for one change of order; there is none for what threads and processes do by themselves, nor "
            "where other operations are posted in each run")

    def explore(self):
        seed, runs = random.SystemRandom().randrange(1, SEEDS), 0
        until = time.monotonic() + self.given.seconds if self.given.seconds else None
        while runs < self.given.runs if self.given.runs else time.monotonic() < until:
            plan = self.plan(seed + runs)
            outcome = self.under(plan)
            runs += 1
            self.singles += plan.single
            for kind in {rule.kind for rule in plan.rules}:
                self.tried[kind] = self.tried.get(kind, 0) + 1
            if outcome.failure:
                say(f"run {runs} failed: {outcome.failure}")
                self.failure = outcome.failure
                self.tries = TRIES_OF_HANGS if outcome.hung else TRIES
                self.show_output()
                self.tell_shrunk(plan)
                self.summary(runs)
                return FAILED
        say(f"{runs} runs ended well" + ", but for what the undisturbed run tells" * bool(self.runner.known))
        self.summary(runs)
        return FAILED if self.runner.known else 0

    def fails(self, plan):
        return self.under(plan).failure == self.failure

    def again(self, fails, plan):
        """How many of `tries` runs fail; where none of these do, and they end, of more, which `tries` then is."""
        failed = sum(fails(plan) for _ in range(self.tries))
        if not failed and self.tries == TRIES:
            self.tries = TRIES_OF_RARE
            failed = sum(fails(plan) for _ in range(TRIES, TRIES_OF_RARE))
        return failed

    def tell_shrunk(self, plan):
        words = ["--same-output"] * self.given.same_output + ["--timeout", str(self.runner.limit)] + self.given.said
        again = " ".join(shlex.quote(word) for word in ["emurun", "--replay", str(plan.seed)] + words + self.given.command)
        say(f"seed {plan.seed}, which makes the same plan again: {again}")
        for sentence in plan.sentences():
            say("  " + sentence)
        failed = self.again(self.fails, plan)
        say(f"under that plan {failed} of {self.tries} further runs failed so")
        shrinker = Shrinker(self.fails, self.tries)
        if not failed:
            say("it is not shrunk, since it does not fail again soon")
            return self.keep(plan)
        small = shrinker.shrink(plan, failed)
        often = shrinker.count(small)
        say(f"shrunk by {shrinker.runs} runs" + (", not to the end, as that takes long" if shrinker.stopped else "") + ":")
        if not small.rules:
            say(f"  It fails without any disturbance, too: {often} of {self.tries} runs did.")
            return None
        for sentence in small.sentences():
            say("  " + sentence)
        say(f"so {often} of {self.tries} runs failed")
        return self.keep(small)

    def keep(self, plan):
        """The plan as a file that stays, and how to use it by hand."""
        path = os.path.abspath(f"explore-{plan.seed}.ini")
        try:
            with open(path, "w", encoding="utf-8") as file:
                file.write(plan.text())
        except OSError as error:
            say(f"the plan cannot be written to {path}: {error.strerror}; it is:")
            print(plan.text(), end="", file=sys.stderr)
            return
        settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in sorted(plan.settings(path).items()))
        say(f"by hand: {settings} {self.call()}")

    def shows_failure(self, plan):
        """Shows the first."""
        failure = self.under(plan).failure
        if failure and not self.failure:
            self.failure = failure
            say(f"a run failed: {failure}")
            self.show_output()
        return bool(failure)

    def replay(self):
        plan = self.plan(self.given.replay)
        say(f"seed {plan.seed}:")
        for sentence in plan.sentences():
            say("  " + sentence)
        failed = self.again(self.shows_failure, plan)
        say(f"{failed} of {self.tries} runs failed")
        self.keep(plan)
        return FAILED if failed or self.runner.known else 0


def ended(number, _):
    sys.exit(128 + number)


def main():
    given = options()
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, ended)
    with tempfile.TemporaryDirectory(prefix="emu-explore.") as folder:
        explorer = Explorer(given, folder)
        explorer.begin()
        status = explorer.explore() if given.explore is not None else explorer.replay()
    sys.exit(status)


main()
