# SPDX-License-Identifier: BSD-2-Clause
# report_tool.py - emu_report on records that these tests write. In the environment of runner.sh.
import json
import os
import re
import shutil
import xml.etree.ElementTree

from records import FRAMES, REPORT, SOURCE, START, as_json, finding, frame, has, main, report, run, same, write


def nothing_is_good(folder):
    folder.process([])
    answer = report(folder)
    same(answer.returncode, 0)
    has(answer.stdout, "1 process, 1,000 ops, 4.0 KiB; refused: unknown-key 3; regions left open: 1")
    has(answer.stdout, "0 findings: 0 unexpected, 0 expected")


def an_empty_folder_is_none(folder):
    answer = report(folder)
    same(answer.returncode, 86)
    has(answer.stdout, "error: no process opened the NIC")
    same([report(folder, *words).returncode for words in (("--allow-none",), ("--status", "77"), ("--status", "1"))], [0, 0, 0])


def each_kind_fails_but_what_is_injected(folder):
    for kind, status in (("refusal", 86), ("call", 86), ("misuse", 86), ("leak", 86), ("race", 86), ("note", 0)):
        folder.process([finding(kind=kind)])
        same((kind, report(folder).returncode), (kind, status))
        for name in os.listdir(folder.path):
            os.unlink(os.path.join(folder.path, name))
    folder.process([finding(injected=True)])
    answer = report(folder)
    same(answer.returncode, 0)
    has(answer.stdout, "1 injected")


def notes_are_told_and_do_not_fail(folder):
    folder.process([finding("claim-mismatch", kind="note"), finding("range", nth=2, kind="note")])
    answer = report(folder)
    same(answer.returncode, 0)
    has(answer.stdout, "note: claim-mismatch: the sentence of claim-mismatch")
    has(answer.stdout, "note: range: ")
    has(answer.stdout, "2 findings: 0 unexpected, 0 expected, 2 notes")
    expected = report(folder, "--expect", write(folder, "e", "claim-mismatch kind=note\n"))
    same(expected.returncode, 0)
    assert "note: claim-mismatch" not in expected.stdout, expected.stdout
    has(expected.stdout, "2 findings: 0 unexpected, 1 expected, 1 note\n")


def people_are_told_all(folder):
    region = {"key": "0x2a", "addr": "0x7f00", "length": 64, "access": ["REMOTE_READ", "REMOTE_WRITE"], "state": "closed",
              "age_ns": 1500000000}
    folder.process([finding(region=region, nearest=dict(region, what="the key of a region registered anew"), stacks={
        "posted": [frame("/nowhere/libemu-fi.so", 16), frame("/nowhere/libfabric.so.1", 32),
                   frame("/nowhere/program", 4660, "post_it+0x1f")],
        "opened": [frame("/nowhere/program", 22136)]}), {"type": "count", "id": 1, "count": 17}])
    text = report(folder).stdout
    has(text, "error: unknown-key: the sentence of unknown-key at the initiator")
    has(text, "--> program+0x1234 in post_it")
    has(text, "by fi_write, rules S40")
    has(text, "write of 8 bytes, key 0x2a, address 0x7f0000000010")
    has(text, "key 0x2a, 64 bytes at 0x7f00, access REMOTE_READ|REMOTE_WRITE, closed, 1.500 s old")
    has(text, "nearest    the key of a region registered anew\n             key 0x2a")
    has(text, "opened     program+0x5678")
    has(text, "help       ask for the key anew")
    has(text, "counted    17 times")
    assert "libfabric" not in text and "libemu" not in text, text


def both_sides_are_one(folder):
    folder.process([finding(ns=5000), finding(nth=2, key="0x99")], program="client")
    folder.process([finding(side="target", ns=1000), finding(side="target", nth=2, ns=20 * 10**9, key="0x99")], program="server")
    status, found = as_json(folder)
    same(status, 86)
    same([(one["processes"][0]["program"], "target" in one) for one in found["findings"]],
         [("client", False), ("client", True), ("server", True)])  # the last came twenty seconds later
    same(found["findings"][1]["target"]["process"]["program"], "server")
    has(report(folder).stdout, "and there  the sentence of unknown-key at the target")


