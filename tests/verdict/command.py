# SPDX-License-Identifier: BSD-2-Clause
# command.py - emurun --check: commands that leave records, fail, skip, hang, and run within one another. In the environment of
# runner.sh.
import json
import os
import signal
import subprocess
import tempfile

from records import EMURUN, finding, has, main, run, same, write

# A process that leaves a record, as one that opened a NIC does.
LEAVE = 'printf "%s\\n" "$1" >"$FI_EMU_REPORT/h-$$-1.jsonl"; exit ${2:-0}'


# For a script: the file of a process on another host, and its first line.
HEAD = ('file=$FI_EMU_REPORT/elsewhere-4000001-1.jsonl; head() { printf "%s\\n" \'{"emu_report":1,"type":"process",'
        '"host":"elsewhere","pid":4000001,"program":"loses"}\' >"$file"; }; ')


def record(cause="unknown-key"):
    head = {"emu_report": 1, "type": "process", "host": "h", "pid": 4000001, "program": "prog"}
    return "\n".join(json.dumps(line) for line in (head, finding(cause), {"type": "end"}))


def check(*words, **keys):
    return run(EMURUN, "--check", *words, **keys)


def leaving(status=0, cause="unknown-key"):
    return ("sh", "-c", LEAVE, "sh", record(cause), str(status))


def statuses_come_through(_):
    for status in (0, 1, 42, 77, 126):
        same(check("--allow-none", "sh", "-c", f"exit {status}").returncode, status)
    same(check("sh", "-c", "kill -9 $$").returncode, 128 + 9)


def no_process_that_opens_the_nic_is_86(_):
    answer = check("true")
    same(answer.returncode, 86)
    has(answer.stderr, "error: no process opened the NIC")
    same(check("sh", "-c", 'FI_PROVIDER=tcp fi_info -p tcp >"$FI_EMU_REPORT/out"').returncode, 86)
    same(check("--allow-none", "true").returncode, 0)
    same(run(EMURUN, "--allow-none", "true").returncode, 0)  # which implies --check
    for status in (1, 77):  # it says by itself that it did nothing
        answer = check("sh", "-c", f"exit {status}")
        same(answer.returncode, status)
        assert "error: " not in answer.stderr, answer.stderr


def the_nic_within_is_seen_by_the_outer(_):
    same(check(EMURUN, "--check", "true").returncode, 86)
    same(check(EMURUN, "--check", "--allow-none", "true").returncode, 86)
    same(check("--allow-none", EMURUN, "--check", "true").returncode, 0)


def findings_are_86_whatever_the_status(_):
    for status in (0, 1, 77):
        answer = check(*leaving(status))
        same(answer.returncode, 86)
        has(answer.stderr, "error: unknown-key")
        has(answer.stderr + "the command ended with status 0", f"the command ended with status {status}")


def a_skip_is_no_failure(folder):
    path = write(folder, "e", "range\n")
    same(check("--expect", path, "sh", "-c", "exit 77").returncode, 77)
    same(check("--expect", path, "true").returncode, 86)
    same(check("--expect", path, *leaving(0, "range")).returncode, 0)
    same(check("--expect", path, *leaving(5, "range")).returncode, 5)


def no_such_program(_):
    answer = check("no-such-program")
    same((answer.returncode, answer.stderr), (127, "emurun: no-such-program: no such program\n"))


def files_are_tried_before_the_command(folder):
    ran = os.path.join(folder.path, "ran")
    for words in (("--report", "/nowhere/x.json"), ("--report", "x.txt"), ("--expect", "/nowhere/e"), ("--report", folder.path),
                  ("--expect", write(folder, "bad", "range mim=1\n"))):
        answer = check(*words, "touch", ran)
        same((words, answer.returncode), (words, 2))
        assert answer.stderr and not os.path.exists(ran), words
    same(run(EMURUN, "--report").returncode, 2)
    same(check("--report", "x.json", env=dict(os.environ, TMPDIR="/nowhere"), *("true",)).returncode, 2)


def a_full_disk_loses_no_run(folder):
    link = os.path.join(folder.path, "full.json")
    os.symlink("/dev/full", link)
    answer = check("--report", link, *leaving(3))
    same(answer.returncode, 2)
    has(answer.stderr, "No space left on device")
    has(answer.stderr, "error: unknown-key")
    has(answer.stderr, "the command itself ended with status 3")


def each_report_is_written(folder):
    paths = [os.path.join(folder.path, "it's a \"report\" $x." + suffix) for suffix in ("json", "xml", "sarif")]
    words = [word for path in paths for word in ("--report", path)]
    same(run(EMURUN, *words, *leaving(4)).returncode, 86)  # --report implies --check
    for path in paths:
        assert os.path.getsize(path) > 100
    with open(paths[0], encoding="utf-8") as file:
        found = json.load(file)
    same((found["status"], found["verdict"], found["command"][:2]), (4, 86, ["sh", "-c"]))


def settings_of_the_command(_):
    show = ("sh", "-c", 'echo "$FI_PROVIDER ${FI_EMU_CHECK-none} $(stat -c %a "$FI_EMU_REPORT")"')
    same(check(*show).stdout, "emu 1 700\n")
    same(check("--no-checked", *show).stdout, "emu none 700\n")
    same(check(*show, env=dict(os.environ, FI_EMU_CHECK="0")).stdout, "emu 0 700\n")
    same(run(EMURUN, "sh", "-c", 'echo "${FI_EMU_CHECK-none} ${FI_EMU_REPORT-none}"').stdout, "none none\n")


def input_and_arguments_come_through(_):
    same(check("cat", input="text").stdout, "text")
    same(check("printf", "<%s>", "a b", "", "*", "'", "$x").stdout, "<a b><><*><'><$x>")
    same(check("--", "true").returncode, 2)


