# SPDX-License-Identifier: BSD-2-Clause
# explore_plan.py - what the NIC may do to a right program, drawn from a seed: rules of emu_fault(5) that only delay and reorder
# within what is promised, as a plan's text and as sentences.
import random

US, MS = 1, 1000
ALL_TIMES_US = 500 * MS  # what a rule's delays come to for one kind of op, so that a slow run is not taken for a hang
OPS = ("send", "write", "read", "atomic")
LATE_US = 20 * MS
VERBS_CALLS = ("ibv_post_send", "ibv_post_recv", "ibv_create_qp", "ibv_modify_qp", "ibv_reg_mr", "rdma_accept", "rdma_connect")
VERBS_EVENTS = ("ESTABLISHED", "CONNECT_REQUEST")

# What each kind is, in the summary.
KINDS = {
    "latency": "requests leave late",
    "reorder": "requests pass one another, where the promised order lets them",
    "completion": "completions come late",
    "hold": "writes are seen after they are acknowledged, piecewise, and reads look late",
    "rnr": "receivers are not ready at first",
    "cut": "connections break, and are made again",
    "bandwidth": "bytes leave slowly",
    "full": "posts find the queue full, and are to be tried again (-FI_EAGAIN)",
    "thread": "the NIC's thread is slow",
    "order": "no order but that which is asked for (FI_EMU_ORDER=weak)",
    "call": "calls take long",
    "cm": "events of rdma_cm come late",
    "races": "operations stay open for longer, and races are looked for (FI_EMU_CHECK=races)",
}
# A queue pair may be promised that no receiver is unready (rnr_retry), and has room for max_send_wr requests and one order, which
# reorder cannot loosen.
OF_FABRIC = ("latency", "reorder", "completion", "hold", "rnr", "cut", "bandwidth", "full", "thread", "order")
OF_VERBS = ("latency", "completion", "hold", "cut", "bandwidth", "thread", "call", "cm")

DELAYS = ("latency", "reorder", "completion", "hold")
NUMBERED = DELAYS + ("rnr", "cut", "full", "call", "cm")
# Ways in which a single operation is late: the first of those that it has and that are the command's. A message cannot be held.
WAYS = (("reorder", "latency"), ("completion",), ("hold", "latency"))
# Of a plan these are settings, and no rules of its file.
SETTINGS = ("order", "races")
# FI_EMU_ORDER=weak brings rules for these, which stand behind those of the plan. A rule that does nothing stands before them.
OF_ORDER = ("hold", "reorder", "completion")


class Draws:
    """Numbers of a seed, by nothing but random(), which is the same in each version of Python."""

    def __init__(self, seed):
        self.random = random.Random(seed).random

    def below(self, number):
        return int(self.random() * number)

    def one(self, things):
        return things[self.below(len(things))]

    def between(self, least, most):
        """Each order of magnitude as likely as any other; two digits, and noughts."""
        return int(float(f"{least * (most / least) ** self.random():.1e}"))


class Rule:
    """One section of a plan. Times are in microseconds. Of the ops of a kind it takes `most`, from number `first` on."""

    def __init__(self, kind):
        self.kind = kind
        self.ops = ()  # none: all
        self.first, self.most, self.chance = 1, 0, 1.0  # most 0: no bound
        self.wait = self.jitter = 0
        self.times = 1  # rnr, full
        self.before = False  # cut
        self.rate = 0  # bandwidth
        self.name = ""  # call, cm: which

    def but(self, **members):
        other = Rule(self.kind)
        other.__dict__.update(self.__dict__, **members)
        return other

    def kinds(self):
        """The ops that can meet it."""
        if self.kind == "hold":
            return tuple(op for op in self.ops or OPS if op != "send")
        if self.kind == "rnr":
            return tuple(op for op in self.ops or OPS if op != "read")
        if self.kind == "full":
            return self.ops or OPS + ("recv",)
        return self.ops or OPS

    def lines(self):
        yield "fault = " + self.kind
        if self.ops or self.kind == "full":  # which is for receives only by their name
            yield "op = " + ", ".join(self.kinds())
        if self.kind == "call":
            yield "call = " + self.name
        if self.kind == "cm":
            yield "event = " + self.name
        if self.kind in DELAYS + ("thread", "call", "cm"):
            yield f"wait = {self.wait}us"
        if self.jitter:
            yield f"jitter = {self.jitter}us"
        if self.first > 1:
            yield f"first = {self.first}"
        if self.most:
            yield f"most = {self.most}"
        if self.chance < 1:
            yield f"chance = {self.chance}"
        if self.kind in ("rnr", "full"):
            yield f"times = {self.times}"
        if self.kind == "cut":
            yield "when = " + ("before" if self.before else "after")
        if self.kind == "bandwidth":
            yield f"rate = {self.rate}"


