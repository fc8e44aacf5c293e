# SPDX-License-Identifier: BSD-2-Clause
# records.py - folders of records as processes leave them, and what the tests of verdicts ask of emu_report and emurun.
import json
import os
import shutil
import subprocess
import sys
import tempfile

SOURCE, BUILD = os.environ["EMU_SOURCE_DIR"], os.environ["EMU_BUILD"]
REPORT = os.path.join(BUILD, "tools/report/emu_report")
EMURUN = os.path.join(SOURCE, "tools/emurun")
FRAMES = os.path.join(BUILD, "tests/verdict/verdict_frames")
START = 1_800_000_000_000_000_000

os.environ["LC_ALL"] = "C.UTF-8"
for name in ("FI_EMU_REPORT", "FI_EMU_CHECK", "EMU_CHECK_FOLDER"):
    os.environ.pop(name, None)


class Folder:
    """A folder of records, with a space in its name."""

    def __init__(self):
        self.path = tempfile.mkdtemp(prefix="emu verdict.")
        self.files = 0

    def process(self, lines, program="prog", pid=None, end=True, head=True, **members):
        self.files += 1
        pid = pid or 4_000_000 + self.files  # above the most that a kernel gives
        first = {"emu_report": 1, "type": "process", "host": os.uname().nodename, "pid": pid, "ppid": 1, "program": program,
                 "command": [program, "a b"], "uid": 0, "started_ns": START, "personality": "strict", "version": "0.1.0",
                 "checked": True}
        first.update(members)
        last = {"type": "end", "time_ns": START + 10**9, "regions_open": 1, "refusals": {"unknown-key": 3},
                "ops": {"write": {"posted": 1000, "done": 997, "failed": 3, "bytes": 4096}},
                "served": {"write": {"done": 5, "refused": 3, "bytes": 40}}}
        with open(os.path.join(self.path, f"h-{pid}-{START + self.files}.jsonl"), "w", encoding="utf-8") as file:
            for line in ([first] if head else []) + lines + ([last] if end else []):
                file.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
            return file.name

    def remove(self):
        shutil.rmtree(self.path)


def finding(cause="unknown-key", side="initiator", kind="refusal", nth=1, key="0x2a", ns=0, **members):
    record = {"type": "finding", "id": nth, "time_ns": START + ns, "tid": 1, "kind": kind, "cause": cause, "number": 1,
              "side": side, "rules": ["S40"], "call": "fi_write", "text": f"the sentence of {cause} at the {side}",
              "remedy": "ask for the key anew",
              "op": {"kind": "write", "key": key, "addr": "0x7f0000000010", "length": 8}, "peer": "192.0.2.1:4711"}
    record.update(members)
    return record


def frame(module, offset, symbol=None):
    return {"file": module, "offset": hex(offset), **({"symbol": symbol} if symbol else {})}


def run(*command, **keys):
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, timeout=120, **keys)


def report(folder, *options):
    return run(REPORT, *options, folder.path)


def as_json(folder, *options):
    """The JSON report, after it was found to be one."""
    path = os.path.join(folder.path, "out.json")
    status = run(REPORT, "--report", path, *options, folder.path).returncode
    with open(path, encoding="utf-8") as file:
        return status, json.load(file)


def write(folder, name, text):
    path = os.path.join(folder.path, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def main(tests):
    """Runs functions, each with a folder of its own, and prints a line for each."""
    failed = 0
    for test in tests:
        folder = Folder()
        try:
            test(folder)
            print("ok", test.__name__)
        except Exception as error:
            print(f"{type(error).__name__}: {error}")
            line = error.__traceback__.tb_next.tb_lineno if error.__traceback__.tb_next else 0
            print("not ok", test.__name__, f"line {line}: {str(error)[:200]}".replace("\n", " "))
            failed = 1
        finally:
            folder.remove()
    sys.exit(failed)


def same(found, wanted):
    assert found == wanted, f"is {found!r}, wanted {wanted!r}"


def has(text, part):
    assert part in text, f"no {part!r} in {text!r}"
