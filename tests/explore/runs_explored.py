# SPDX-License-Identifier: BSD-2-Clause
# runs_explored.py - emurun --explore and --replay with programs that rely on too much, their right twins, and what goes wrong
# before: runs_explored.py EXPLORE_ORDERS [whole]. In the environment of runner.sh.
import os
import re
import shlex
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.environ["EMU_SOURCE_DIR"], "tests/verdict"))
from records import EMURUN, has, main, same  # noqa: E402

ORDERS = os.path.abspath(sys.argv[1])
RUNS = 200  # about one in six fails of each wrong program
HANG_S = 5
for variable in ("FI_EMU_FAULT", "FI_EMU_ORDER"):
    os.environ.pop(variable, None)


def run(folder, *words, **keys):
    return subprocess.run((EMURUN,) + words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True,
                          errors="replace", check=False, timeout=500, cwd=folder.path, **keys)


def told(answer):
    """The status and the last line, without the program's name."""
    return answer.returncode, answer.stderr.splitlines()[-1].replace("emurun: ", "", 1)


def shrunk(answer):
    """The sentences of the shrunk plan."""
    rest = answer.stderr[answer.stderr.index("shrunk by"):]
    return rest[:rest.index("runs failed")]


def found(folder, case, *words, what):
    """It fails, says how, by which seed, and what it takes; its plan and its seed make it fail again."""
    answer = run(folder, "--explore", str(RUNS), *words, ORDERS, case)
    assert answer.returncode == 86, answer.stderr
    sentences = shrunk(answer)
    assert re.search(what, sentences), answer.stderr
    assert len(sentences.splitlines()) <= 5, sentences
    seed = re.search(r"^emurun: seed (\d+), ", answer.stderr, re.M).group(1)
    again = run(folder, "--replay", seed, *words, ORDERS, case)
    same(again.returncode, 86)
    assert re.search(r"[1-9]\d* of (5|40) runs failed", again.stderr), again.stderr
    return answer


def data_behind_a_flag_without_order(folder):
    answer = found(folder, "flag", what="acknowledged .* before the bytes are seen|no order that was asked for")
    has(answer.stderr, "it ended with status 1")
    has(answer.stderr, "is not written")  # what the program said


def a_plan_stays_for_use_by_hand(folder):
    answer = run(folder, "--explore", str(RUNS), ORDERS, "told")
    same(answer.returncode, 86)
    words = shlex.split(re.search(r"^emurun: by hand: (.*)$", answer.stderr, re.M).group(1))
    settings = dict(word.split("=", 1) for word in words[:words.index("emurun")])
    same(os.path.dirname(settings["FI_EMU_FAULT"]), os.path.realpath(folder.path))
    same(words[words.index("emurun") + 1:], [ORDERS, "told"])
    failed = [run(folder, *words[words.index("emurun") + 1:], env=dict(os.environ, **settings)).returncode for _ in range(20)]
    assert set(failed) - {0}, failed


def a_completion_taken_for_delivery(folder):
    found(folder, "told", what="acknowledged .* before the bytes are seen")


def a_post_that_is_not_tried_again(folder):
    found(folder, "hasty", what="the queue full .*-FI_EAGAIN")


def right_twins_pass(folder):
    for case in ("flag-asked", "told-asked"):
        answer = run(folder, "--explore", "60", ORDERS, case)
        same((case, answer.returncode, answer.stderr if answer.returncode else ""), (case, 0, ""))
        has(answer.stderr, "60 runs ended well")
        for kind in ("requests pass one another", "writes are seen after they are acknowledged", "receivers are not ready",
                     "posts find the queue full"):
            assert re.search(rf"in [1-9]\d* of 60 runs: {kind}", answer.stderr), answer.stderr
        assert re.search(r"in [1-9]\d* of 60 runs one or two operations alone were late, drawn evenly among \d+ ways: .* [\d.]+ %",
                         answer.stderr), answer.stderr
    same([name for name in os.listdir(folder.path) if name.startswith("explore-")], [])


def right_twins_pass_in_checked_mode(folder):
    answer = run(folder, "--explore", "5", "--check", ORDERS, "told-asked")
    same((answer.returncode, answer.stderr if answer.returncode else ""), (0, ""))