class Plan:
    """Rules; one of kind `order` is FI_EMU_ORDER=weak, and one of kind `races` is FI_EMU_CHECK=`check`, which begins with races.
    `single`: each rule has one operation late."""

    def __init__(self, seed, rules, check=None, single=False):
        self.seed, self.rules, self.check, self.single = seed, rules, check, single

    def has(self, kind):
        return any(rule.kind == kind for rule in self.rules)

    def but(self, rules):
        return Plan(self.seed, rules, self.check, self.single)

    def checked(self):
        """FI_EMU_CHECK of it."""
        return f"{self.check},seed={self.seed}" if self.has("races") else "yes"

    def text(self):
        out = [f"# emurun --explore; seed {self.seed}"]
        out += ["# " + sentence for sentence in self.sentences()]
        if self.has("order"):
            out.append("# It goes with FI_EMU_ORDER=weak, of which the rules that do nothing leave what fi_getinfo offers.")
        if self.has("races"):
            out.append(f"# It goes with FI_EMU_CHECK={self.checked()}.")
        out.append(f"seed = {self.seed}")
        rules = [rule for rule in self.rules if rule.kind not in SETTINGS]
        if self.has("order"):
            rules += [Rule(kind) for kind in OF_ORDER]
        for number, rule in enumerate(rules, 1):
            out += ["", f"[{number} {rule.kind}]"] + list(rule.lines())
        return "\n".join(out) + "\n"

    def settings(self, path):
        """The variables that put it in force, out of that file; none if it is empty."""
        settings = {"FI_EMU_FAULT": path} if any(rule.kind != "races" for rule in self.rules) else {}
        if self.has("order"):
            settings["FI_EMU_ORDER"] = "weak"
        if self.check:
            settings["FI_EMU_CHECK"] = self.checked()
        return settings

    def sentences(self):
        return [sentence_of(rule) for rule in self.rules if rule.kind != "races"] + \
            [f"The NIC keeps operations open for times that it draws from seed {self.seed}, and tells races: "
             f"FI_EMU_CHECK={self.checked()}."] * self.has("races")


def a_time(us):
    return f"{us / MS:g} ms" if us >= MS else f"{us} us"


def how_late(rule):
    if rule.jitter:
        return f"{a_time(rule.wait)} to {a_time(rule.wait + rule.jitter)}"
    return a_time(rule.wait)


def which(rule, one, many):
    """The subject of a sentence, with the words for one and for several; ends with whether it is one."""
    chance = f", each with a chance of {rule.chance * 100:g} %," if rule.chance < 1 else ""
    if rule.most == 1:
        return f"The first {one}{chance}" if rule.first == 1 else f"The {one} number {rule.first}{chance}", True
    if rule.most:
        return f"The {many} number {rule.first} to {rule.first + rule.most - 1}{chance}", False
    return f"The {many} from number {rule.first} on{chance}", False


def sentence_of(rule):
    kinds = rule.kinds()
    named = len(kinds) == 1 or rule.ops
    words = {"send": "message", "write": "write", "read": "read", "atomic": "atomic", "recv": "receive"}
    one = " or ".join(words[op] for op in kinds) if named else "request"
    many = ", ".join(words[op] + "s" for op in kinds) if named else "requests"
    subject, single = which(rule, one, many)
    if rule.kind == "order":
        return "The NIC keeps no order but that which is asked for: fi_getinfo offers the bits of msg_order in the hints alone."
    if rule.kind == "bandwidth":
        return f"What a process sends leaves at {rule.rate} bytes a second."
    if rule.kind == "thread":
        return f"The NIC's thread, which serves peers while the program does not call, looks {a_time(rule.wait)} later each time."
    if rule.kind == "call":
        subject, single = which(rule, "call of " + rule.name, "calls of " + rule.name)
        return f"{subject} {'takes' if single else 'take'} {how_late(rule)} longer."
    if rule.kind == "cm":
        subject, single = which(rule, "RDMA_CM_EVENT_" + rule.name, "RDMA_CM_EVENT_" + rule.name)
        return f"{subject} {'comes' if single else 'come'} {how_late(rule)} later."
    if rule.kind == "rnr":
        times = "once" if rule.times == 1 else f"{rule.times} times"
        verb, be = ("finds", "is") if single else ("find", "are")
        return f"{subject} {verb} the receiver not ready {times}, and {be} tried again."
    if rule.kind == "full":
        verb, its, returns = ("finds", "its post", "returns") if single else ("find", "their posts", "return")
        times = "once" if rule.times == 1 else f"{rule.times} times"
        return f"{subject} {verb} the queue full {times}: {its} {returns} -FI_EAGAIN."
    if rule.kind == "cut":
        be = "it is" if single else "they are"
        when = f"before {be} executed" if rule.before else f"after {be} executed and before the answer leaves"
        return f"{subject} {'has' if single else 'have'} the connection break {when}, and be made again."
    verb, be = ("leaves", "is") if single else ("leave", "are")
    late = f"{subject} {verb} {how_late(rule)} late; "
    if rule.kind == "latency":
        return late + "what was posted later to the same peer waits behind."
    if rule.kind == "reorder":
        return late + "what was posted later, and no order that was asked for holds back, goes before."
    if rule.kind == "completion":
        return f"The completion of {subject[0].lower()}{subject[1:]} is told {how_late(rule)} late."
    if kinds == ("read",):
        looks = "looks" if single else "look"
        return f"{subject} {looks} at the bytes {how_late(rule)} late, piece by piece."
    if "read" in kinds:
        return f"{subject} {be} acknowledged {how_late(rule)} before the bytes are seen, or look at them so late, piece by piece."
    return f"{subject} {be} acknowledged {how_late(rule)} before the bytes are seen, piece by piece."