def forks_have_the_same_addresses(folder):
    def both(there):
        for side, addr in (("initiator", "0x7f0000000000"), ("target", there)):
            folder.process([finding(side=side, nearest={"addr": addr, "length": 64, "what": f"guess of the {side}"})],
                           program=side)
        text = report(folder).stdout
        for name in os.listdir(folder.path):
            os.unlink(os.path.join(folder.path, name))
        has(text, "guess of the target")
        return "guess of the initiator" in text

    same((both("0x7f0000000000"), both("0x7e0000000000")), (False, True))


def each_pair_is_of_its_own(folder):
    folder.process([finding(nth=n, ns=n * 1000 + 500, call=f"fi_{n}") for n in range(1, 6)], program="client")
    folder.process([finding(nth=n, ns=n * 1000, side="target") for n in range(1, 6)], program="server")
    _, found = as_json(folder)
    same([one["target"]["time_ns"] - START < one["initiator"]["time_ns"] - START for one in found["findings"]], [True] * 5)
    same(len({one["target"]["time_ns"] for one in found["findings"]}), 5)


def equal_ones_are_counted_by_process(folder):
    stacks = {"posted": [frame("/nowhere/program", 4660)]}
    for pid, count in ((7000001, 3), (7000002, 5)):
        folder.process([finding(stacks=stacks), {"type": "count", "id": 1, "count": count}], pid=pid)
    folder.process([finding(stacks={"posted": [frame("/nowhere/program", 4661)]})], pid=7000003)
    _, found = as_json(folder)
    same([(one["count"], [share["count"] for share in one["processes"]]) for one in found["findings"]], [(8, [3, 5]), (1, [1])])
    has(report(folder).stdout, "counted    8 times: 3 in prog[7000001]")


def sentences_of_a_call_are_apart(folder):
    stacks = {"here": [frame("/nowhere/program", 4660), frame("/nowhere/program", 9)]}
    texts = ("fi_send: buffer 0x55ae23394100, 64 B: no right", "fi_send: buffer 0x55ae23394100, 64 B: too long",
             "fi_send: buffer 0x7f, 128 B: too long", "fi_send: from [fe80::1]:47 to 192.0.2.1:1: no right",
             "fi_send: from [fd00::ab]:4711 to 192.0.2.77:2: no right")
    folder.process([finding("call", kind="call", nth=n, text=text, stacks=stacks) for n, text in enumerate(texts)])
    folder.process([finding("call", kind="call", text=texts[0], stacks=stacks)])
    folder.process([finding("call", kind="call", text=texts[0],
                            stacks={"here": [frame("/nowhere/program", 4660), frame("/nowhere/program", 10)]})])
    _, found = as_json(folder)
    same([one["count"] for one in found["findings"]], [2, 2, 2, 1])


def frames_have_lines(folder):
    stacks = [json.loads(line) for line in run(FRAMES).stdout.splitlines()]
    folder.process([finding(stacks={"posted": stacks[0]}), finding(nth=2, stacks={"posted": stacks[1]})])
    _, found = as_json(folder)
    for one, function, file in zip(found["findings"], ("post_a_write", "verdict_through_library"),
                                   ("verdict_frames.c", "verdict_library.c")):
        same(one["site"].get("function"), function)
        with open(f"{SOURCE}/tests/verdict/{file}", encoding="utf-8") as source:
            lines = source.read().splitlines()
        has(lines[one["site"]["line"] - 1], "the line of " + function)
        same(os.path.basename(one["site"]["source"]), file)
    has(report(folder).stdout, " in main\n")


def a_stripped_module_has_symbols(folder):
    if not shutil.which("strip"):
        print("skip a_stripped_module_has_symbols strip is not installed")
        return
    copy = os.path.join(folder.path, "copy")
    run("strip", "--strip-debug", "-o", copy, FRAMES)
    stack = [dict(one, file=copy) for one in json.loads(run(FRAMES).stdout.splitlines()[0])]
    folder.process([finding(stacks={"posted": stack})])
    _, found = as_json(folder)
    same(found["findings"][0]["site"].get("function"), "post_a_write")
    assert "source" not in found["findings"][0]["site"]


