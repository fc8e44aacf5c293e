# SPDX-License-Identifier: BSD-2-Clause
# twins.py - emurun --check on real programs: those that do wrong end with 86, their right twins with 0. twins.py PROGRAM, in the
# environment of runner.sh.
import json
import os
import sys

from records import EMURUN, SOURCE, has, main, run, same, write

PROGRAM = sys.argv[1]
if "FI_EMU_REPORT" not in run(EMURUN, "fi_info", "-e", "-g", "emu").stdout:
    print("skip twins the provider of this build has no FI_EMU_REPORT")
    sys.exit(77)


def twins(folder, case, *options):
    path = os.path.join(folder.path, "out.json")
    answer = run(EMURUN, "--check", "--report", path, *options, PROGRAM, case)
    with open(path, encoding="utf-8") as file:
        return answer, json.load(file)


def refused(found):
    return [one for one in found["findings"] if one["kind"] == "refusal"]


def the_right_twin_is_good(folder):
    answer, found = twins(folder, "right")
    same((answer.returncode, found["verdict"], found["findings"]), (0, 0, []))
    same((found["summary"]["processes"], found["summary"]["partial"], found["summary"]["regions_open"]), (2, 0, 0))


def a_refused_call_is_found(folder):
    answer, found = twins(folder, "call")
    same((answer.returncode, found["status"]), (86, 0))
    one, = found["findings"]
    same((one["kind"], one["call"], one["count"], one["site"]["function"]), ("call", "fi_mr_reg", 1, "twin_initiator"))
    with open(f"{SOURCE}/tests/verdict/verdict_twins.c", encoding="utf-8") as source:
        has(source.read().splitlines()[one["site"]["line"] - 1], "fi_mr_reg(e.domain")  # and not libfabric's header
    same(twins(folder, "call", "--expect", write(folder, "e", "call call=fi_mr_reg at=verdict_twins.c:*\n"))[0].returncode, 0)


def lines_of(found):
    """What each finding's caller is, two frames up, by the comment that stands there."""
    with open(f"{SOURCE}/tests/verdict/verdict_twins.c", encoding="utf-8") as source:
        lines = source.read().splitlines()
    stacks = [[frame["line"] for frame in one["local"]["stacks"]["here"] if frame.get("function") == "twin_wrapped"]
              for one in found["findings"]]
    return [lines[stack[0] - 1].split("/* ")[-1] for stack in stacks]


def each_cause_of_a_wrapper_is_a_finding(folder):
    answer, found = twins(folder, "wrapped")
    same((answer.returncode, [one["count"] for one in found["findings"]]), (86, [1, 1, 1]))
    same(lines_of(found), ["two causes of one line */"] * 2 + ["the first one of another line */"])
    texts = [one["text"] for one in found["findings"]]
    same((texts[0] == texts[1], texts[0] == texts[2]), (False, True))
    same(len({one["site"]["line"] for one in found["findings"]}), 1)


def an_expectation_of_a_call_accepts_one_cause(folder):
    line = "call call=fi_mr_reg at=verdict_twins.c:*"
    answer, found = twins(folder, "wrapped", "--expect", write(folder, "e", line + "\n"))
    same((answer.returncode, [one["unexpected"] for one in found["findings"]]), (86, [False, True, False]))
    has(answer.stderr, "e:1 accepts another refusal of this call")
    for more, status in (("call text=*of?another*", 86), ("call text=*access*", 0), ("call call=fi_mr_reg", 0), ("* kind=call", 0)):
        path = write(folder, "e", line + "\n" + more + "\n")
        same((more, twins(folder, "wrapped", "--expect", path)[0].returncode), (more, status))


def an_expectation_may_name_a_caller(folder):
    with open(f"{SOURCE}/tests/verdict/verdict_twins.c", encoding="utf-8") as source:
        number, = (at for at, line in enumerate(source, 1) if "the first one of another line" in line)
    _, found = twins(folder, "wrapped", "--expect", write(folder, "e", f"* from=verdict_twins.c:{number}\n"))
    same([one["unexpected"] for one in found["findings"]], [True, True, False])
    _, found = twins(folder, "wrapped", "--expect", write(folder, "e", f"* at=verdict_twins.c:{number}\n"))
    same([one["unexpected"] for one in found["findings"]], [True, True, True])


def a_wrong_key_is_found(folder):
    answer, found = twins(folder, "key")
    same((answer.returncode, found["status"]), (86, 0))
    one, = refused(found)
    same(one["count"], 1)
    assert one["initiator"]["process"]["pid"] != one["target"]["process"]["pid"]
    has(answer.stderr, "error: " + one["cause"])