def no_folder_stays(folder):
    for words in (("true",), leaving(), ("sh", "-c", "kill -9 $$"), ("sh", "-c", 'echo x >"$FI_EMU_REPORT/h.jsonl"')):
        check(*words, env=dict(os.environ, TMPDIR=folder.path))
        same((words, os.listdir(folder.path)), (words, []))


def signals_reach_the_command(folder):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1):
        ready, wait = os.pipe()
        command = ("sh", "-c", f'trap "exit 9" {number.name[3:]}; {LEAVE.split(";")[0]}; echo >&{wait}; '
                   'while :; do read -r line; done', "sh", record())
        hold, give = os.pipe()  # an input that has no end, and never anything
        with subprocess.Popen((EMURUN, "--check", *command), pass_fds=(wait,), stdin=hold, stderr=subprocess.PIPE, text=True,
                              env=dict(os.environ, TMPDIR=folder.path)) as process:
            os.close(wait)
            os.read(ready, 1)
            process.send_signal(number)
            said = process.communicate()[1]
        for fd in (ready, hold, give):
            os.close(fd)
        same((number, process.returncode, os.listdir(folder.path)), (number, 86, []))
        has(said, "the command ended with status 9")


def a_signal_that_ends_it(folder):
    ready, wait = os.pipe()
    with subprocess.Popen((EMURUN, "--check", "sh", "-c", f"echo >&{wait}; exec cat"), pass_fds=(wait,), stdin=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=dict(os.environ, TMPDIR=folder.path)) as process:
        os.close(wait)
        os.read(ready, 1)
        process.terminate()
        process.stderr.read()
        process.wait()
    os.close(ready)
    same((process.returncode, os.listdir(folder.path)), (128 + signal.SIGTERM, []))


def a_run_within_joins_the_outer(folder):
    inner = write(folder, "inner", "range\n")
    path = os.path.join(folder.path, "x.json")
    answer = check(EMURUN, "--check", "--report", path, *leaving(3))
    same((answer.returncode, os.path.exists(path)), (86, False))
    has(answer.stderr, "x.json is not written: the findings go to the emurun --check that this one is within")
    same(answer.stderr.count("error: unknown-key"), 1)
    same(check(EMURUN, "--check", "--expect", inner, *leaving(0, "range")).returncode, 0)
    answer = check(EMURUN, "--check", "--expect", inner, "true")
    same(answer.returncode, 86)
    has(answer.stderr, inner + ":1: range was expected at least once")
    same(check("sh", "-c", '"$0" --check --expect /nowhere true; echo $?', EMURUN).stdout, "2\n")
    same(check("sh", "-c", '"$0" --check sh -c "exit 4"; echo $?', EMURUN).stdout, "4\n")


def lost(folder, script, *words):
    """What emurun says of a process that is named `loses', and its JSON report."""
    path = os.path.join(folder.path, "lost.json")
    answer = check("--report", path, *words, "sh", "-c", HEAD + script)
    with open(path, encoding="utf-8") as file:
        return answer, json.load(file)


def records_that_are_damaged_are_lost(folder):
    for script, what in (('head; printf "{" >>"$file"', "its last record is cut off"),
                         ('head; echo "{" >>"$file"', "1 of its records cannot be read"),
                         ('head; chmod 400 "$file"', "could not write its records to the end"),
                         (': >"$file"; chmod 400 "$file"', "could not write its records to the end")):
        answer, found = lost(folder, script)
        same((script, answer.returncode, found["verdict"]), (script, 2, 2))
        has(answer.stderr, "error: records are lost: ")
        has(answer.stderr, what)
        has(answer.stderr, "the command itself ended with status 0")
        same([text.split("]: ")[1] for text in found["lost"]], [what])


def what_was_found_counts_more_than_what_is_lost(folder):
    answer, found = lost(folder, "head; printf '%s\\n' '" + json.dumps(finding()) + "' >>\"$file\"; chmod 400 \"$file\"")
    same((answer.returncode, found["verdict"], len(found["lost"])), (86, 86, 1))


def a_killed_process_loses_nothing(folder):
    for script in ("head", ': >"$file"'):
        answer, found = lost(folder, script)
        same((script, answer.returncode, found["lost"]), (script, 0, []))
        has(answer.stderr, "was killed")


def several_processes_are_seen(_):
    answer = check("sh", "-c", f"sh -c '{LEAVE}' sh \"$1\" 1 & sh -c '{LEAVE}' sh \"$1\" 0; wait", "sh", record())
    same(answer.returncode, 86)
    has(answer.stderr, "emu: 2 processes")
    has(answer.stderr, "counted    2 times")


def processes_that_stay_are_partial(_):
    """One that outlives the command, and holds none of its files."""
    with tempfile.TemporaryDirectory() as scratch:
        fifo = os.path.join(scratch, "fifo")
        os.mkfifo(fifo)
        script = ('sh -c \'printf "{\\"emu_report\\":1,\\"type\\":\\"process\\",\\"host\\":\\"%s\\",\\"pid\\":%d,'
                  '\\"program\\":\\"stays\\"}\\n" "$(uname -n)" $$ >"$FI_EMU_REPORT/h.jsonl"; echo >"$1"; read -r x <"$1"\' sh "$1" '
                  '</dev/null >/dev/null 2>&1 & read -r x <"$1"')
        answer = check("sh", "-c", script, "sh", fifo)
        with open(fifo, "w", encoding="utf-8") as file:
            file.write("x\n")
        same(answer.returncode, 0)
        has(answer.stderr, "partial: stays[")
        has(answer.stderr, "still runs")


main([value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__" and
      name not in ("record", "check", "leaving", "lost")])