def modules_that_are_none(folder):
    folder.process([finding(stacks={"posted": [frame(path, 4660, "f+1")]}, nth=n)
                    for n, path in enumerate(("/etc/passwd", "/", "relative", "/dev/null", "", "/nowhere"))])
    status, found = as_json(folder)
    same(status, 86)
    same([one["site"]["function"] for one in found["findings"]], ["f"] * 6)


def modules_that_never_end(folder):
    fifo = os.path.join(folder.path, "fifo")
    os.mkfifo(fifo)
    copy = os.path.join(folder.path, "copy")
    paths = [fifo, "/dev/zero", "/dev/tty", folder.path]
    if shutil.which("objcopy"):
        os.mkdir(os.path.join(folder.path, ".debug"))
        os.mkfifo(os.path.join(folder.path, ".debug", "copy.debug"))
        write(folder, "copy.debug", "x")
        run("objcopy", "--strip-debug", "--add-gnu-debuglink=" + os.path.join(folder.path, "copy.debug"), FRAMES, copy)
        os.unlink(os.path.join(folder.path, "copy.debug"))
        paths.append(copy)
    folder.process([finding(stacks={"posted": [frame(path, 4660, "f+1")]}, nth=n) for n, path in enumerate(paths)])
    status, found = as_json(folder)
    same((status, len(found["findings"])), (86, len(paths)))


def expected_findings_pass(folder):
    stacks = {"posted": [frame("/nowhere/program", 4660)]}
    folder.process([finding(stacks=stacks), {"type": "count", "id": 1, "count": 4}])
    for line, status in (("unknown-key", 0), ("*", 0), ("unknown-*", 0), ("range", 86), ("unknown-key kind=refusal", 0),
                         ("unknown-key kind=leak", 86), ("unknown-key program=pro?", 0), ("unknown-key program=x", 86),
                         ("unknown-key call=fi_write", 0), ("unknown-key call=fi_read", 86),
                         ("unknown-key at=program+0x1234", 0), ("unknown-key at=other.c:*", 86),
                         ("unknown-key min=4 max=4", 0), ("unknown-key min=5", 86), ("unknown-key max=3", 86),
                         ("unknown-key max=0", 86), ("unknown-key  # and why", 0), ("# nothing", 86),
                         ("unknown-key\nrange optional", 0), ("unknown-key\nrange max=0", 0), ("unknown-key\r\n\r\n", 0)):
        answer = report(folder, "--expect", write(folder, "e", line + "\n"))
        same((line, answer.returncode), (line, status))


def expected_at_a_line(folder):
    stack = json.loads(run(FRAMES).stdout.splitlines()[0])
    folder.process([finding(stacks={"posted": stack})])
    for at, status in (("verdict_frames.c:*", 0), ("verdict_frames.c", 0), ("*/tests/verdict/verdict_frames.c:[0-9]*", 0),
                       ("verdict_frames.c:1", 86), ("verdict_frames", 86)):
        same((at, report(folder, "--expect", write(folder, "e", f"* at={at}\n")).returncode), (at, status))


def unmet_expectations_say_so(folder):
    folder.process([])
    path = write(folder, "my file", "\nrange min=2\n")
    answer = report(folder, "--expect", path)
    same(answer.returncode, 86)
    has(answer.stdout, f"error: {path}:2: range was expected at least 2 times, and happened not once")
    same(report(folder, "--status", "77", "--expect", path).returncode, 0)


