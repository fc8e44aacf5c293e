#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""lab.py - the exercises of docker/lab: what is given fails, the solution holds, and the pages show what is printed and drawn.

    lab.py [--write | --tries] [EXERCISE]

All of them, or the one of that folder alone. --tries tries right and wrong solutions, and nothing else. --write puts into each page what `lab run` prints of the exercise as it is given, and draws the pictures anew. In the environment of
runner.sh."""

import concurrent.futures
import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

SOURCE = os.environ.get("EMU_SOURCE_DIR", os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.insert(0, os.path.join(SOURCE, "tests", "errors"))
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import errors  # noqa: E402  what differs from run to run is the same there
import tries  # noqa: E402

LAB = os.path.join(SOURCE, "docker", "lab")
EXERCISES = sorted(name for name in os.listdir(LAB) if re.match(r"\d\d-", name))
LOADER = importlib.machinery.SourceFileLoader("lab_command", os.path.join(LAB, "lab"))
COMMAND = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
LOADER.exec_module(COMMAND)
GUARD_S = 300
RUNS = 10
AT_A_TIME = 4  # tries, most of which wait for a plan's delays
# Beyond what differs there: how far an offset is from an address, and how much is done when a program ends too early.
VARIES = ((re.compile(r"\b\d{10,20} B"), "N B"), (re.compile(r"\bops, \d+(\.\d+)? (B|KiB)"), "ops, N B"),
          (re.compile(r"(refused: [a-z-]+) \d+"), r"\1 N"))
BLOCK = re.compile(r"```text\n(.*?)\n?```", re.S)


class Work:
    """A folder of a student's, and the command with it."""

    def __init__(self, folder):
        self.folder = folder

    def lab(self, *words, **settings):
        return subprocess.run([os.path.join(LAB, "lab"), *words], env=dict(os.environ, LAB_WORK=self.folder, **settings),
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=GUARD_S,
                              check=False, text=True)

    def path(self, *names):
        return os.path.join(self.folder, *names)


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def lines_of(text):
    """In an order of their own before the report begins: two processes print."""
    for pattern, put in VARIES:
        text = pattern.sub(put, text)
    told, mark, report = text.partition("\nerror: ")
    return sorted(errors.plain(told)) + errors.plain(mark + report)


def wanted(condition, why):
    if not condition:
        raise AssertionError(why)


def given_fails_and_solution_holds(work, name):
    number = str(int(name[:2]))
    given, solved = work.lab("check", number), work.lab("check", number, "--solution")
    wanted(given.returncode == 1 and "  not yet " in given.stdout, "as given: " + given.stdout)
    wanted(solved.returncode == 0 and "  not yet " not in solved.stdout, "solved: " + solved.stdout)


def page_shows_the_run(work, name, anew):
    """Or one of several: what a program without its waits does is another thing where the machine is busy."""
    page = read(LAB, name, "README.md")
    for _ in range(RUNS):
        ran = work.lab("run", str(int(name[:2])))
        wanted(ran.returncode == 0, ran.stdout)
        real = re.sub(r"\S*/(exercise|lab)\.c\b", r"\1.c", ran.stdout).strip("\n")
        if lines_of(BLOCK.search(page).group(1)) == lines_of(real):
            break
    else:
        wanted(anew, "the page shows another run: lab.py --write mends it; now: " + real)
        write(BLOCK.sub(lambda _: "```text\n" + real + "\n```", page, count=1), LAB, name, "README.md")


def picture_is_of_the_solution(work, name, anew):
    """The picture depends on nothing that differs from run to run. A page without one is of datagrams, which are no operations."""
    if "picture.svg" not in read(LAB, name, "README.md"):
        return
    program = work.path("solution-" + name)
    exercise = COMMAND.Exercise(os.path.join(LAB, name))
    said = COMMAND.compiled(os.path.join(LAB, name, "solution.c"), program, exercise.interface)
    wanted(not said, said)
    settings = {"FI_EMU_TRACE": work.path("trace-" + name)}
    os.mkdir(settings["FI_EMU_TRACE"])
    plan = os.path.join(LAB, name, "plan.ini")
    if os.path.exists(plan):
        settings["FI_EMU_FAULT"] = plan
    subprocess.run([os.path.join(SOURCE, "tools", "emurun"), program], env=dict(os.environ, **settings), check=True,
                   stdout=subprocess.DEVNULL, timeout=GUARD_S)
    emu_trace = os.path.join(os.environ["EMU_BUILD"], "tools", "trace", "emu_trace")
    drawn = subprocess.run([os.path.join(LAB, "picture.py"), emu_trace, settings["FI_EMU_TRACE"]], check=True,
                           stdout=subprocess.PIPE, text=True, timeout=GUARD_S).stdout
    path = os.path.join(LAB, name, "picture.svg")
    if not os.path.exists(path) or read(path) != drawn:
        wanted(anew, "the picture is of another run: lab.py --write draws it")
        write(drawn, path)


def hints_come_one_by_one(work, name):
    number = str(int(name[:2]))
    hints = [work.lab("hint", number).stdout for _ in range(4)]
    wanted([hint[:11] for hint in hints[:3]] == [f"hint {n} of 3" for n in (1, 2, 3)], "hints: " + "".join(hints))
    wanted("solution.c" in hints[3], hints[3])


