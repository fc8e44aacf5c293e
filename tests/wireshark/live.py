#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# live.py - the demonstration's two processes, and programs of verbs, captured by tcpdump on the loopback interface, and read by
# tshark: live.py BUILD
#
# All of it runs in a network namespace of its own, whose loopback interface nothing else uses.
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # the source tree stays as it is
from sides import both
from tshark import ROOT, Checks, skip, tshark_or_skip

TEST = "wireshark-live"
MARK = b"the capture may end here"
# What demo.sh's initiator is refused by the target, as the dissector names it.
CAUSES = {"unknown-key", "closed", "right", "range", "wrap"}


IFF_UP, SIOCSIFFLAGS = 0x1, 0x8914  # linux/if.h, linux/sockios.h


def enter_namespace():
    """Starts this program anew in a network namespace, and there brings the loopback interface up."""
    if sys.argv[2:] != ["inside"]:
        if subprocess.run(["unshare", "-n", "true"], stderr=subprocess.DEVNULL).returncode:
            skip(TEST, "no network namespace can be made here")
        os.execvp("unshare", ["unshare", "-n", sys.executable, *sys.argv, "inside"])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def start_tcpdump(capture):
    """Returns when it captures: it says so."""
    tcpdump = subprocess.Popen(["tcpdump", "-i", "lo", "-n", "-U", "-B", "65536", "-Z", "root", "-w", capture,
                                "tcp or udp"], stderr=subprocess.PIPE, text=True)
    said = []
    for line in tcpdump.stderr:
        if "listening on" in line:
            return tcpdump
        said.append(line.strip())
    tcpdump.wait()
    skip(TEST, "tcpdump may not capture on the loopback interface here: " + " ".join(said)[:200])


def stop_tcpdump(tcpdump, capture):
    """When a datagram that was sent last is in the capture, all is."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for _ in range(300):
            sock.sendto(MARK, ("127.0.0.1", 9))
            with open(capture, "rb") as file:
                file.seek(max(0, os.path.getsize(capture) - 4096))
                if MARK in file.read():
                    break
            time.sleep(0.1)
    tcpdump.terminate()
    tcpdump.wait()


def run_demo(build, file):
    env = dict(os.environ, EMU_BUILD=build, FI_EMU_LOCAL="tcp", FI_EMU_IFACE="lo")
    return subprocess.run([os.path.join(ROOT, "tools/demo.sh"), file], env=env, capture_output=True, text=True)


def run_endpoints(build):
    """Writes to four endpoints of another process: all but the first share a stream."""
    env = dict(os.environ, FI_PROVIDER_PATH=os.path.join(build, "emu/fi"), FI_EMU_LOCAL="tcp", FI_EMU_IFACE="lo")
    return subprocess.run([os.path.join(build, "tools/perf/emu_perf"), "-t", "write_bw", "-P", "4", "-n", "500", "--warmup", "1"],
                          env=env, capture_output=True, text=True)


def run_verbs(build):
    """Programs of rdma_cm and of datagrams; what went wrong, by program. Those that are not on this machine are left out."""
    env = {"EMU_BUILD": build, "FI_EMU_LOCAL": "tcp", "FI_EMU_IFACE": "lo"}
    programs = {"ib_write_bw": ("udp", 18515, "ib_write_bw", "-R", "-F", "-n", "20", "-s", "1024"),
                "ibv_ud_pingpong": ("tcp", 18516, "ibv_ud_pingpong", "-g", "0", "-n", "20")}
    return {name: both(*words, **env) for name, words in programs.items() if shutil.which(name)}


def rdma_goes_wrong(shark):
    """ib_write_bw -R: the port is asked for, and each word of the connection is there, with the queue pairs' numbers."""
    rows = shark.rows("live.pcap", ["emusrvc.kind", "emusrvc.service", "emu.rdma.kind", "emu.rdma.qpn", "emu.rdma.to", "emu.op"],
                      "-Y", "emusrvc or emu.rdma")[1:]
    services = {(row["emusrvc.kind"][0], row["emusrvc.service"][0]) for row in rows if row["emusrvc.kind"]}
    kinds = [kind for row in rows for kind in row["emu.rdma.kind"]]
    wrong = [] if services == {("1", "18515"), ("2", "18515")} else [f"questions and answers: {services}"]
    if sorted(set(kinds)) != ["1", "2", "4", "5"]:
        wrong.append(f"words: {kinds}")
    for row in rows:
        if "1" in row["emu.rdma.kind"] and not (row["emu.rdma.to"] or [""])[0].endswith(":18515"):
            wrong.append(f"a request: {row}")
    numbers = {number for row in rows for number in row["emu.rdma.qpn"]}
    pairs = {int(row["emu.qpn"][0], 16) for row in shark.rows("live.pcap", ["emu.qpn"], "-Y", "emu.qpn")[1:]}
    if not numbers or pairs != {int(number, 16) for number in numbers}:
        wrong.append(f"{numbers} are the numbers of rdma_cm, and {pairs} those of greetings")
    return wrong


