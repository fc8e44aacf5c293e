# SPDX-License-Identifier: BSD-2-Clause
# explore_shrink.py - the fewest and narrowest rules of a plan under which a command still fails.
import time

from explore_plan import DELAYS, LATE_US

SHRINK_S = 300


class Shrinker:
    """`fails(plan)` runs the command once under it, and says whether it failed as it did at first. What fails goes by time,
    too: each plan is run up to `tries` times."""

    def __init__(self, fails, tries):
        self.fails, self.tries = fails, tries
        self.until = time.monotonic() + SHRINK_S
        self.runs = 0
        self.wanted = 1  # so many of `tries`
        self.stopped = False

    def count(self, plan):
        """How many of `tries` runs fail."""
        self.runs += self.tries
        return sum(self.fails(plan) for _ in range(self.tries))

    def still(self, plan):
        """Does it fail about as often? Runs no more than are needed to know."""
        failed, passed = 0, 0
        while failed < self.wanted and passed <= self.tries - self.wanted:
            if time.monotonic() > self.until:
                self.stopped = True
                return False
            self.runs += 1
            if self.fails(plan):
                failed += 1
            else:
                passed += 1
        return failed == self.wanted

    def shrink(self, plan, failed):
        """`failed` of `tries` runs did under the plan."""
        self.wanted = max(1, (failed + 1) // 2)
        none = plan.but([])
        if self.still(none):
            return none
        plan = self.fewer(plan)
        for number, rule in enumerate(plan.rules):
            for step in (self.fewer_kinds, self.fewer_ops, self.certain, self.one_time):
                rule = step(plan, number, rule)
                plan = with_rule(plan, number, rule)
        return plan

    def fewer(self, plan):
        """Without each rule that it fails without."""
        number = 0
        while number < len(plan.rules) and len(plan.rules) > 1:
            less = plan.but(plan.rules[:number] + plan.rules[number + 1:])
            if self.still(less):
                plan = less
            else:
                number += 1
        return plan

    def first_of(self, plan, number, rule, others):
        for other in others:
            if self.still(with_rule(plan, number, other)):
                return other
        return rule

    def fewer_kinds(self, plan, number, rule):
        if rule.kind not in DELAYS + ("rnr", "cut", "full") or rule.ops:
            return rule
        return self.first_of(plan, number, rule, [rule.but(ops=(op,)) for op in rule.kinds()])

    def fewer_ops(self, plan, number, rule):
        """One op, which may be later than before; or halves of the range, as long as one will do."""
        while rule.most > 1:
            single, half = rule.but(most=1, chance=1.0), (rule.most + 1) // 2
            others = [single] + ([single.but(wait=LATE_US, jitter=0)] if rule.kind in DELAYS else [])
            others += [rule.but(most=half), rule.but(first=rule.first + half, most=rule.most - half)]
            less = self.first_of(plan, number, rule, others)
            if less is rule:
                break
            rule = less
        return rule

    def certain(self, plan, number, rule):
        return self.first_of(plan, number, rule, [rule.but(chance=1.0)]) if rule.chance < 1 else rule

    def one_time(self, plan, number, rule):
        """A time without jitter, and once in the place of several times."""
        if rule.jitter and rule.kind != "hold":  # whose pieces come one by one
            rule = self.first_of(plan, number, rule, [rule.but(wait=rule.wait + rule.jitter, jitter=0)])
        if rule.times > 1:
            rule = self.first_of(plan, number, rule, [rule.but(times=1)])
        return rule


def with_rule(plan, number, rule):
    return plan.but(plan.rules[:number] + [rule] + plan.rules[number + 1:])