def expectation_files_that_are_none(folder):
    folder.process([])
    for line, wrong in (("range mim=2", "`mim=2' is not known"), ("range min=x", "`min=x' takes a whole number"),
                        ("range min=-1", "takes a whole number"), ("range min", "is neither NAME=VALUE nor"),
                        ("min=2", "a line begins with a cause"), ("range min=3 max=2", "min is more than max"),
                        ("range at=", "is neither NAME=VALUE nor"), ("range txt=x", "there are kind, program, call, at, from, text")):
        path = write(folder, "e", "# first\n" + line + "\n")
        answer = report(folder, "--expect", path)
        same((line, answer.returncode), (line, 2))
        has(answer.stderr, f"{path}:2: ")
        has(answer.stderr, wrong)
    for path in ("/nowhere/e", folder.path):
        answer = report(folder, "--expect", path)
        same(answer.returncode, 2)
        has(answer.stderr, path)


def killed_processes_are_partial(folder):
    folder.process([], end=False, program="killed")
    folder.process([], end=False, program="runs", pid=os.getpid())
    answer = report(folder)
    same(answer.returncode, 0)
    has(answer.stdout, "partial: killed[4000001]")
    has(answer.stdout, "was killed")
    has(answer.stdout, f"partial: runs[{os.getpid()}]@{os.uname().nodename} still runs")
    _, found = as_json(folder)
    same({one["program"]: (one["partial"], one["running"]) for one in found["processes"]},
         {"killed": (True, False), "runs": (True, True)})


def corrupt_lines_are_counted(folder):
    path = folder.process(["{", "", "\x00\x01", '"text"', '{"type":"finding","id":1}', '{"type":"what"}', "[" * 2000,
                           '{"type":"count","id":7,"count":2}', '{"type":"finding","id":1e300,"kind":"a","cause":"b"}',
                           finding(), finding(), '{"type":"count","id":-5,"count":2}', '{"type":"count","id":1e300,"count":2}'])
    with open(path, "ab") as file:
        file.write(b'\xff\xfe\n{"type":"finding","id":9,"kind":"refu')
    answer = report(folder)
    same(answer.returncode, 86)
    has(answer.stdout, "12 of its records cannot be read; its last record is cut off")
    has(answer.stdout, "error: records are lost: prog[4000001]: its last record is cut off")
    same(as_json(folder)[1]["summary"]["unreadable_records"], 13)
    folder.process(["nonsense"], head=False, end=False)
    same(report(folder).returncode, 86)


def newer_versions_are_refused(folder):
    folder.process([finding()], emu_report=2)
    folder.process([finding()])
    answer = report(folder)
    same(answer.returncode, 2)
    has(answer.stderr, "records of version 2; this emu_report reads version 1")
    has(answer.stdout, "1 finding: 1 unexpected")  # those of the other file


def files_that_cannot_be_read(folder):
    os.mkdir(os.path.join(folder.path, "a.jsonl"))
    os.mkfifo(os.path.join(folder.path, "b.jsonl"))
    os.symlink("/nowhere", os.path.join(folder.path, "c.jsonl"))
    answer = report(folder)
    same(answer.returncode, 2)
    for name in "abc":
        has(answer.stderr, f"{name}.jsonl: ")
    answer = run(REPORT, "/nowhere")
    same((answer.returncode, answer.stderr), (2, "emu_report: /nowhere: No such file or directory\n"))


def reports_that_cannot_be_written(folder):
    folder.process([finding()])
    for path, why in (("/nowhere/x.json", "No such file"), ("/dev/full", "No space left"), (folder.path, "is a folder")):
        answer = report(folder, "--json", path)
        same((path, answer.returncode), (path, 2))
        has(answer.stderr, path)
        has(answer.stderr, why)
    answer = report(folder, "--report", "x.txt")
    same(answer.returncode, 2)
    has(answer.stderr, "x.txt: the suffix of a report is .json, .xml or .sarif")
    with open("/dev/full", "w", encoding="utf-8") as full:
        same(run("sh", "-c", '"$0" "$1" >/dev/full', REPORT, folder.path, stdin=full).returncode, 2)
    same(sorted(name for name in os.listdir(folder.path) if not name.endswith(".jsonl")), [])