def the_line_is_found(folder):
    _, found = twins(folder, "key")
    stack = [frame for frame in refused(found)[0]["initiator"]["stacks"]["posted"] if "source" in frame]
    with open(f"{SOURCE}/tests/verdict/verdict_twins.c", encoding="utf-8") as source:
        lines = source.read().splitlines()
    assert any(frame["source"].endswith("verdict_twins.c") and "a write that nobody" in lines[frame["line"] - 1]
               for frame in stack), stack


def a_closed_region_is_found(folder):
    answer, found = twins(folder, "closed")
    same((answer.returncode, len(refused(found))), (86, 1))


def ranks_are_named(folder):
    for name in ("PMIX_RANK", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID"):
        path = os.path.join(folder.path, "out.xml")
        run(EMURUN, "--check", "--report", path, PROGRAM, "right", env=dict(os.environ, **{name: "7"}))
        with open(path, encoding="utf-8") as file:
            has(file.read(), '<testcase classname="verdict_twins" name="rank 7, job 2" time=')


def each_time_counts(folder):
    answer, found = twins(folder, "twice")
    same(answer.returncode, 86)
    same(sum(one["count"] for one in refused(found) if "initiator" in one), 6)


def what_an_exit_left_open_is_one_line(folder):
    answer, found = twins(folder, "exits")
    same((answer.returncode, found["status"]), (86, 3))
    first, *rest = found["findings"]
    same((first["cause"], first["left_open"]),
         ("unknown-key", "left open by exit(3) after the refusal above: 1 region, 1 endpoint"))
    same(sorted((one["cause"], one["follows"]) for one in rest), [("endpoint-open", 0), ("region-open", 0)])
    same(answer.stderr.count("error: "), 1)
    has(answer.stderr, "3 findings: 1 unexpected, 0 expected, 2 left open after them")
    answer, found = twins(folder, "leaks")
    same(sorted((one["cause"], "follows" in one) for one in found["findings"]), [("endpoint-open", False), ("region-open", False)])
    same(answer.stderr.count("error: "), 2)


def what_is_expected_is_good(folder):
    cause = refused(twins(folder, "key")[1])[0]["cause"]
    same(twins(folder, "key", "--expect", write(folder, "e", f"{cause} max=1\n"))[0].returncode, 0)
    same(twins(folder, "twice", "--expect", write(folder, "e", f"{cause} max=1\n"))[0].returncode, 86)
    same(twins(folder, "right", "--expect", write(folder, "e", f"{cause}\n"))[0].returncode, 86)


def a_killed_process_is_partial(folder):
    answer, found = twins(folder, "killed")
    same((answer.returncode, found["status"]), (86, 137))
    assert found["summary"]["partial"] in (1, 2), found["summary"]  # the peer may still run when the command has ended
    has(answer.stderr, "partial: ")


def a_limit_of_files_costs_the_report(_):
    answer = run(EMURUN, "--check", "sh", "-c", 'ulimit -f 0; exec "$0" key', PROGRAM, env=dict(os.environ, FI_LOG_LEVEL="warn"))
    same(answer.returncode, 2)
    has(answer.stderr, "the command itself ended with status 0")
    has(answer.stderr, "Nothing more is reported of this process")
    has(answer.stderr, "partial: ")
    same(answer.stderr.count("]: cannot write the file of reports: File too large"), 2)


def a_limit_of_files_in_one_of_two(_):
    answer = run(EMURUN, "--check", "sh", "-c", '(ulimit -f 0; "$0" right); "$0" right', PROGRAM)
    same(answer.returncode, 2)
    has(answer.stderr, "error: records are lost: verdict_twins[")


def no_file_can_be_made_in_one_of_two(_):
    answer = run(EMURUN, "--check", "sh", "-c", '"$0" right; FI_EMU_REPORT=/dev/null/reports exec "$0" right', PROGRAM)
    same(answer.returncode, 2)
    same(answer.stderr.count("error: records are lost: verdict_twins["), 2)
    has(answer.stderr, "cannot make /dev/null/reports/")
    has(answer.stderr, "Not a directory")


def a_folder_that_cannot_be_costs_the_report_alone(_):
    answer = run(EMURUN, PROGRAM, "key", env=dict(os.environ, FI_EMU_REPORT="/dev/null/reports", FI_LOG_LEVEL="warn"))
    same(answer.returncode, 0)
    has(answer.stderr, "Nothing more is reported of this process")


main([value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__" and
      name not in ("twins", "refused", "lines_of")])