def a_hang_by_order(folder):
    answer = run(folder, "--explore", str(RUNS), "--timeout", str(HANG_S), ORDERS, "messages")
    same(answer.returncode, 86)
    has(answer.stderr, f"it had not ended after {HANG_S} s")
    assert re.search("message|request", shrunk(answer)), answer.stderr


def minutes_pass(folder):
    answer = run(folder, "--explore", "1m", ORDERS, "flag")  # which fails long before
    same(answer.returncode, 86)


# In the place of emurun: under an odd seed of races mode a race is found.
FINDS_RACES = """#!/bin/sh
kind=
case $FI_EMU_CHECK in
races,seed=*[13579]) kind='{"kind": "race", "cause": "operation-store", "unexpected": true}' ;;
esac
while [ "$1" != true ]; do
	[ "$1" != --report ] || echo '{"findings": ['"$kind"'], "processes": [{"ops": {"write": {"posted": 2}}}]}' >"$2"
	shift
done
[ ! "$kind" ] || exit 86
"""


def explore_by(folder, emurun, *words):
    """By this script in the place of emurun."""
    stub = os.path.join(folder.path, "stub")
    with open(stub, "w", encoding="utf-8") as file:
        file.write(emurun)
    os.chmod(stub, 0o755)
    return subprocess.run(("python3", "-B", os.path.join(os.environ["EMU_SOURCE_DIR"], "tools/explore/explore.py"),
                           f"--emurun={stub}") + words + ("--", "true"), stderr=subprocess.PIPE, universal_newlines=True,
                          check=False, timeout=500, cwd=folder.path)


def races_are_failures(folder):
    """Each run has a seed of its own, and the shrunk plan is races mode with that seed alone."""
    def explore(*words):
        return explore_by(folder, FINDS_RACES, *words)

    answer = explore("--explore=20", "--with=--check=races")
    same(answer.returncode, 86)
    has(answer.stderr, "failed: emurun --check found a race")
    seed = re.search(r"^emurun: seed (\d+), .* emurun --replay \d+ --timeout \d+ --check=races true$", answer.stderr, re.M).group(1)
    same(re.findall(r"^emurun:   (.*)\.$", shrunk(answer), re.M),
         [f"The NIC keeps operations open for times that it draws from seed {seed}, and tells races: "
          f"FI_EMU_CHECK=races,seed={seed}"])
    has(answer.stderr, f"by hand: FI_EMU_CHECK=races,seed={seed} emurun --check true")
    assert re.search(r"in (\d+) of \1 runs: operations stay open for longer", answer.stderr), answer.stderr
    has(explore(f"--replay={seed}", "--with=--check=races").stderr, "5 of 5 runs failed")
    same(explore(f"--replay={int(seed) + 1}", "--with=--check=races").returncode, 0)
    has(explore("--explore=20", "--with=--check=race").stderr, "--check= takes races or races,strict, and not `race'")


# Likewise: of its runs, the undisturbed one among them, each tenth fails.
FAILS_RARELY = """#!/bin/sh
echo x >>runs
while [ "$1" != true ]; do
	[ "$1" != --report ] || echo '{"findings": [], "processes": [{"ops": {"write": {"posted": 2}}}]}' >"$2"
	shift
done
[ $(($(wc -l <runs) % 10)) != 0 ]
"""


def what_fails_rarely_is_tried_more_often(folder):
    answer = explore_by(folder, FAILS_RARELY, "--replay=7", "--with=--check")
    same(answer.returncode, 86)
    has(answer.stderr, "4 of 40 runs failed")


def no_nic_in_checked_mode(folder):
    answer = run(folder, "--explore", "3", "--check", "fi_info", "-p", "emu")
    same(answer.returncode, 2)
    has(answer.stderr, "the command fails without any disturbance: emurun --check had something to report")


# Likewise: each run leaks, and the fourth meets with a refusal.
LEAKS = """#!/bin/sh
echo x >>runs
told='{"kind": "leak", "cause": "left-open", "unexpected": true}'
[ "$(wc -l <runs)" != 4 ] || told=$told', {"kind": "refusal", "cause": "unknown-key", "unexpected": true}'
while [ "$1" != true ]; do
	[ "$1" != --report ] || echo '{"findings": ['"$told"'], "processes": [{"ops": {"write": {"posted": 2}}}]}' >"$2"
	shift
done
exit 86
"""