def datagrams_go_wrong(shark):
    """ibv_ud_pingpong: both ways, with its Q_Key and the facts of the GRH."""
    rows = shark.rows("live.pcap", ["emudgram.qkey", "emudgram.dest_qpn", "emudgram.src_qpn", "emudgram.dgid", "emudgram.hop_limit"],
                      "-Y", "emudgram.qkey")[1:]
    ways = {(row["emudgram.src_qpn"][0], row["emudgram.dest_qpn"][0]) for row in rows}
    wrong = [] if len(ways) == 2 and {way[::-1] for way in ways} == ways else [f"from and to: {ways}"]
    if len(rows) < 40:
        wrong.append(f"{len(rows)} datagrams")
    return wrong + [row for row in rows if row["emudgram.qkey"] != ["0x11111111"] or not row["emudgram.dgid"]]


def refusals_go_wrong(shark):
    rows = shark.rows("live.pcap", ["emu.cause", "emu.ref", "emu.request_in", "emu.refused", "_ws.expert.message"], "-Y", "emu.cause")
    words = shark.run("-2", "-r", shark.path("live.pcap"), "-Y", "emu.cause", "-T", "fields", "-e", "_ws.col.Info")
    wrong = [] if len(rows) > 1 else ["no NAK was captured"]
    for row in rows[1:]:
        if len(row["emu.cause"]) > len([one for one in row["_ws.expert.message"] if "was refused: " in one]):
            wrong.append(f"a NAK without expert info: {row}")
        if len(row["emu.request_in"]) < len(row["emu.cause"]):
            wrong.append(f"a NAK without its request: {row}")
    for cause in CAUSES:
        if f"NAK {cause}: " not in words:
            wrong.append(f"no refusal by {cause} in: {words}")
    return wrong


def errors_go_wrong(shark):
    rows = shark.rows("live.pcap", ["emu.protocol_error", "emu.missing", "_ws.expert.message"],
                      "-Y", "emu.protocol_error or emu.missing or emu.unknown or emudgram.dropped or emusrvc.dropped")
    return rows[1:]


def links_go_wrong(shark):
    """Each READ is answered, as the demonstration ends well."""
    rows = shark.rows("live.pcap", ["emu.op", "emu.answered_in", "emu.acked_in"], "-Y", "emu.op == 17")
    lone = [row for row in rows[1:] if not row["emu.answered_in"]]
    if len(rows) < 900:
        return f"{len(rows)} packets with a READ, where the demonstration reads a thousand times"
    return lone


def trunks_go_wrong(shark):
    """Chunks of three channels, with WRITEs that are acknowledged."""
    rows = shark.rows("live.pcap", ["emu.channel", "emu.op", "emu.acked_in"], "-Y", "emu.channel && emu.op == 16")
    channels = {one for row in rows[1:] for one in row["emu.channel"]}
    lone = [row for row in rows[1:] if not row["emu.acked_in"]]
    return lone or ("" if channels == {"1", "2", "3"} else f"channels {sorted(channels)}")


def main():
    if not shutil.which("tcpdump"):
        skip(TEST, "no tcpdump on this machine")
    if os.geteuid():
        skip(TEST, "only root may capture")
    if not shutil.which("unshare"):
        skip(TEST, "no unshare on this machine")
    enter_namespace()
    shark = tshark_or_skip(TEST)
    checks = Checks()
    try:
        capture = shark.path("live.pcap")
        with tempfile.NamedTemporaryFile() as file:
            file.write(os.urandom(300000))
            file.flush()
            tcpdump = start_tcpdump(capture)
            try:
                demo = run_demo(sys.argv[1], file.name)
                endpoints = run_endpoints(sys.argv[1])
                verbs = run_verbs(sys.argv[1])
            finally:
                stop_tcpdump(tcpdump, capture)
        shark.readable("live.pcap")
        checks.that("demonstration", "" if demo.returncode == 0 else demo.stdout + demo.stderr)
        checks.that("endpoints", "" if endpoints.returncode == 0 else endpoints.stdout + endpoints.stderr)
        checks.run("trunks", trunks_go_wrong, shark)
        for name, goes_wrong in (("ib_write_bw", rdma_goes_wrong), ("ibv_ud_pingpong", datagrams_go_wrong)):
            if name not in verbs:
                print(f"skip {name} no {name} on this machine")
            elif verbs[name]:
                checks.that(name, verbs[name])
            else:
                checks.run(name, goes_wrong, shark)
        checks.run("refusals", refusals_go_wrong, shark)
        checks.run("no_errors", errors_go_wrong, shark)
        checks.run("reads_are_answered", links_go_wrong, shark)
    finally:
        shark.close()
    return 1 if checks.failed else 0


sys.exit(main())
