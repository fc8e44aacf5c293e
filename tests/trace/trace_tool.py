#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""trace_tool.py - traces of real processes, joined and written by emu_trace: trace_tool.py BUILD [CASE...]

Each case has a folder of its own, which is removed at the end."""
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
sys.path.insert(0, os.path.join(ROOT, "tests/wireshark"))
from sides import both  # pylint: disable=wrong-import-position
from tshark import NoTshark, Tshark  # pylint: disable=wrong-import-position
HEAD, BLOCK = 4096, 65536


class Wrong(Exception):
    pass


class Skip(Exception):
    pass


def check(good, what):
    if not good:
        raise Wrong(what)


class Case:
    """Where a case runs."""

    def __init__(self, build, folder):
        self.build, self.folder = build, folder
        self.traces = os.path.join(folder, "traces")

    def env(self, **more):
        env = {key: value for key, value in os.environ.items() if not key.startswith("FI_EMU_TRACE")}
        return dict(env, EMU_BUILD=self.build, **more)

    def start(self, *command, **more):
        return subprocess.Popen([os.path.join(ROOT, "tools/emurun"), *command], env=self.env(**more), stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    def run(self, *command, **more):
        process = self.start(*command, **more)
        out, err = process.communicate()
        return process.returncode, out, err

    def path(self):
        return os.path.join(self.build, "tests/bench/emu-path")

    def demo(self, **more):
        done = subprocess.run([os.path.join(ROOT, "tools/demo.sh"), os.path.join(ROOT, "LICENSE")], env=self.env(**more),
                              capture_output=True, text=True)
        check(done.returncode == 0, "the demonstration failed: " + done.stdout[-300:] + done.stderr[-300:])

    def files(self):
        return sorted(os.path.join(self.traces, name) for name in os.listdir(self.traces))

    def read(self, *args):
        """Status, output and errors of emu_trace; it must not have crashed."""
        done = subprocess.run([os.path.join(self.build, "tools/trace/emu_trace"), *args], capture_output=True, text=True)
        check(done.returncode in (0, 2), f"emu_trace {args} ended with {done.returncode}: {done.stderr[-300:]}")
        check(done.returncode == 0 or done.stderr.startswith("emu_trace: "), f"status 2 without a sentence: {done.stderr}")
        return done.returncode, done.stdout, done.stderr

    def lines(self, *args):
        status, out, err = self.read(*args)
        check(status == 0, err)
        return out.splitlines()



def two_processes_are_joined(case):
    case.demo(FI_EMU_TRACE=case.traces)
    check(len(case.files()) == 2, f"{case.files()}")
    check(all(os.stat(file).st_mode & 0o777 == 0o600 for file in case.files()), "not for the owner alone")
    lines = case.lines(case.traces)
    check(sum("PARTIAL" in line or "has not closed" in line for line in lines) == 0, "closed in order")
    times = [float(line.split()[0]) for line in lines if line[0] != "#"]
    check(times == sorted(times) and times[0] >= 0, "times go forward from 0")
    refused = [line for line in case.lines("--refused", case.traces) if "REFUSED" in line]
    causes = [re.search(r"REFUSED \(([a-z-]+)\)", line).group(1) for line in refused]
    check(causes == ["unknown-key", "range", "right", "right", "closed", "wrap"], f"{causes}")
    check("no region of the target has this key (S40)" in refused[0], refused[0])
    check(any("region opened" in line for line in lines), "no region")
    # Each frame is there at both ends, and comes after it was sent.
    sent = [line for line in lines if re.search(r" to [^ ]+: (WRITE|READ|NAK|DATA) ", line)]
    received = [line for line in lines if re.search(r" from [^ ]+: (WRITE|READ|NAK|DATA) ", line)]
    check(len(sent) == len(received) > 1000, f"{len(sent)} sent, {len(received)} received")
    reads = [line for line in case.lines("--kind", "read", "--ops", case.traces) if "completed: read" in line]
    check(len(reads) > 1000, f"{len(reads)} reads completed")


def an_order_is_traced(case):
    """Under FI_EMU_ORDER=weak each op ends once, and others than in the order of their posts."""
    status, out, err = case.run("emu_litmus", "-t", "MP", "-o", "weak", "-n", "300", FI_EMU_TRACE=case.traces)
    check(status == 0, out + err)
    lines = case.lines(case.traces)
    posted, ended = ([re.search(r"(write|read) \d+ to [^ ]+", line).group(0) for line in lines if f" {what}: " in line]
                     for what in ("posted", "completed"))
    check(len(posted) > 600 and sorted(posted) == sorted(ended), f"{len(posted)} posted, {len(ended)} completed")
    check(len(set(posted)) == len(posted), "an op has its number alone")
    check(posted != ended, "all were completed as posted")


def for_perfetto(case):
    case.demo(FI_EMU_TRACE=case.traces)
    out = os.path.join(case.folder, "trace.json")
    case.lines("--perfetto", out, case.traces)
    events = json.load(open(out))["traceEvents"]
    begun = [(event["cat"], event["id"]) for event in events if event["ph"] == "b"]
    ended = [(event["cat"], event["id"]) for event in events if event["ph"] == "e"]
    check(len(begun) > 2000 and sorted(begun) == sorted(ended), "each span ends")
    starts = {event["id"]: event for event in events if event["ph"] == "s"}
    ends = {event["id"]: event for event in events if event["ph"] == "f"}
    check(len(starts) > 1000 and starts.keys() == ends.keys(), "each arrow ends")
    check(all(starts[key]["ts"] <= ends[key]["ts"] and starts[key]["pid"] != ends[key]["pid"] for key in starts),
          "from one process to the other, forward")
    check(sum(event["ph"] == "i" for event in events) == 6, "six refusals")
    check({event["name"] for event in events if event["ph"] == "M"} == {"process_name", "thread_name"}, "tracks have names")


def blocks_of(pcapng):
    bytes_, at, found = open(pcapng, "rb").read(), 0, []
    while at < len(bytes_):
        kind, length = struct.unpack_from("<II", bytes_, at)
        check(length >= 12 and length % 4 == 0 and at + length <= len(bytes_), f"block at {at}")
        check(struct.unpack_from("<I", bytes_, at + length - 4)[0] == length, "the length stands at the end, too")
        found.append((kind, bytes_[at + 8:at + length - 4]))
        at += length
    return found


def for_wireshark(case):
    case.demo(FI_EMU_TRACE=case.traces)
    out = os.path.join(case.folder, "trace.pcapng")
    lines = case.lines("--text", "--pcapng", out, case.traces)
    blocks = blocks_of(out)
    check([kind for kind, _ in blocks[:2]] == [0x0a0d0d0a, 1] and {kind for kind, _ in blocks[2:]} == {6}, "kinds of blocks")
    streams = {}
    for _, body in blocks[2:]:
        packet = body[20:]
        check(packet[0] == 0x45 and packet[9] == 6, "IPv4 and TCP")
        sport, dport, seq = struct.unpack_from(">HHI", packet, 20)
        length = struct.unpack_from(">H", packet, 2)[0] - 40
        flags = packet[33]
        key = (sport, dport)
        if flags & 2:
            streams[key] = seq + 1
            continue
        check(seq == streams[key], f"a hole in {key}: {seq}, and not {streams[key]}")
        streams[key] += length
    check(len(streams) == 2, f"{streams}")
    check(lines, "text beside it")
    try:
        shark = Tshark()
    except NoTshark as why:
        raise Skip(f"{why}; the packets are good") from why
    try:
        shutil.copy(out, shark.path("trace.pcapng"))
        shark.readable("trace.pcapng")
        rows = shark.rows("trace.pcapng", ["emu.op", "_ws.malformed", "emu.protocol_error", "emu.missing"])[1:]
    finally:
        shark.close()
    check(not any(row["_ws.malformed"] or row["emu.protocol_error"] or row["emu.missing"] for row in rows), "tshark finds flaws")
    emu = sum(bool(row["emu.op"]) for row in rows)
    check(emu > 1000, f"tshark finds frames in {emu} packets of {len(rows)}")


def for_browsers(case):
    case.demo(FI_EMU_TRACE=case.traces)
    out = os.path.join(case.folder, "trace.html")
    case.lines("--html", out, case.traces)
    page = open(out).read()
    check(page.lstrip().lower().startswith("<!doctype html") and "no region of the target has this key" in page, page[:100])
    check(not re.search(r"(src|href)=[\"']?https?:", page), "needs no network")


def wait_for(case, process, ready, but=()):
    """Until a ring file of the process, and none of `but`, is ready by what it holds; the process's end is an error."""
    while True:
        check(process.poll() is None, "it ended too soon")
        for file in sorted(set(case.files()) - set(but)) if os.path.isdir(case.traces) else []:
            bytes_ = open(file, "rb").read()
            if len(bytes_) > HEAD and bytes_[:8] == b"emutrace" and ready(bytes_):
                return file


