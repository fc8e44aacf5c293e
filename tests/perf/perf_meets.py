# SPDX-License-Identifier: BSD-2-Clause
# perf_meets.py - emu_perf as two sides that meet over the network, and what becomes of one when the other dies.
import json
import os
import signal
import socket

from perf_tool import GUARD, case, end, equal, listen, perf, sentence, start


def two_hosts(provider):
    listener, port = listen()
    status, out, err = perf("-p", provider, "-t", "write_lat", "-D", "0.02", "--verify", "--json", "--port", port, "127.0.0.1")
    equal(status, 0, err)
    equal(json.loads(out)["host"], "127.0.0.1")
    _, err = listener.communicate(timeout=GUARD)
    equal(listener.returncode, 0, err)


def stranger():
    listener, port = listen()
    with socket.create_connection(("127.0.0.1", int(port))) as caller:
        caller.sendall(b"GET / HTTP/1.1\r\n\r\n".ljust(64))
        while caller.recv(4096):
            pass
    status, _, err = perf("-t", "read_lat", "-D", "0.02", "--port", port, "127.0.0.1")
    equal(status, 0, err)
    _, err = listener.communicate(timeout=GUARD)
    equal(listener.returncode, 0, err)
    assert "stranger" in err, err


def hello(text):
    return text.encode().ljust(64, b"\0")


def another_version_calls():
    listener, port = listen()
    with socket.create_connection(("127.0.0.1", int(port))) as caller:
        caller.sendall(hello("emu_perf 9 9.9.9"))
        out, err = listener.communicate(timeout=GUARD)
    sentence((listener.returncode, out, err), "9.9.9", "both sides must be the same")


def answered_by(answer, *words):
    """By a server that sends this as soon as somebody connects."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        process = start("-t", "read_lat", "--timeout", "1", "--port", str(server.getsockname()[1]), "127.0.0.1")
        connection, _ = server.accept()
        with connection:
            connection.sendall(answer)
            out, err = process.communicate(timeout=GUARD)
    sentence((process.returncode, out, err), *words)


def target_of(process):
    """Its child, once it measures."""
    assert "measuring" in process.stderr.readline() + process.stderr.readline()
    with open(f"/proc/{process.pid}/task/{process.pid}/children") as children:
        return int(children.read().split()[0])


def target_killed(test):
    process = start("-t", test, "-D", "60", "--warmup", "1", "--progress")
    os.kill(target_of(process), signal.SIGKILL)
    _, err = process.communicate(timeout=GUARD)
    equal(process.returncode, 2, err)
    assert "emu_perf: the other process was killed by signal 9" in err, err


def target_stopped():
    process = start("-t", "write_lat", "-D", "60", "--warmup", "1", "--progress", "--timeout", "2")
    target = target_of(process)
    os.kill(target, signal.SIGSTOP)
    _, err = process.communicate(timeout=GUARD)
    equal(process.returncode, 2, err)
    assert "in vain" in err, err


def initiator_killed():
    listener, port = listen()
    process = start("-t", "send_bw", "-D", "60", "--progress", "--port", port, "127.0.0.1")
    process.stderr.readline()
    process.kill()
    process.communicate(timeout=GUARD)
    out, err = listener.communicate(timeout=GUARD)
    sentence((listener.returncode, out, err), "the initiator closed the connection")


for over in ("emu", "tcp"):
    case(f"two_hosts_over_{over}", two_hosts, over)
case("a_stranger_is_turned_away", stranger)
case("another_version_that_calls_is_refused", another_version_calls)
case("another_version_that_answers_is_refused", answered_by, hello("emu_perf 9 9.9.9"), "9.9.9")
case("another_server_is_no_emu_perf", answered_by, b"SSH-2.0-x\r\n".ljust(64), "does not answer as emu_perf does")
case("a_server_that_says_nothing_is_not_waited_for", answered_by, b"", "does not answer")
for name in ("write_lat", "read_bw", "tag_bw"):
    case(f"a_target_killed_in_{name}_ends_the_run", target_killed, name)
case("a_target_that_stops_is_not_waited_for", target_stopped)
case("a_listener_ends_when_the_initiator_is_killed", initiator_killed)
end()