def reports_are_replaced_whole(folder):
    folder.process([finding()])
    path, link = write(folder, "old.json", "old" * 100000), os.path.join(folder.path, "link.json")
    os.symlink(path, link)
    same(report(folder, "--report", link).returncode, 86)
    assert os.path.islink(link)
    with open(path, encoding="utf-8") as file:
        same(json.load(file)["verdict"], 86)
    same(sorted(name for name in os.listdir(folder.path) if not name.endswith(".jsonl")), ["link.json", "old.json"])


def leak(cause="region-open", **members):
    return finding(cause, kind="leak", side="local", **{"at_exit": True, **members})


def exited(status):
    return {"type": "end", "time_ns": START + 10**9, "status": status}


def no_sentence_is_told_twice(folder):
    """Processes write the remedy behind the sentence."""
    text = "the write is too long. Shorten it."
    folder.process([finding(text=text, remedy="Shorten it."), finding(side="target", text=text, remedy="Shorten it.")])
    folder.process([finding("range", text="only a remedy.", remedy="only a remedy.")])
    said = report(folder).stdout
    has(said, "error: unknown-key: the write is too long.\n")
    has(said, "  help       Shorten it.\n")
    has(said, "error: range: only a remedy.\n")
    same((said.count("too long"), said.count("Shorten it")), (1, 1))
    path = os.path.join(folder.path, "out.sarif")
    report(folder, "--report", path)
    with open(path, encoding="utf-8") as file:
        same(json.load(file)["runs"][0]["results"][0]["message"]["text"], "unknown-key: the write is too long. Help: Shorten it.")
    case = junit_of(folder)[2]
    same((case[0].get("message"), case[0].text.count("Shorten it")), ("unknown-key: the write is too long.", 1))


def findings_are_told_in_time(folder):
    folder.process([leak(ns=1000), finding("call", kind="call", nth=2, ns=30000), finding("range", nth=3, ns=20000)])
    folder.process([finding("closed", ns=10000), leak("endpoint-open", nth=2, ns=5000, at_exit=False)], program="other")
    order = [one["cause"] for one in as_json(folder)[1]["findings"]]
    same(order, ["closed", "range", "call", "region-open", "endpoint-open"])
    same(re.findall("error: ([a-z-]*):", report(folder).stdout), ["closed", "range", "call", "endpoint-open"])


def leaks_follow_from_what_failed_before(folder):
    folder.process([finding(), leak(nth=2, ns=9), {"type": "count", "id": 2, "count": 3}, leak("endpoint-open", nth=3, ns=9),
                    leak("closed-in-flight", nth=4, ns=9), leak("memory-unmapped", nth=5, ns=9), exited(1)], end=False)
    says = "left open by exit(1) after the refusal above: 3 regions, 1 endpoint, operations in flight, 1 region without memory"
    status, found = as_json(folder)
    same((status, found["findings"][0]["left_open"], found["summary"]["unexpected"]), (86, says, 1))
    same([one.get("follows") for one in found["findings"]], [None, 0, 0, 0, 0])
    has(report(folder).stdout, "  counted    once\n  " + says + "\n\nemu: ")
    suite = junit_of(folder)
    has(suite[2][0].text, says)
    assert "more" not in suite[2][0].get("message"), suite[2][0].get("message")
    path = os.path.join(folder.path, "out.sarif")
    report(folder, "--report", path)
    with open(path, encoding="utf-8") as file:
        result, = json.load(file)["runs"][0]["results"]
    has(result["message"]["text"], "Then " + says + ".")


def leaks_of_their_own_are_told(folder):
    def told(*options):
        found = as_json(folder, *options)
        return found[0], [one["cause"] for one in found[1]["findings"] if one["unexpected"] and "follows" not in one]
    folder.process([leak(nth=1)])  # nothing failed there
    folder.process([finding(ns=3), dict(leak(nth=2, ns=2), at_exit=False), exited(0)], program="other", end=False)
    same(told(), (86, ["unknown-key", "region-open", "region-open"]))
    same(told("--expect", write(folder, "e", "unknown-key\n")), (86, ["region-open", "region-open"]))
    same(told("--expect", write(folder, "e", "unknown-key\nregion-open\n")), (0, []))