def hot_numbers(bytes_):
    blocks, cold = struct.unpack_from("<II", bytes_, 24)
    return [struct.unpack_from("<Q", bytes_, HEAD + i * BLOCK)[0] for i in range(cold, blocks)]


def a_killed_process_leaves_its_ring(case):
    process = subprocess.Popen([os.path.join(ROOT, "tools/emurun"), case.path(), "100000000"], stdout=subprocess.DEVNULL,
                               env=case.env(FI_EMU_TRACE=case.traces, FI_EMU_TRACE_SIZE="4194304"))
    wait_for(case, process, lambda bytes_: max(hot_numbers(bytes_)) > 10)
    process.send_signal(signal.SIGKILL)
    process.wait()
    lines = case.lines(case.traces)
    check("which has not closed its trace" in lines[0], lines[0])
    check(sum("completed: write" in line for line in lines) > 100, "its ops are there")


def killed_processes_leave_the_channels_of_their_trunk(case):
    """Whose a frame is stands in the record of the connection, which is older than the trunk that its bytes went by."""
    process = subprocess.Popen([os.path.join(ROOT, "tools/emurun"), os.path.join(case.build, "tools/perf/emu_perf"), "-t", "write_lat",
                                "-P", "4", "-D", "600"], stdout=subprocess.DEVNULL, start_new_session=True,
                               env=case.env(FI_EMU_TRACE=case.traces, FI_EMU_TRACE_SIZE="4194304"))
    files = set()
    while len(files) < 2:
        files.add(wait_for(case, process, lambda bytes_: max(hot_numbers(bytes_)) > 4, files))
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    lines = case.lines(case.traces)
    check(sum("WRITE" in line for line in lines) > 1000, "frames are there")
    strange = [line for line in lines if "from ?" in line or "to ?" in line]
    check(not strange, f"{len(strange)} of {len(lines)} lines have no process: {strange[:1]}")


