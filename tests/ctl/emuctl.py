#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""emuctl.py - emuctl on live processes: emuctl.py LOOKED_AT EMUCTL HEARS_EVENTS, in the environment of runner.sh."""
import glob, json, os, re, shutil, signal, socket, subprocess, sys, tempfile

looked_at, emuctl, hears_events = sys.argv[1:4]
work = tempfile.mkdtemp(prefix="emu-ctl.")
folder = os.path.join(work, "ctl")
failed = False


TRANSPORTS = ("tcp",) if os.environ.get("FI_EMU_LOCAL") == "tcp" else ("unix", "shm")


class Live:
    def __init__(self, regions=0, **env):
        self.run = subprocess.Popen([looked_at, str(regions)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                    env=dict(os.environ, FI_EMU_CTL=folder) | env)
        self.key = self.run.stdout.readline().split()[1]
        self.pid = self.run.pid

    def say(self, word):
        self.run.stdin.write(word + "\n")
        self.run.stdin.flush()
        return self.run.stdout.readline().strip()

    def path(self):
        return glob.glob(f"{folder}/{self.pid}.*.sock")[0]

    def end(self):
        self.run.stdin.close()
        self.run.stdout.close()
        return self.run.wait()


def ask(*words, status=0, **env):
    run = subprocess.run([emuctl, "--dir", folder, *map(str, words)], capture_output=True, text=True, env=dict(os.environ) | env)
    assert run.returncode == status, f"{words}: status {run.returncode}: {run.stdout[-300:]} {run.stderr}"
    if status:
        assert run.stderr.count("\n") == 1 and run.stderr.startswith("emuctl: "), run.stderr
        return run.stderr
    return run.stdout


def lines(*words):
    return [json.loads(line) for line in ask("--json", *words).splitlines()]


def dial(path):
    client = socket.socket(socket.AF_UNIX)
    client.connect(path)
    client.settimeout(60)
    return client


def answer(client, request):
    client.sendall(request)
    got = b""
    while not (got.endswith(b"\n") and json.loads(got.splitlines()[-1])["type"] in ("end", "error")):
        more = client.recv(65536)
        if not more:
            break
        got += more
    return [json.loads(line) for line in got.splitlines()]


def every_command(live):
    assert lines("ps")[0]["pid"] == live.pid
    assert f"{live.pid}" in ask("ps") and "looked_at" in ask("ps")
    info = lines("info", live.pid)[0]
    assert info["program"] == "looked_at" and info["endpoints"] == 1 and info["settings"]["FI_EMU_CTL"] == folder
    assert lines("ep", "looked_at")[0]["kind"] == "rdm"
    assert live.say("write") == "0"
    conn = lines("conn")
    assert any(c["state"] == "open" and c["transport"] in TRANSPORTS for c in conn), conn
    assert lines("cq")[0]["size"] > 0
    assert "ACCESS" in ask("mr") and "SIZE" in ask("cq") and "PEER" in ask("conn")


def keys_are_masked(live):
    shown = [mr["key"] for mr in lines("mr")]
    assert live.key not in shown and all(key.endswith("...") for key in shown), shown
    assert live.key in [mr["key"] for mr in lines("mr", "--keys")]
    live.say("refused")
    text = ask("log")
    assert "refused to" in text and not re.search(r"key 0x[0-9a-f]", text), text
    assert re.search(r"key 0x[0-9a-f]", ask("log", "--keys"))


def refusals_are_counted(live):
    before = lines("stat", "-n", 1, "-i", 0.01)[0]
    assert live.say("write") == "0" and live.say("refused") != "0"
    now = lines("stat", "-n", 1, "-i", 0.01)[0]
    assert now["refused"]["unknown-key"] == before["refused"].get("unknown-key", 0) + 1
    assert now["failed"]["unknown-key"] == before["failed"].get("unknown-key", 0) + 1
    assert now["acked"] >= before["acked"] + 2 and now["served"] >= before["served"] + 2
    assert now["bytes_out"] > before["bytes_out"] and now["bytes_in"] > before["bytes_in"]
    assert now["outstanding"] == 0
    assert "ANSWERED/s" in ask("stat", "-n", 1, "-i", 0.01)


def watch_tells_as_it_comes(live):
    watch = subprocess.Popen([emuctl, "--dir", folder, "--json", "watch"], stdout=subprocess.PIPE, text=True)
    assert json.loads(watch.stdout.readline())["type"] == "watching"
    live.say("refused")
    while "refused to" not in json.loads(watch.stdout.readline()).get("text", ""):
        pass
    watch.send_signal(signal.SIGTERM)
    watch.wait()
    watch.stdout.close()


def fault_plans_are_exchanged(live):
    plan = os.path.join(work, "plan.ini")
    with open(plan, "w") as f:
        f.write("[right]\nfault = refuse\ncause = right\nop = write\n")
    ask("fault", "load", plan, live.pid)
    assert lines("info")[0]["fault_plan"] and live.say("write") != "0"
    with open(plan, "w") as f:
        f.write("[right]\nfalt = refuse\n")
    assert "line 2" in ask("fault", "load", plan, status=2)
    assert live.say("write") != "0", "a plan with an error is no plan"
    ask("fault", "clear")
    assert not lines("info")[0]["fault_plan"] and live.say("write") == "0"
    ask("fault", "load", "/nowhere", status=2)
    with open(plan, "w") as f:
        f.write("[of another library]\nfault = event\nevent = PORT_ERR\nafter = 0ms\n")
    ask("fault", "load", plan, live.pid)
    assert live.say("write") == "0" and lines("info")[0]["fault_plan"]
    assert "programs of libfabric have no events" in ask("event", "PORT_ERR", live.pid, status=2)
    ask("fault", "clear")


def an_order_outlives_plans():
    """Rules of FI_EMU_ORDER stand behind those of each plan, and alone where it is cleared."""
    plan = os.path.join(work, "order.ini")
    with open(plan, "w") as f:
        f.write("[right]\nfault = refuse\ncause = right\nop = write\n")
    live = Live(FI_EMU_ORDER="weak")
    try:
        for _ in range(3):
            assert lines("info", live.pid)[0]["fault_plan"] and live.say("write") == "0"
            ask("fault", "load", plan, live.pid)
            assert live.say("write") != "0"
            ask("fault", "clear", live.pid)
    finally:
        assert live.end() == 0


def traces_are_switched(live):
    plan = os.path.join(work, "right.ini")
    with open(plan, "w") as f:
        f.write("[right]\nfault = refuse\ncause = right\nop = write\n")
    on = lines("trace", "on")[0]
    try:
        assert on["on"] and on["changed"] and os.path.getsize(on["file"]), on
        assert not lines("trace", "on")[0]["changed"] and live.say("write") == "0"
        ask("fault", "load", plan, live.pid)
        assert live.say("write") != "0"
        ask("fault", "clear")
        assert live.say("write") == "0"
        assert "off" in ask("trace", "off") and live.say("write") == "0"
    finally:
        os.unlink(on["file"])


def a_trace_goes_where_the_process_began_with(live):
    assert live.say("move") == "0"
    traces_are_switched(live)


def metrics_can_be_read(live):
    live.say("refused")
    text = ask("metrics")
    sample = r'[a-z_]+\{pid="\d+",program="(?:[^"\\\n]|\\["\\n])*",personality="[a-z]+"(?:,cause="[a-z-]+")?\} \d+'
    for line in text.splitlines():
        assert re.fullmatch(r"# (HELP|TYPE) [a-z_]+ .+|" + sample, line), line
    assert 'emu_refused_total{pid="%d",program="looked_at",personality="strict",cause="unknown-key"}' % live.pid in text
    for name in re.findall(r"^([a-z_]+)\{", text, re.M):
        assert f"# TYPE {name} " in text


def hostile_clients_hold_nothing(live):
    errors = [b"garbage\n", b"\n", b"\x00\xff\n", b"{}\n", b'{"cmd":"mr","cmd":"mr"}\n', b'{"cmd":["mr"]}\n',
              b'{"cmd":"mr"}x\n', b'{"cmd":"nothing"}\n', b'{"cmd":"mr","x":true}\n', b'{"cmd":"a\\u0000b"}\n',
              b'{"cmd":"' + b"x" * 100 + b'"}\n', b'{"cmd":"log","level":"loud"}\n', b'{"cmd":"fault"}\n', b'{"cmd":"fault","text":""}\n']
    client = dial(live.path())
    for request in errors:
        got = answer(client, request)
        assert got[-1]["type"] == "error", (request, got)
    client.close()
    assert "too long" in answer(dial(live.path()), b"x" * (1 << 16))[0]["text"]
    half = [dial(live.path()) for _ in range(3)]
    for client in half:
        client.sendall(b'{"cmd":"m')
    for _ in range(1000):
        dial(live.path()).close()
    deaf = [dial(live.path()) for _ in range(12)]
    for client in deaf:
        try:
            client.sendall(b'{"cmd":"info"}\n' * 1000)
        except OSError:
            pass  # its place was given to another
    assert live.say("write") == "0"
    assert lines("info")[0]["pid"] == live.pid
    for client in half + deaf:
        client.close()


def stopped(path):
    with open(path, encoding="utf-8") as file:
        return file.read().rpartition(") ")[2][0] == "T"


def bad_selections(live):
    assert "no process 1 " in ask("info", 1, status=2)
    assert "no process nobody " in ask("info", "nobody", status=2)
    ask("nothing", status=2)
    ask("fault", status=2)
    ask("log", "--level", "loud", status=2)
    os.kill(live.pid, signal.SIGSTOP)
    while not all(stopped(task) for task in glob.glob(f"/proc/{live.pid}/task/*/stat")):
        pass
    try:
        assert "no answer within 200 ms" in ask("--timeout", 200, "info", live.pid, status=2)
    finally:
        os.kill(live.pid, signal.SIGCONT)


def holds(pid, path):
    """Has the process a descriptor of the socket that is bound there?"""
    with open("/proc/net/unix") as table:
        inodes = [line.split()[6] for line in table if line.rstrip().endswith(path)]
    held = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            held.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except FileNotFoundError:
            pass
    return any(f"socket:[{inode}]" in held for inode in inodes)


def a_fork_answers_not_for_its_parent(live):
    child = int(live.say("fork"))
    try:
        while holds(child, live.path()):  # its first steps are to close what it has of its parent
            pass
        assert [p["pid"] for p in lines("ps")] == [live.pid]
        os.kill(live.pid, signal.SIGKILL)
        live.run.wait()
        assert lines("ps") == [], "the socket of a dead process is told of"
        assert not glob.glob(f"{folder}/{live.pid}.*"), "and stays"
    finally:
        os.kill(child, signal.SIGKILL)


def many_regions_come_in_pieces():
    live = Live(10000)
    ids = [mr["id"] for mr in lines("mr")]
    assert len(ids) == len(set(ids)) and len(ids) > 10000, len(ids)
    client = dial(live.path())
    client.sendall(b'{"cmd":"mr"}\n')
    client.recv(100)
    live.end()
    while client.recv(65536):  # it ended while it was asked
        pass
    assert not glob.glob(f"{folder}/{live.pid}.*"), "its socket is left"


def many_sessions_come_in_pieces():
    live = Live()
    peers = int(live.say("peers"))
    found = [(conn["ep"], conn["peer"]) for conn in lines("conn")]
    endpoints = lines("ep")
    assert live.end() == 0
    most = max(sum(ep == one for one, _ in found) for ep, _ in found)
    assert len(set(found)) == len(found) and most == peers, found
    assert len(endpoints) == peers + 1


def manual_progress_answers():
    live = Live(FI_EMU_PROGRESS="manual")
    assert lines("info")[0]["progress"] == "manual"
    assert live.say("write") == "0"
    assert live.end() == 0


def a_start_removes_what_the_killed_left():
    first, second = Live(), Live()
    left = first.path()
    first.run.kill()
    first.run.wait()
    assert os.path.exists(left)
    with socket.socket(socket.AF_UNIX) as own, socket.socket(socket.AF_UNIX) as strange:
        own.bind(f"{folder}/1.00000001.sock")  # of a number that is in use
        strange.bind(f"{folder}/mine.sock")
    third = Live()
    try:
        assert not os.path.exists(left), "it stays"
        assert os.path.exists(second.path()) and os.path.exists(third.path())
        assert os.path.exists(f"{folder}/1.00000001.sock") and os.path.exists(f"{folder}/mine.sock"), "others' files are gone"
        assert sorted(p["pid"] for p in lines("ps")) == sorted((second.pid, third.pid))
        assert not glob.glob(f"{folder}/*.new")
    finally:
        os.unlink(f"{folder}/mine.sock")
        second.end()
        third.end()


def names_are_shown_and_not_obeyed():
    global looked_at
    kept = looked_at
    looked_at = os.path.join(work, 'e\033[31m"V\\')
    shutil.copy(kept, looked_at)
    live = Live()
    try:
        shown = r'e\x1b[31m"V' + "\\"
        assert shown in ask("ps"), ask("ps")
        assert r'program="e\\x1b[31m\"V\\"' in ask("metrics"), ask("metrics")
        plan = os.path.join(work, "red.ini")
        with open(plan, "w") as f:
            f.write("[\033[31m]\nfault = refuse\n")
        told = ask("fault", "load", plan, live.pid, status=2)
        assert r"\x1b" in told and "\033" not in told, told
    finally:
        live.end()
        looked_at = kept


def a_folder_of_another_user_is_not_believed():
    if os.geteuid():
        return "needs root"
    runtime = os.path.join(work, "runtime")
    others = f"{runtime}/emu-0"
    os.makedirs(others, 0o700)
    try:
        os.chown(others, 65534, 65534)
    except OSError:
        return "may not give a folder away"
    env = {key: value for key, value in os.environ.items() if key != "FI_EMU_CTL"} | {"XDG_RUNTIME_DIR": runtime}
    run = subprocess.run([emuctl, "ps"], capture_output=True, text=True, env=env)
    assert run.returncode == 2 and "another user's" in run.stderr, run
    # Root may name it, to look at that user's processes.
    run = subprocess.run([emuctl, "--dir", others, "ps"], capture_output=True, text=True, env=env)
    assert run.returncode == 0 and not run.stderr, run
    os.chown(others, 0, 0)
    os.chmod(others, 0o777)
    run = subprocess.run([emuctl, "ps"], capture_output=True, text=True, env=env)
    assert run.returncode == 2 and "others can write" in run.stderr, run
    os.chmod(others, 0o700)
    run = subprocess.run([emuctl, "ps"], capture_output=True, text=True, env=env)
    assert run.returncode == 0 and not run.stderr, run


def programs_need_no_folder():
    global folder
    kept = folder
    os.makedirs(f"{work}/open", 0o755)
    for folder in ("off", "0", "no", "False", "/proc/nowhere", "x" * 200, f"{work}/open", f"{work}/link"):
        if folder.endswith("link"):
            os.symlink(kept, folder)
        live = Live()
        assert live.say("write") == "0" and live.end() == 0, folder
        assert folder[0] == "/" or not os.path.exists(folder), folder
        assert not os.path.isdir(folder) or not glob.glob(f"{folder}/*.sock"), folder
    folder = kept


def other_users_are_turned_away():
    if os.geteuid():
        return "needs root"
    if not shutil.which("setpriv"):
        return "needs setpriv"
    live = Live()
    other = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    if subprocess.run([*other, "true"], capture_output=True).returncode:
        live.end()
        return "may not become another user"
    os.chmod(work, 0o755)
    run = subprocess.run([*other, emuctl, "--dir", folder, "info"], capture_output=True, text=True)
    if "ermission" not in run.stderr or "emuctl:" in run.stderr:
        assert run.returncode == 2 and "another user's" in run.stderr, run
    os.chmod(folder, 0o777)
    os.chmod(live.path(), 0o777)
    client = "import socket; s = socket.socket(socket.AF_UNIX); s.connect(%r); s.settimeout(60); print(s.recv(1))" % live.path()
    run = subprocess.run([*other, "/usr/bin/python3", "-c", client], capture_output=True, text=True)
    assert run.stdout == "b''\n" or "reset" in run.stderr, run
    os.chmod(folder, 0o700)
    live.end()


def events_happen():
    types = {"CQ_ERR": 0, "QP_FATAL": 1, "DEVICE_FATAL": 8, "PORT_ACTIVE": 9, "PORT_ERR": 10, "GID_CHANGE": 18}
    # It ends while its control socket is asked.
    environment = dict(os.environ, FI_EMU_CTL=folder, ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0")
    run = subprocess.Popen([hears_events], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)
    qp_num = run.stdout.readline().split()[1]

    def heard(name, state, qp_state):
        return run.stdout.readline() == f"{types[name]} {state} {qp_state}\n"

    try:
        for wrong in (["event"], ["event", "port_err"], ["event", "QP_FATAL"], ["event", "CQ_ERR", "x"]):
            ask(*wrong, status=2)
        assert "There are: PORT_ERR PORT_ACTIVE" in ask("event", "LID_CHANGE", run.pid, status=2)
        assert "no queue pair out of RESET has this number" in ask("event", "QP_FATAL", 77, run.pid, status=2)
        assert "no completion queue that" in ask("event", "CQ_ERR", 77, run.pid, status=2)
        ask("event", "PORT_ERR", run.pid)
        assert heard("PORT_ERR", "down", 1)
        ask("event", "IBV_EVENT_PORT_ACTIVE")
        assert heard("PORT_ACTIVE", "active", 1)
        ask("event", "GID_CHANGE")
        assert heard("GID_CHANGE", "active", 1)
        ask("event", "QP_FATAL", qp_num, run.pid)
        assert heard("QP_FATAL", "active", 6)
        ask("event", "CQ_ERR", 1)
        assert heard("CQ_ERR", "active", 6) and heard("QP_FATAL", "active", 6)
        plan = os.path.join(work, "event.ini")
        with open(plan, "w") as f:
            f.write("[a]\nfault = event\nevent = PORT_ERR\nafter = 10ms\n[b]\nfault = call\ncall = ibv_query_port\nerror = EIO\n")
        ask("fault", "load", plan, run.pid)
        assert heard("PORT_ERR", "failed", 6), "a plan that is loaded names calls and times"
        ask("fault", "clear")
        with open(plan, "w") as f:
            f.write("[right]\nfault = refuse\ncause = right\nop = write\n")
        ask("fault", "load", plan, run.pid)
        ask("event", "DEVICE_FATAL")
        assert heard("DEVICE_FATAL", "failed", 6)
        assert run.stdout.readline().startswith("ready")
        child = int(run.stdout.readline())
        assert lines("info", child)[0]["fault_plan"], "a child's NIC has another plan than its calls"
        run.stdin.close()
        assert run.wait() == 0
    finally:
        run.kill()


def completion_is_sourced():
    script = os.path.join(os.environ["EMU_SOURCE_DIR"], "tools/ctl/emuctl.bash")
    check = f'. {script}; COMP_WORDS=(emuctl fa); COMP_CWORD=1; _emuctl; echo "${{COMPREPLY[*]}}"'
    run = subprocess.run(["bash", "-uc", check], capture_output=True, text=True)
    assert run.stdout == "fault\n" and not run.stderr, run


def case(test, *args):
    global failed
    try:
        why = test(*args)
        print(f"skip {test.__name__} {why}" if why else f"ok {test.__name__}")
    except Exception as error:  # whatever it is, the next case runs
        failed = True
        print(f"not ok {test.__name__} {type(error).__name__}: {str(error)!r}"[:600])
    sys.stdout.flush()


live = Live()
for test in (every_command, keys_are_masked, a_trace_goes_where_the_process_began_with, refusals_are_counted, watch_tells_as_it_comes, fault_plans_are_exchanged, traces_are_switched,
             metrics_can_be_read, hostile_clients_hold_nothing, bad_selections, a_fork_answers_not_for_its_parent):
    case(test, live)
live.run.kill()
for test in (many_regions_come_in_pieces, many_sessions_come_in_pieces, an_order_outlives_plans, manual_progress_answers, a_start_removes_what_the_killed_left,
             names_are_shown_and_not_obeyed, programs_need_no_folder, a_folder_of_another_user_is_not_believed, other_users_are_turned_away, events_happen, completion_is_sourced):
    case(test)
shutil.rmtree(work)
sys.exit(failed)
