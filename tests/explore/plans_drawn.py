# SPDX-License-Identifier: BSD-2-Clause
# plans_drawn.py - the plans that emurun --explore draws: from the seed alone, of faults that a right program survives, and
# understood by the NIC. In the environment of runner.sh.
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
SOURCE = os.environ["EMU_SOURCE_DIR"]
sys.path[:0] = [os.path.join(SOURCE, "tools/explore"), os.path.join(SOURCE, "tests/verdict")]
from explore_plan import KINDS, OF_FABRIC, OF_ORDER, OF_VERBS, draw_plan, singles_of  # noqa: E402
from explore_shrink import Shrinker  # noqa: E402
from records import EMURUN, has, main, same  # noqa: E402

SEEDS = range(1, 2001)


def the_same_seed_is_the_same_plan(_):
    for kinds in (OF_FABRIC, OF_VERBS):
        texts = [draw_plan(seed, kinds).text() for seed in SEEDS]
        same([draw_plan(seed, kinds).text() for seed in SEEDS], texts)
        assert len(set(texts)) == len(texts)


def nothing_but_what_a_right_program_survives(_):
    for kinds in (OF_FABRIC, OF_VERBS):
        for seed in SEEDS:
            plan = draw_plan(seed, kinds)
            words = re.findall(r"^fault = (\w+)$", plan.text(), re.M)
            assert set(words) <= set(kinds) | set(OF_ORDER), plan.text()
            assert not re.search(r"^(down|error|cause|becomes|status|entries) =", plan.text(), re.M), plan.text()
            assert ("rnr" in words) <= (kinds is OF_FABRIC), plan.text()


def each_kind_is_drawn(_):
    for kinds in (OF_FABRIC, OF_VERBS):
        drawn = [rule.kind for seed in SEEDS for rule in draw_plan(seed, kinds).rules]
        for kind in kinds:
            assert drawn.count(kind) * 40 > len(SEEDS), (kind, drawn.count(kind))
    same(set(OF_FABRIC) | set(OF_VERBS) | {"races"}, set(KINDS))


def each_rule_is_a_sentence(_):
    for seed in SEEDS:
        for kinds in (OF_FABRIC, OF_VERBS):
            for sentence in draw_plan(seed, kinds).sentences():
                assert re.match(r"(The|What) .*\.$", sentence) and "  " not in sentence, sentence


def delays_are_bounded(_):
    for seed in SEEDS:
        for rule in draw_plan(seed, OF_FABRIC).rules + draw_plan(seed, OF_VERBS).rules:
            if rule.most:
                assert rule.most == 1 or (rule.wait + rule.jitter) * rule.most <= 500000, rule.__dict__


def single_operations_are_drawn_evenly(_):
    """Each of 3 + 1 operations, in three ways, about as often as any other; where 3 were posted there may have been 4."""
    ops = (("send", 3), ("write", 1))
    same(singles_of(ops), 5)
    for kinds in (OF_FABRIC, OF_VERBS):
        drawn = {}
        for seed in range(1, 6001):
            plan = draw_plan(seed, kinds, ops)
            for rule in plan.rules if plan.single else []:
                if rule.kind != "order":
                    same((rule.most, rule.chance, rule.jitter), (1, 1.0, 0))
                    drawn[rule.kind, rule.ops, rule.first] = drawn.get((rule.kind, rule.ops, rule.first), 0) + 1
        same({(op, first) for _, (op,), first in drawn}, {("send", 1), ("send", 2), ("send", 3), ("send", 4), ("write", 1)})
        fewest, all_of = min(drawn.values()), sum(drawn.values())
        assert fewest * 15 > all_of * 0.7, drawn


def races_have_the_seed_of_the_plan(_):
    plans = [draw_plan(seed, OF_FABRIC, check="races,strict") for seed in SEEDS]
    assert any(len(plan.rules) == 1 for plan in plans)  # without any disturbance, too
    for plan in plans:
        settings = plan.settings("plan.ini")
        same(settings["FI_EMU_CHECK"], f"races,strict,seed={plan.seed}")
        same("FI_EMU_FAULT" in settings, any(rule.kind != "races" for rule in plan.rules))
        has(plan.sentences()[-1], f"FI_EMU_CHECK=races,strict,seed={plan.seed}")
        same(plan.but([rule for rule in plan.rules if rule.kind != "races"]).settings("plan.ini")["FI_EMU_CHECK"], "yes")


def shrinks_to_what_is_needed(_):
    """It fails where the fifth write is held: of whatever plan no more is left."""

    def fails(plan):
        return any(rule.kind == "hold" and rule.first <= 5 < rule.first + rule.most for rule in plan.rules)

    tried = 0
    for seed in SEEDS:
        plan = draw_plan(seed, OF_FABRIC)
        if fails(plan):
            small = Shrinker(fails, 5).shrink(plan, 5)
            same([(rule.kind, rule.first, rule.most, rule.chance) for rule in small.rules], [("hold", 5, 1, 1.0)])
            tried += 1
    assert tried > 100, tried


def shrinks_to_two_that_need_each_other(_):
    def fails(plan):
        return {"cut", "order"} <= {rule.kind for rule in plan.rules}

    plan = next(plan for plan in (draw_plan(seed, OF_FABRIC) for seed in SEEDS) if fails(plan) and len(plan.rules) > 3)
    same([rule.kind for rule in Shrinker(fails, 1).shrink(plan, 1).rules], ["cut", "order"])


def needs_nothing(_):
    same(Shrinker(lambda plan: True, 5).shrink(draw_plan(1, OF_FABRIC), 5).rules, [])


OPENS = """
from ctypes import CDLL, byref, c_int, c_void_p, POINTER
verbs, count = CDLL("libibverbs.so.1"), c_int()
verbs.ibv_get_device_list.restype, verbs.ibv_open_device.restype = POINTER(c_void_p), c_void_p
raise SystemExit(not verbs.ibv_open_device(c_void_p(verbs.ibv_get_device_list(byref(count))[0])))
"""


def the_nic_understands_them(folder):
    """fi_getinfo finds nothing, and no device opens, under a plan that is refused."""
    path = os.path.join(folder.path, "plan.ini")
    for command, kinds in ((("fi_info", "-p", "emu"), OF_FABRIC), (("python3", "-c", OPENS), OF_VERBS)):

        def understood(text, settings):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            return 0 == subprocess.run((EMURUN,) + command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False,
                                       timeout=120, env=dict(os.environ, **settings)).returncode

        for seed in range(1, 41):
            plan = draw_plan(seed, kinds)
            assert understood(plan.text(), plan.settings(path)), plan.text()
        assert not understood("[x]\nfault = none\n", {"FI_EMU_FAULT": path})


main([value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__"])