def an_old_event_goes_for_a_new_one(case):
    status, _, err = case.run(case.path(), "20000", FI_EMU_TRACE=case.traces, FI_EMU_TRACE_SIZE="1048576")
    check(status == 0, err)
    lines = case.lines(case.traces)
    check("PARTIAL: its first" in lines[0], lines[0])
    check(os.path.getsize(case.files()[0]) <= 1048576, "no larger than asked")
    completed = [int(re.search(r"completed: write (\d+)", line).group(1)) for line in lines if "completed: write" in line]
    check(len(completed) > 500 and max(completed) > 50000, f"the last ones are there: {len(completed)}")
    check(any("session 0x" in line for line in lines), "what connection it is stays known")


def small_ring(case):
    status, _, err = case.run(case.path(), "20", FI_EMU_TRACE=case.traces, FI_EMU_TRACE_SIZE="1048576")
    check(status == 0, err)
    return case.files()[0]


def damage_is_told(case):
    file = small_ring(case)
    good = open(file, "rb").read()
    blocks, cold = struct.unpack_from("<II", good, 24)
    bad = os.path.join(case.folder, "bad.emutrace")

    def read(bytes_):
        with open(bad, "wb") as out:
            out.write(bytes_)
        return case.read("--perfetto", os.path.join(case.folder, "out.json"), "--pcapng", os.path.join(case.folder, "out"), bad)

    def flipped(at, mask):
        return good[:at] + bytes([good[at] ^ mask]) + good[at + 1:]

    for at in range(0, 56):
        status, _, err = read(flipped(at, 0xff))
        check(status in (0, 2), err)
        if at < 28:
            check(status == 2 and bad in err, f"byte {at}: {status} {err}")
    status, _, err = read(good[:12] + struct.pack("<I", 2) + good[16:])
    check(status == 2 and "version 2" in err, err)
    for base in (HEAD, HEAD + cold * BLOCK):
        for at in range(0, 700):
            read(flipped(base + at, 0xff if at % 3 else 0x01))
    for length in [0, 1, 100, HEAD - 1, HEAD, HEAD + 40, HEAD + BLOCK, HEAD + cold * BLOCK + 100, len(good) - 1]:
        status, _, err = read(good[:length])
        check(status == 2 and bad in err, f"{length} bytes: {status} {err}")
    status, out, err = case.read("--text", file, bad)
    check(status == 2 and "completed: write" in out, "the good one is read all the same")
    for name, why in ((os.path.join(case.folder, "none"), "No such file"), (os.path.join(ROOT, "LICENSE"), "")):
        status, _, err = case.read(name)
        check(status == 2 and name in err and why in err, err)
    status, _, err = case.read(case.folder + "/traces/..")
    check(status == 2 or err == "", err)
    status, _, err = case.read("--perfetto", "/dev/full", file)
    check(status == 2 and "No space left" in err, err)