def what_the_undisturbed_run_tells_fails_no_other(folder):
    """But the exit status says that there is something."""
    for runs, last in (("2", "2 runs ended well, but for what the undisturbed run tells"),
                       ("9", "run 3 failed: emurun --check had something to report")):
        answer = explore_by(folder, LEAKS, f"--explore={runs}", "--with=--check=races")
        same(answer.returncode, 86)
        has(answer.stderr, "undisturbed, emurun --check tells of left-open: no run fails by that again")
        has(answer.stderr, last)
        os.remove(os.path.join(folder.path, "runs"))


def fails_undisturbed(folder):
    same(told(run(folder, "--explore", "3", "sh", "-c", "exit 3")),
         (2, "the command fails without any disturbance: it ended with status 3; nothing was explored"))
    same(told(run(folder, "--explore", "3", "no-such-program")),
         (2, "the command fails without any disturbance: it ended with status 127; nothing was explored"))
    same(told(run(folder, "--replay", "3", "--timeout", "1", "sh", "-c", "read -r line <>/dev/tcp || sleep 60")),
         (2, "the command fails without any disturbance: it had not ended after 1 s; nothing was explored"))


def opens_no_nic(folder):
    same(told(run(folder, "--explore", "3", "true")),
         (2, "no process of the command opened the NIC: there is nothing to disturb"))


def output_that_differs(folder):
    count = ('"$0" told-asked; echo x >>runs; echo "$(($(wc -l <runs) / 4))"', ORDERS)
    answer = run(folder, "--explore", "9", "sh", "-c", *count)
    same(answer.returncode, 0)
    os.remove(os.path.join(folder.path, "runs"))
    answer = run(folder, "--explore", "9", "--same-output", "sh", "-c", *count)
    same(answer.returncode, 86)
    has(answer.stderr, "run 2 failed: its output was not that of the undisturbed run")
    os.remove(os.path.join(folder.path, "runs"))
    same(told(run(folder, "--explore", "9", "--same-output", "sh", "-c", '"$0" told-asked; echo $$', ORDERS))[1],
         "a second undisturbed run failed: its output was not that of the undisturbed run; nothing was explored")


def wrong_arguments(folder):
    for words, sentence in (
            (("--explore", "0"), "--explore takes a number of runs, such as 100, or of minutes, such as 5m, and not `0'"),
            (("--explore", "5s"), "--explore takes a number of runs, such as 100, or of minutes, such as 5m, and not `5s'"),
            (("--replay", "x"), "--replay takes a whole number from 1 to 2000000000, and not `x'"),
            (("--explore", "1", "--timeout", "0"), "--timeout takes a whole number from 1 to 1000000, and not `0'"),
            (("--explore", "1", "--replay", "2"), "--explore and --replay do not go together"),
            (("--same-output",), "--same-output and --timeout go with --explore or --replay"),
            (("--explore", "1", "--report", "a.json"),
             "--report is of one run, and --explore has many: give it with the plan of the run that failed")):
        same(told(run(folder, *words, "touch", "ran")), (2, sentence))
    same(told(run(folder, "--explore", "1", "touch", "ran", env=dict(os.environ, FI_EMU_FAULT="x"))),
         (2, "FI_EMU_FAULT is set, and --explore makes plans of its own"))
    same(told(run(folder, "--explore")), (2, "--explore takes a number"))
    same(os.path.exists(os.path.join(folder.path, "ran")), False)


def a_signal_ends_all(folder):
    ready, wait = os.pipe()
    script = f'echo $$ >&{wait}; read -r line <"$0"'
    fifo = os.path.join(folder.path, "fifo")
    os.mkfifo(fifo)
    with subprocess.Popen((EMURUN, "--explore", "3", "sh", "-c", script, fifo), pass_fds=(wait,), stderr=subprocess.PIPE,
                          env=dict(os.environ, TMPDIR=folder.path)) as process:
        os.close(wait)
        pid = int(os.read(ready, 20) or 0)
        process.terminate()
        process.wait()
    same((process.returncode, sorted(os.listdir(folder.path))), (128 + 15, ["fifo"]))
    same(os.path.exists(f"/proc/{pid}"), False)
    os.close(ready)


LONG = ("a_plan_stays_for_use_by_hand", "a_completion_taken_for_delivery", "right_twins_pass_in_checked_mode", "a_hang_by_order",
        "minutes_pass", "a_post_that_is_not_tried_again")
main([value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__" and
      name not in ("run", "told", "shrunk", "found", "explore_by") and (name in LONG) == ("whole" in sys.argv)])