def an_expected_cause_excuses_no_leak(folder):
    folder.process([finding(), leak(nth=2, ns=9), exited(1)], end=False)
    same(report(folder, "--expect", write(folder, "e", "unknown-key\n")).returncode, 86)
    answer = report(folder, "--expect", write(folder, "f", "region-open\n"))
    same(answer.returncode, 86)
    assert "left open" not in answer.stdout, answer.stdout


def exits_of_several_processes_are_one_line(folder):
    for at, status in enumerate((1, 1, 2)):
        folder.process([finding(ns=at, stacks={"posted": [frame("/nowhere/program", 4660)]}), leak(nth=2, ns=9), exited(status)],
                       end=False)
        says = f"left open by exit({'' if at == 2 else 1}) after the refusal above: {at + 1} region{'s' if at else ''}"
        same(as_json(folder)[1]["findings"][0]["left_open"], says)


def junit_of(folder, *options):
    path = os.path.join(folder.path, "out.xml")
    report(folder, "--report", path, *options)
    return xml.etree.ElementTree.parse(path).getroot()[0]


def junit_is_xml(folder):
    folder.process([finding(text='<&>"\' ]]>\x1b[31m\ufffe'), finding("range", nth=2)], program="bad<&>")
    folder.process([], program="good", end=False)
    suite = junit_of(folder, "--status", "3", "--expect", write(folder, "e", "right\n"))
    same((suite.get("tests"), suite.get("failures"), suite.get("skipped")), ("6", "3", "0"))
    same([(case.get("classname"), case.get("name"), len(case.findall("failure"))) for case in suite],
         [("emu.command", "command", 1), ("emu", "a process opens the NIC", 0), ("emu", "all records are there", 0),
          ("bad<&>", "process 1", 1), ("good", "process 1", 0), ("emu.expectation", os.path.join(folder.path, "e") + ":1", 1)])
    has(suite[3][0].get("message"), 'unknown-key: <&>"\' ]]>\\x1b[31m\\ufffe, and 1 more')
    has(suite[3][0].text, "error: range: the sentence of range")
    same(suite[3].get("time"), "1.000")
    assert all(float(case.get("time")) >= 0 for case in suite)
    same(len(junit_of(folder, "--status", "77")[0].findall("skipped")), 1)


def junit_names_are_those_of_the_next_run(folder):
    def names(pids):
        for at, (program, rank, pid) in enumerate(pids):
            folder.process([], program=program, pid=pid, started_ns=START + at, **({} if rank is None else {"rank": rank}))
        suite = junit_of(folder)
        for name in os.listdir(folder.path):
            os.unlink(os.path.join(folder.path, name))
        return sorted((case.get("classname"), case.get("name")) for case in suite)

    def of(first, second):
        return [("a", None, first), ("b", 1, second), ("b", 0, first + 2), ("a", None, second + 2), ("b", 0, second + 4)]
    once = names(of(7000001, 7000002))
    same(once, names(of(8000009, 6000001)))
    same(once, [("a", "process 1"), ("a", "process 2"), ("b", "rank 0"), ("b", "rank 0, job 2"), ("b", "rank 1"),
                ("emu", "a process opens the NIC"), ("emu", "all records are there")])


def reports_tell_of_none_and_of_what_is_lost(folder):
    suite = junit_of(folder)
    same((suite.get("failures"), [case.find("failure") is not None for case in suite]), ("1", [True, False]))
    same(junit_of(folder, "--allow-none").get("skipped"), "1")
    same(as_json(folder)[1]["none"], True)
    os.chmod(folder.process([], program="loses", end=False), 0o400)
    suite = junit_of(folder)
    same((suite.get("failures"), [case.find("failure") is not None for case in suite]), ("1", [False, True, False]))
    has(suite[1][0].text, "loses[")
    path = os.path.join(folder.path, "out.sarif")
    same(report(folder, "--report", path).returncode, 2)
    with open(path, encoding="utf-8") as file:
        note, = json.load(file)["runs"][0]["invocations"][0]["toolExecutionNotifications"]
    has(note["message"]["text"], "records are lost: loses[")