def draw_numbers(draws, rule, cost_us, most_max):
    """Which ops of a kind it takes: from the first on, or further on; all, or by chance; not so many that it is a hang."""
    rule.first = 1 if draws.below(3) else draws.between(2, 200)
    rule.most = max(1, min(most_max, ALL_TIMES_US // max(cost_us, 1)))
    rule.chance = draws.one((1.0, 0.5, 0.2) if rule.jitter else (0.5, 0.2))  # what is as late as all else changes no order
    if draws.below(4) == 0:
        rule.most = min(rule.most, draws.between(1, 8))
        rule.chance = 1.0


def draw_rule(draws, kind):
    rule = Rule(kind)
    if kind in DELAYS + ("call", "cm"):
        rule.wait = draws.between(20 * US, 20 * MS) if draws.below(3) else 0
        rule.jitter = draws.between(20 * US, 20 * MS) if draws.below(2) or not rule.wait else 0
        if kind in DELAYS and draws.below(2):
            rule.ops = (draws.one(OPS if kind != "hold" else OPS[1:]),)
        if kind == "call":
            rule.name = draws.one(VERBS_CALLS)
        if kind == "cm":
            rule.name = draws.one(VERBS_EVENTS)
        draw_numbers(draws, rule, rule.wait + rule.jitter, 1000000)
    elif kind == "rnr":
        rule.times = 1 + draws.below(3)
        draw_numbers(draws, rule, 2 ** rule.times * MS, 1000)
    elif kind == "full":
        rule.times = 1 + draws.below(3)
        rule.ops = (draws.one(OPS + ("recv",)),) if draws.below(2) else ()
        draw_numbers(draws, rule, 1 * US, 1000000)
    elif kind == "cut":
        rule.before = draws.below(2) == 0
        draw_numbers(draws, rule, 5 * MS, 20)
    elif kind == "bandwidth":
        rule.rate = draws.between(200 * 1000 * 1000, 2000 * 1000 * 1000)
    elif kind == "thread":
        rule.wait = draws.between(100 * US, 20 * MS)
    return rule


def room_for(count):
    """A power of two: a command that posts a few operations more in one run than in the next has the same plans."""
    return 1 << max(count - 1, 0).bit_length()


def singles_of(ops):
    """Of how many operations one is drawn, evenly."""
    return sum(room_for(count) for _, count in ops)


def draw_single(draws, kinds, ops):
    """One operation of all that a pair of endpoints may have, and one of the WAYS, each as likely."""
    number, ways = draws.below(singles_of(ops)), draws.one(WAYS)
    for op, count in ops:
        if number < room_for(count):
            break
        number -= room_for(count)
    possible = [kind for kind in ways if kind in kinds and (kind != "hold" or op != "send")]
    rule = Rule(possible[0])
    rule.ops, rule.first, rule.most, rule.wait = (op,), number + 1, 1, LATE_US
    return rule


def draw_plan(seed, kinds, ops=(), check=None):
    """One to four disturbances, or one or two operations that are late; in races mode perhaps none. `ops`: kinds of operations, and
    how many of each a process posts, at most. The same arguments give the same plan."""
    draws, rules = Draws(seed), []
    left = [kind for kind in kinds if kind not in SETTINGS]
    weak = "order" in kinds and draws.below(2) == 0
    single = bool(ops) and draws.below(4) == 0
    if single:
        rules = [draw_single(draws, kinds, ops) for _ in range(1 + draws.below(2))]
    for number in range(0 if single else draws.below(4) + (0 if check else 1)):
        kind = draws.one(("hold", "reorder") if weak and number == 0 else left)  # what no order holds back is to move, too
        left.remove(kind)
        rules.append(draw_rule(draws, kind))
    rules += [Rule(kind) for kind, is_on in (("order", weak), ("races", check)) if is_on]
    return Plan(seed, rules, check, single)