def a_full_disk_costs_the_trace_alone(case):
    script = ('mkdir -p "$1" && mount -t tmpfs -o size=512k none "$1" && shift && "$@"; status=$?; '
              'test -z "$(ls "$FI_EMU_TRACE")" || exit 99; exit $status')
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True).returncode:
        raise Skip("no user namespaces here")
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, "sh", case.traces, os.path.join(ROOT, "tools/emurun"), case.path(),
                           "10"], env=case.env(FI_EMU_TRACE=case.traces, FI_LOG_LEVEL="warn"), capture_output=True, text=True)
    if "mount" in done.stderr and done.returncode:
        raise Skip("no tmpfs may be mounted here")
    check(done.returncode == 0, f"{done.returncode}: {done.stderr[-300:]}")
    check(done.stderr.count("no trace: ") == 1 and "No space left" in done.stderr, done.stderr[-300:])


def a_limit_of_files_costs_the_trace_alone(case):
    done = subprocess.run(["sh", "-c", 'ulimit -f 100; exec "$@"', "sh", os.path.join(ROOT, "tools/emurun"), case.path(), "10"],
                          env=case.env(FI_EMU_TRACE=case.traces), capture_output=True, text=True)
    check(done.returncode == 0, f"{done.returncode}: {done.stderr[-300:]}")


def a_folder_that_cannot_be_costs_the_trace_alone(case):
    status, _, err = case.run(case.path(), "10", FI_EMU_TRACE="/dev/null/traces", FI_LOG_LEVEL="warn")
    check(status == 0 and err.count("no trace: ") == 1, err[-300:])


def a_file_that_is_cut_costs_the_trace_alone(case):
    for length in (0, HEAD + BLOCK):
        process = subprocess.Popen([os.path.join(ROOT, "tools/emurun"), os.path.join(case.build, "tests/ctl/looked_at")], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   env=case.env(FI_EMU_TRACE=case.traces, FI_EMU_TRACE_SIZE="1048576"))

        def say(word):
            process.stdin.write(word + "\n")
            process.stdin.flush()
            return process.stdout.readline().strip()

        process.stdout.readline()
        check(say("write") == "0", "a write")
        os.truncate(case.files()[-1], length)
        check(say("write") == "0" and say("refused") != "0" and say("write") == "0", f"after the file was cut to {length}")
        process.stdin.close()
        process.stdout.close()
        check(process.wait() == 0, f"{process.returncode} after the file was cut to {length}")
        status, _, err = case.read(case.files()[-1])
        check(status == 2 and "cut off" in err or "empty" in err, err)


def forks_have_their_own(case):
    for how in ("open", "closed", "busy"):
        status, _, err = case.run(os.path.join(case.build, "tests/process/forked"), how, FI_EMU_TRACE=case.traces,
                                  FI_EMU_TRACE_SIZE="1048576")
        check(status == 0, f"{how}: {err[-300:]}")
    pids = {os.path.basename(file).split("-")[-2] for file in case.files()}
    check(len(pids) > 2, f"{len(pids)} processes")
    status, _, err = case.read("--ops", case.traces)
    check(status == 0, err)
    for file in case.files():
        head = open(file, "rb").read(36)
        check(struct.unpack_from("<I", head, 32)[0] == int(os.path.basename(file).split("-")[-2]), "each is of the process that it names")


def shifted(file, by_ns):
    """The ring as a machine with another clock would have written it."""
    bytes_ = bytearray(open(file, "rb").read())
    blocks = struct.unpack_from("<I", bytes_, 24)[0]

    def shift(at):
        value = struct.unpack_from("<Q", bytes_, at)[0]
        if value:
            struct.pack_into("<Q", bytes_, at, value + by_ns)

    shift(48)
    shift(88)
    bytes_[168:176] = b"other-bo"
    for i in range(blocks):
        if struct.unpack_from("<Q", bytes_, HEAD + i * BLOCK)[0]:
            shift(HEAD + i * BLOCK + 16)
    open(file, "wb").write(bytes_)