def reset_gives_it_back(work):
    work.lab("check", "1")
    mine = work.path(EXERCISES[0], "exercise.c")
    write("mine", mine)
    done = work.lab("reset", "1")
    wanted(done.returncode == 0 and read(mine) == read(LAB, EXERCISES[0], "exercise.c"), done.stdout)
    wanted(read(mine + ".old") == "mine", "what the student had is kept")
    wanted("hint 1 of" in work.lab("hint", "1").stdout, "hints begin anew")


def compiler_is_heard(work):
    work.lab("check", "1")
    write("int main(void) { return nothing; }\n", work.path(EXERCISES[0], "exercise.c"))
    for command in ("check", "run"):
        done = work.lab(command, "1")
        wanted(done.returncode == 1 and "nothing" in done.stdout, done.stdout)
    told = [line for line in work.lab("check", "1").stdout.splitlines() if line.startswith("  ")]
    wanted(told[0].startswith("  not yet The program does not build") and "not yet" not in "".join(told[1:]), "what was not tried: " + "".join(told))
    work.lab("reset", "1")


def checked(folder, name, exchanges):
    """What `lab check` says of the solution with words exchanged."""
    source = read(LAB, name, "solution.c")
    for old, new in exchanges:
        wanted(old in source, f"the solution has no longer: {old}")
        source = source.replace(old, new)
    work = Work(tempfile.mkdtemp(dir=folder))
    os.mkdir(work.path(name))
    write(source, work.path(name, "exercise.c"))
    return work.lab("check", str(int(name[:2])))


def right_try_passes(folder, name, title):
    done = checked(folder, name, tries.RIGHT[name][title])
    wanted(done.returncode == 0 and "  not yet " not in done.stdout, done.stdout)


def wrong_try_is_told(folder, name, title):
    says, exchanges = tries.WRONG[name][title]
    done = checked(folder, name, exchanges)
    told = [line for line in done.stdout.splitlines() if line.startswith("  not yet ")]
    wanted(done.returncode == 1 and any(line.startswith("  not yet " + says) for line in told), done.stdout)
    wanted(not tries.ENDS.match(says) or told[0].startswith("  not yet " + says), "how the program ended comes first: " + done.stdout)


def list_names_all(work):
    done = work.lab("list")
    wanted(done.returncode == 0 and all(name in done.stdout for name in EXERCISES), done.stdout)


def bad_commands_are_refused(work):
    write("a file", work.path("file"))
    for words, settings, says in ((["check"], {}, "number of one exercise"), (["check", "16"], {}, "no exercise 16"),
                                  (["hint", "x"], {}, "no exercise x"), (["dance"], {}, "no command dance"),
                                  (["run", "1"], {"LAB_WORK": work.path("file")}, "no copy of exercise 1"),
                                  (["run", "1"], {"PKG_CONFIG_LIBDIR": "/nowhere", "PKG_CONFIG_PATH": ""}, "no libfabric")):
        done = subprocess.run([os.path.join(LAB, "lab"), *words], env=dict(os.environ, **{"LAB_WORK": work.folder, **settings}),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, text=True)
        wanted(done.returncode == 2 and done.stdout.startswith("lab: ") and says in done.stdout, f"{words}: {done.stdout}")


def main(words):
    if words in (["--help"], ["-h"]):
        print(__doc__)
        return 0
    option = words[0] if words[:1] in (["--write"], ["--tries"]) else None
    named = words[bool(option):]
    if len(named) > 1 or not set(named) <= set(EXERCISES):
        print("usage: lab.py [--write | --tries] [EXERCISE]", file=sys.stderr)
        return 2
    names = named or EXERCISES
    with tempfile.TemporaryDirectory(prefix="emu-lab-test.") as folder, concurrent.futures.ThreadPoolExecutor(AT_A_TIME) as pool:
        if option == "--tries":
            made = [pool.submit(passes, f"{name} {case.__name__}: {title}", case, folder, name, title)
                    for case, told in ((right_try_passes, tries.RIGHT), (wrong_try_is_told, tries.WRONG))
                    for name in names for title in told[name]]
        else:
            made = [pool.submit(exercise_passes, Work(folder), name, option == "--write") for name in names]
        good = [one.result() for one in made]
        if not option and not named:
            good += [passes(case.__name__, case, Work(folder))
                     for case in (reset_gives_it_back, compiler_is_heard, list_names_all, bad_commands_are_refused)]
    return 0 if all(good) else 1


def exercise_passes(work, name, anew):
    """The cases of one exercise, one after another: they share its folder."""
    return all([passes(f"{name} {case.__name__}", case, work, *more) for case, more in (
        (given_fails_and_solution_holds, (name,)), (page_shows_the_run, (name, anew)),
        (picture_is_of_the_solution, (name, anew)), (hints_come_one_by_one, (name,)))])


def passes(name, case, *arguments):
    try:
        case(*arguments)
    except (AssertionError, OSError, subprocess.SubprocessError) as error:
        print("not ok", name.replace(" ", "_"), " ".join(str(error).split()), flush=True)
        return False
    print("ok", name.replace(" ", "_"), flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