def check_locations(items):
    for item in items:
        if "physicalLocation" in item:
            artifact = item["physicalLocation"]["artifactLocation"]
            assert re.fullmatch(r"[A-Za-z0-9/._~+,@%:-]+", artifact["uri"]), artifact
            assert item["physicalLocation"]["region"]["startLine"] >= 1
        for one in item["logicalLocations"]:
            assert one["name"]


def sarif_has_what_the_schema_wants(folder):
    stack = json.loads(run(FRAMES).stdout.splitlines()[0])
    folder.process([finding(stacks={"posted": stack, "opened": stack}), finding("range", nth=2), finding("range", nth=3, key="1"),
                    finding("right", nth=4)])
    path = os.path.join(folder.path, "out.sarif")
    expect = write(folder, "e", "right\nclosed\n")
    same(run(REPORT, "--report", path, "--status", "4", "--expect", expect, folder.path, cwd=SOURCE).returncode, 86)
    with open(path, encoding="utf-8") as file:
        log = json.load(file)
    same((log["version"], len(log["runs"])), ("2.1.0", 1))
    one = log["runs"][0]
    rules = [rule["id"] for rule in one["tool"]["driver"]["rules"]]
    same((one["tool"]["driver"]["name"], rules), ("emu", ["unknown-key", "range", "right"]))
    for result in one["results"]:
        same(rules[result["ruleIndex"]], result["ruleId"])
        assert result["message"]["text"] and result["occurrenceCount"] >= 1
        check_locations(result["locations"] + result["relatedLocations"])
        for stack in result["stacks"]:
            check_locations(item["location"] for item in stack["frames"])
    same([result["level"] for result in one["results"]], ["error", "error", "error", "note"])
    same(one["results"][3]["suppressions"][0]["kind"], "external")
    uri = one["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    same((uri["uri"], uri["uriBaseId"]), ("tests/verdict/verdict_frames.c", "SRCROOT"))
    assert one["originalUriBaseIds"]["SRCROOT"]["uri"].endswith("/")
    same((one["invocations"][0]["executionSuccessful"], one["invocations"][0]["exitCode"]), (False, 4))
    has(one["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], "closed was expected at least once")


def terminals_are_not_obeyed(folder):
    bad = "\x1b]0;title\x07 \x9b31m \u202e \r\n \x7f"
    folder.process([finding(cause="c\x1b[2J", text=bad, call=bad, remedy=bad, peer=bad, side="s\x1b[0m", rules=[bad],
                            region={"key": bad, "addr": bad, "access": [bad], "state": bad}, nearest={"what": bad},
                            op={"kind": bad, "key": bad, "addr": bad, "length": 1},
                            stacks={"posted": [frame("/x\x1b[1m", 1, "f\x1b[1m")]})], program="p\x1b[5m", host="h\x1b[6m", end=False)
    text = report(folder).stdout
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), text
    has(text, r"\x1b]0;title\x07 \x9b31m \u202e \x0d\n \x7f")


def twenty_thousand_are_few(folder):
    folder.process([finding(nth=n, ns=n, stacks={"posted": [frame(FRAMES, n)]}) for n in range(1, 20001)])
    folder.process([finding(nth=n, ns=n, side="target", stacks={"opened": [frame(FRAMES, 9)]}) for n in range(1, 20001)])
    paths = [os.path.join(folder.path, "out." + suffix) for suffix in ("json", "xml", "sarif")]
    answer = report(folder, *[word for path in paths for word in ("--report", path)])
    same(answer.returncode, 86)
    has(answer.stdout, "more: a report in a file")
    with open(paths[0], encoding="utf-8") as file:
        found = json.load(file)
    same(sum(one["count"] for one in found["findings"]), 20000)
    assert all("target" in one for one in found["findings"])


main([value for name, value in list(globals().items()) if callable(value) and getattr(value, "__module__", "") == "__main__" and
      name not in ("check_locations", "junit_of", "leak", "exited")])
