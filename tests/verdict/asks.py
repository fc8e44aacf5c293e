# SPDX-License-Identifier: BSD-2-Clause
# asks.py - emurun --check tells why a program found no NIC. asks.py PROGRAM UNLOADABLE, in the environment of runner.sh; UNLOADABLE
# is a library that does not load.
import json
import os
import sys

from records import BUILD, EMURUN, has, main, run, same, write

PROGRAM, UNLOADABLE = sys.argv[1:]
OPENS = f'"{PROGRAM}" again; '


def asks(folder, script, *options):
    path = os.path.join(folder.path, "out.json")
    answer = run(EMURUN, "--check", "--report", path, *options, "sh", "-c", script.replace("asks", f'"{PROGRAM}"'))
    with open(path, encoding="utf-8") as file:
        return answer, json.load(file)


def failing(found):
    return [one["cause"] for one in found["findings"] if one["unexpected"]]


def each_reason_is_told(folder):
    for case, cause, text in (("filtered", "provider-filtered", "FI_PROVIDER is `tcp' in this process"),
                              ("named", "not-asked", "the hints name another provider (fabric_attr->prov_name)"),
                              ("newer", "not-asked", "the version asked for is above "),
                              ("more", "no-info", "inject_size 0x40000000 asked, at most ")):
        answer, found = asks(folder, "asks " + case)
        same((case, answer.returncode, failing(found), found["none"]), (case, 86, [cause], True))
        has(answer.stderr, text)
        has(answer.stderr, "error: no process opened the NIC")
        same(found["findings"][0]["site"]["function"], "ask")


def a_nic_of_others_excuses_what_failed_by_nothing(folder):
    for script, causes in (("more", ["no-info"]), ("more 1", ["no-info"]), ("more 77", []), ("named", []), ("named 3", ["not-asked"]),
                           ("newer 1", ["not-asked"]), ("named 77", []), ("filtered", []), ("filtered 1", []), ("lists", []),
                           ("lists 1", []), ("again", [])):
        answer, found = asks(folder, f"asks again; asks {script}; true")
        same((script, failing(found), answer.returncode), (script, causes, 86 if causes else 0))


def a_nic_of_the_parent_or_a_child_excuses_what_failed(folder):
    for script in ("child", "child 3", "helper", "helper 3"):
        answer, found = asks(folder, f"asks {script}; true")
        same((script, failing(found), answer.returncode, len(found["findings"])), (script, [], 0, 1))
    # Others that one shell has started are no kin.
    same(failing(asks(folder, "asks helper; asks more; true")[1]), ["no-info"])


def it_may_be_meant(folder):
    for script in ("asks filtered", "asks named", "asks lists", "true"):
        same((script, asks(folder, script, "--allow-none")[0].returncode), (script, 0))
    same(asks(folder, "asks more 77; exit 77")[0].returncode, 77)
    expect = write(folder, "e", "no-info text=*inject_size*\n")
    same(asks(folder, "asks more; asks again", "--expect", expect)[0].returncode, 0)


def a_provider_that_does_not_load_is_told(folder):
    for name, target in (("emu/fi/libemu-fi.so", UNLOADABLE), ("tools/report/emu_report", f"{BUILD}/tools/report/emu_report")):
        os.makedirs(os.path.dirname(os.path.join(folder.path, name)))
        os.symlink(target, os.path.join(folder.path, name))
    answer = run(EMURUN, "--check", PROGRAM, "more", env={**os.environ, "EMU_BUILD": folder.path, "FI_PROVIDER_PATH": ""})
    same(answer.returncode, 86)
    has(answer.stderr, "libemu-fi.so cannot be loaded: ")
    has(answer.stderr, "cannot open shared object file")


def a_provider_that_nobody_loads_is_told(folder):
    for script in ("true", "FI_PROVIDER_PATH=/nowhere asks more"):
        answer, found = asks(folder, script)
        same((script, answer.returncode, found["none"]), (script, 86, True))
        has(answer.stderr, "no process loaded ")


main([value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__" and
      name not in ("asks", "failing")])