def clocks_are_brought_together(case):
    case.demo(FI_EMU_TRACE=case.traces)

    def times():
        found = {}
        for line in case.lines("--ops", case.traces):
            match = re.match(r" *([\d.]+) \d+ (completed|region opened)[^0-9]*(.*)", line)
            if match:
                found.setdefault(match.group(2) + match.group(3), float(match.group(1)))
        return found

    before = times()
    for file in case.files():
        if "initiator" in open(file, "rb").read(400)[208:336].decode("latin-1"):
            shifted(file, 5_000_000_000)
    after = times()
    check("clock within" in case.lines(case.traces)[1] + case.lines(case.traces)[0], "it says how well")
    check(before.keys() == after.keys(), "the same events")
    shifts = [after[key] - before[key] for key in before]
    check(max(shifts) - min(shifts) < 0.05, f"apart by {max(shifts) - min(shifts)} s")


def frames_as_text(case):
    status, _, err = case.run(case.path(), "8", FI_EMU_TRACE="text")
    check(status == 0, err[-300:])
    lines = [line for line in err.splitlines() if line.startswith("emu ")]
    check(sum(" to " in line and "WRITE seq" in line for line in lines) > 8, err[:500])
    check(sum(" from " in line and "WRITE seq" in line for line in lines) > 8, err[:500])
    check(sum("HELLO" in line for line in lines) == 4, err[:500])


def words_of_rdma_cm(case):
    if not shutil.which("ib_write_bw"):
        raise Skip("no ib_write_bw on this machine")
    wrong = both("udp", 18517, "ib_write_bw", "-R", "-F", "-n", "20", **case.env(FI_EMU_TRACE=case.traces))
    check(not wrong, wrong)
    lines = case.lines(case.traces)
    for way, text in (("to", r"question for the port of service \S+:18517"), ("from", r"answer: service \S+:18517 is at port \d+"),
                      ("to", r"CONNECT .*: REQUEST from \S+ to \S+:18517 QPN 0x\w{6} PSN 0x\w{6}"), ("to", "CONNECT .*: REPLY QPN .*"),
                      ("to", "CONNECT .*: READY"), ("to", "CONNECT .*: LEAVE")):
        check(any(re.search(rf" {way} [0-9a-f.:\[\]]+: {text}", line) for line in lines), f"no line of {text}")


def datagrams_of_queue_pairs(case):
    if not shutil.which("ibv_ud_pingpong"):
        raise Skip("no ibv_ud_pingpong on this machine")
    wrong = both("tcp", 18518, "ibv_ud_pingpong", "-g", "0", "-n", "20", **case.env(FI_EMU_TRACE=case.traces))
    check(not wrong, wrong)
    lines = [line for line in case.lines(case.traces) if "datagram of" in line]
    good = [line for line in lines if re.search(r"from QPN 0x\w{6} to 0x\w{6} Q_Key 0x11111111", line)]
    check(len(good) == len(lines) >= 80, f"{len(good)} of {len(lines)} datagrams, which either side notes")


CASES = [two_processes_are_joined, an_order_is_traced, for_perfetto, for_wireshark, for_browsers, a_killed_process_leaves_its_ring,
         killed_processes_leave_the_channels_of_their_trunk,
         an_old_event_goes_for_a_new_one, damage_is_told, a_full_disk_costs_the_trace_alone, a_limit_of_files_costs_the_trace_alone,
         a_folder_that_cannot_be_costs_the_trace_alone, a_file_that_is_cut_costs_the_trace_alone, forks_have_their_own, clocks_are_brought_together, frames_as_text,
         words_of_rdma_cm, datagrams_of_queue_pairs]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        helps = len(sys.argv) > 1 and sys.argv[1] == "--help"
        print(__doc__ if helps else f"trace_tool.py: {sys.argv[1:]}: name the build's folder, and cases; --help says more", file=sys.stdout if helps else sys.stderr)
        return 0 if helps else 2
    bad = False
    for run in CASES:
        if sys.argv[2:] and run.__name__ not in sys.argv[2:]:
            continue
        folder = tempfile.mkdtemp(prefix="emu-trace.")
        try:
            run(Case(os.path.realpath(sys.argv[1]), folder))
            print(f"ok {run.__name__}", flush=True)
        except Skip as why:
            print(f"skip {run.__name__} {why}", flush=True)
        except Exception as why:  # pylint: disable=broad-except
            print(f"not ok {run.__name__} {type(why).__name__}: {why}".replace("\n", " "), flush=True)
            bad = True
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    return 1 if bad else 0


sys.exit(main())
