# SPDX-License-Identifier: BSD-2-Clause
# perf_tool.py - runs emu_perf, and counts what the tests of it find.
import os
import shutil
import socket
import subprocess
import sys
import tempfile

PERF = sys.argv[1]
GUARD = 120  # seconds: a hang
SCRATCH = tempfile.mkdtemp(prefix="emu-perf.")
failed = False
started = []


def perf(*arguments, **options):
    """Runs it to its end: status, stdout, stderr."""
    done = subprocess.run([PERF, *arguments], stdin=subprocess.DEVNULL, stdout=options.pop("stdout", subprocess.PIPE),
                          stderr=subprocess.PIPE, text=True, timeout=GUARD, **options)
    return done.returncode, done.stdout or "", done.stderr


def start(*arguments, **options):
    started.append(subprocess.Popen([PERF, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, text=True, **options))
    return started[-1]


def free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return str(taken.getsockname()[1])


def listen(*arguments):
    """A listener that is ready, and its port."""
    port = free_port()
    process = start("--listen", "--port", port, *arguments)
    assert "listening" in process.stdout.readline()
    return process, port


def case(name, function, *arguments):
    global failed
    try:
        reason = function(*arguments)
    except Exception as error:  # a hang is one, too
        failed = True
        print(f"not ok {name} {type(error).__name__}: {' '.join(str(error).split())[:300]}", flush=True)
        return
    print(f"skip {name} {reason}" if reason else f"ok {name}", flush=True)


def equal(found, expected, what=""):
    assert found == expected, f"{what} {found!r}, not {expected!r}"


def sentence(result, *words):
    """One line on stderr that has these words, and status 2."""
    status, _, err = result
    equal(status, 2, f"{err.strip()}: status")
    lines = err.strip().splitlines()
    equal(len(lines), 1, f"{err}: lines")
    assert lines[0].startswith("emu_perf: "), err
    for word in words:
        assert word in lines[0], f"{word} is not in: {err}"


def end():
    for process in started:  # those of a case that failed
        process.kill()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    sys.exit(1 if failed else 0)


def scratch(name):
    return os.path.join(SCRATCH, name)
