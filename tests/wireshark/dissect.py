#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# dissect.py - tshark with the dissector on the captures that wireshark_capture writes: dissect.py PROGRAM
import re
import subprocess
import sys

sys.dont_write_bytecode = True  # the source tree stays as it is
from tshark import Checks, tshark_or_skip

AS_EMU = ("-d", "tcp.port==4711,emu")
# The talk (talk.c), a row for each frame, in order: op, and what is to be shown of it.
TALK = [
    ("HELLO", {"emu.at": "192.0.2.1:4710", "emu.session": "0x1122334455667788"}),
    ("CHALLENGE", {"emu.at": "192.0.2.2:4711"}),
    ("CHALLENGE", {}),
    ("PROOF", {}),
    ("HELLO", {"emu.at": "192.0.2.2:4711", "emu.segment": "65536"}),
    ("PROOF", {}),
    ("WRITE", {"emu.seq": "1", "emu.key": "0x9f3c000000000001", "emu.addr": "0x00007f0000001000", "emu.payload": "8",
               "emu.acked_in": 2}),
    ("READ", {"emu.seq": "2", "emu.length": "64", "emu.data_in": 1, "emu.answered_in": 2}),
    ("DATA", {"emu.ref": "2", "emu.request_in": -1, "emu.acknowledges": "1", "emu.acknowledges_first": -2}),
    ("DATA", {"emu.ref": "2", "emu.offset": "40", "emu.request_in": -2, "emu.acknowledges": "2"}),
    ("WRITE", {"emu.seq": "3", "emu.rest": "whole", "emu.answered_in": 2}),
    ("WRITE", {"emu.seq": "4", "emu.first_in": -1, "emu.answered_in": 1, "emu.acked_in": 1}),
    ("DONE", {"emu.ref": "3", "emu.request_in": -2, "emu.acknowledges": "3 to 4", "emu.verdict_acked_in": 1}),
    ("ACK", {"emu.verdict_ack": "1"}),
    ("SEND", {"emu.seq": "5", "emu.tag": "0x0000000000000077", "emu.parked_in": 1, "emu.pull_in": 2, "emu.answered_in": 4}),
    ("PARK", {"emu.verdict": "2", "emu.request_in": -1}),
    ("PULL", {"emu.ref": "5", "emu.request_in": -2}),
    ("DATA", {"emu.ref": "5", "emu.flags.pulled": "1", "emu.request_in": -3, "emu.pull_in": -1}),
    ("DONE", {"emu.verdict": "3", "emu.request_in": -4}),
    ("RTS", {"emu.seq": "6", "emu.rnr_in": 1, "emu.answered_in": None}),
    ("RNR", {"emu.ref": "6", "emu.wait_us": "1000", "emu.request_in": -1, "emu.not_ready": ""}),
    ("RTS", {"emu.seq": "6", "emu.pull_in": 1, "emu.data_in": 2, "emu.answered_in": 3, "emu.again": None}),
    ("PULL", {"emu.ref": "6", "emu.request_in": -1}),
    ("DATA", {"emu.ref": "6", "emu.request_in": -2}),
    ("DONE", {"emu.verdict": "4", "emu.request_in": -3}),
    ("ATOMIC", {"emu.seq": "7", "emu.atomic.kind": "2", "emu.atomic.op": "12", "emu.atomic.type": "7", "emu.answered_in": 1}),
    ("RESULT", {"emu.ref": "7", "emu.verdict": "5", "emu.request_in": -1}),
    ("WRITE", {"emu.seq": "8", "emu.answered_in": 1}),
    ("NAK", {"emu.ref": "8", "emu.cause": "4", "emu.region": "4096", "emu.excess": "32", "emu.request_in": -1, "emu.refused": ""}),
    ("CONNECT", {"emu.seq": "9", "emu.request": "0x7265710000000001", "emu.acked_in": 1}),
    ("ACCEPT", {"emu.seq": "1", "emu.request": "0x7265710000000001"}),
    ("REJECT", {"emu.seq": "2", "emu.request": "0x7265710000000002", "emu.acked_in": 1}),
    ("READ", {"emu.seq": "10", "emu.flags.tagged": "1", "emu.acknowledges": "1 to 2"}),
    ("DATA", {"emu.ref": "10", "emu.request_in": -1}),
    ("TAKEN", {"emu.seq": "11", "emu.ref": "10", "emu.request_in": -2}),
    ("SEND", {"emu.seq": "12", "emu.collective.number": "3", "emu.collective.signature": "0xabcd", "emu.collective.step": "2"}),
    ("RSEND", {"emu.seq": "13", "emu.flags.solicited": "1", "emu.invalidate": "1", "emu.acked_in": 2}),
    ("RSEND", {"emu.seq": "14", "emu.first_in": -1, "emu.acked_in": 1}),
    ("ACK", {"emu.ack": "14", "emu.acknowledges": "11 to 14", "emu.acknowledges_first": -4, "emu.acknowledges_last": -1}),
    ("DONE", {"emu.request_in": None, "emu.protocol_error": ""}),
    ("BYE", {"emu.reason": "6", "emu.text": "no more of this", "emu.ended": ""}),
]
SHOWN = sorted({field for _, shown in TALK for field in shown})
QUIET = {"emu.protocol_error": "DONE", "emu.refused": "NAK", "emu.not_ready": "RNR", "emu.ended": "BYE", "emu.missing": None,
         "emu.cut_off": None, "emu.unknown": None}


def talk_goes_wrong(shark, capture, message, *args):
    """Each frame of the talk in its place. Numbers of packets are given by how many frames before or after they are."""
    fields = sorted(set(SHOWN) | set(QUIET) | {"emu.op"})
    rows = [row for row in shark.rows(capture, fields, "-Y", "emu", *args)[1:]]
    if len(rows) != len(TALK):
        return f"{len(rows)} packets end a frame, where the talk has {len(TALK)}"
    wrong = []
    for i, (op, shown) in enumerate(TALK):
        frame = f"frame {i} ({op})"
        if rows[i]["emu.op"] != [str(NUMBERS[op])]:
            wrong.append(f"{frame} is shown as {rows[i]['emu.op']}")
        for field, value in shown.items():
            if isinstance(value, int):
                value = rows[i + value]["frame.number"][0]
            elif value == "whole":
                value = str(message)
            have = rows[i][field]
            if (have if value is None else value == "" and not have or value != "" and have != [value]):
                wrong.append(f"{frame}: {field} is {have}, not {value}")
        for field, only in QUIET.items():
            if rows[i][field] and op != only:
                wrong.append(f"{frame}: {field}")
    return wrong


NUMBERS = {"HELLO": 1, "BYE": 2, "ACK": 3, "CHALLENGE": 4, "PROOF": 5, "WRITE": 16, "READ": 17, "SEND": 18, "RTS": 19,
           "ATOMIC": 20, "CONNECT": 21, "ACCEPT": 22, "REJECT": 23, "TAKEN": 24, "RSEND": 25, "DATA": 32, "PULL": 33,
           "RNR": 34, "NAK": 48, "PARK": 49, "DONE": 50, "RESULT": 51}


def joined_goes_wrong(shark):
    """Frames that share segments, and lie across them: each once, in order."""
    rows = shark.rows("joined.pcap", ["emu.op", "emu.unknown", "emu.missing", "_ws.col.Info"], "-Y", "emu")[1:]
    ops = [int(op) for row in rows for op in row["emu.op"]]
    expected = [NUMBERS[op] for op, _ in TALK]
    wrong = [] if ops == expected else [f"ops {ops}, not {expected}"]
    words = [text for row in rows for text in row["_ws.col.Info"][0].split("; ")]
    if len(words) != len(TALK):
        wrong.append(f"{len(words)} frames in words, of {len(TALK)}")
    return wrong + [row for row in rows if row["emu.unknown"] or row["emu.missing"]]


def resumed_goes_wrong(shark):
    """A session goes on by another connection from the same port: links lead from one to the other."""
    fields = ["emu.op", "emu.again", "emu.answered_in", "emu.acked_in", "emu.request_in", "_ws.expert.message"]
    rows = shark.rows("resumed.pcap", fields, "-Y", "emu")[1:]
    if [row["emu.op"] for row in rows] != [[str(NUMBERS[op])] for op in
                                           "HELLO HELLO READ WRITE HELLO HELLO READ DATA SEND HELLO BYE ACK".split()]:
        return [f"not as many packets as it should: {rows}"]
    _, _, read, write, _, _, again, data, send, hello, _, ack = rows
    wrong = []
    for what, have, want in (("the READ is answered", read["emu.answered_in"], data), ("again", again["emu.again"], read),
                             ("DATA's request", data["emu.request_in"], read), ("the WRITE is acknowledged", write["emu.acked_in"], data)):
        if have != want["frame.number"]:
            wrong.append(f"{what}: in {have}, not in {want['frame.number']}")
    for what, row, rule in (("a number is left out", send, "WIRE-55"), ("a second HELLO", hello, "WIRE-20"),
                            ("a frame behind BYE", ack, "WIRE-40")):
        if not any(rule in message for message in row["_ws.expert.message"]):
            wrong.append(f"{what}: {row['_ws.expert.message']}")
    return wrong


def midstream_goes_wrong(shark):
    """Without a greeting, a connection is recognised if the preference says so, or by Decode As."""
    wrong = []
    for args, seen in (((), False), (("-o", "emu.midstream:TRUE"), True), (AS_EMU, True)):
        rows = shark.rows("midstream.pcap", ["emu.op", "emu.request_in"], "-Y", "emu", *args)[1:]
        if bool(rows) != seen or seen and [row["emu.op"][0] for row in rows] != ["16", "17", "32", "32", "16", "16", "50", "3"]:
            wrong.append(f"{args}: {rows}")
        elif seen and rows[2]["emu.request_in"] != rows[1]["frame.number"]:
            wrong.append(f"{args}: DATA is not linked: {rows[2]}")
    return wrong


def words_go_wrong(shark):
    text = shark.run("-2", "-r", shark.path("talk.pcap"), "-T", "fields", "-e", "_ws.col.Protocol", "-e", "_ws.col.Info")
    expected = [
        "EMU\tWRITE seq 1 key 0x9f3c000000000001 addr 0x7f0000001000 8 B",
        "EMU\tNAK range: ref 8, 32 B past the end of a 4096 B region",
        "EMU\tATOMIC seq 7 compare CSWAP uint64 key 0x9f3c000000000001 addr 0x7f0000001000 8 B",
        "EMU\tBYE limit: no more of this",
        "EMU\tDatagram from [fe80::1%3]:4710 12 B CQ data 0xfeedface",
        "EMU\tDatagram from [fe80::1%3]:4710 48 B CQ data 0xfeedface from QPN 0x126607 to 0x126842 Q_Key 0x11111111",
    ]
    wrong = [f"no line: {line}" for line in expected if line not in text.splitlines()]
    details = shark.run("-2", "-r", shark.path("talk.pcap"), "-O", "emu", "-V")
    for line in ("WRITE 8 was refused: the range is not inside the region: 32 B past the end of a 4096 B region",
                 "wrong direction: request 7 was sent by the same side (WIRE-45)"):
        if line not in details:
            wrong.append(f"no expert info: {line}")
    return wrong


def datagrams_go_wrong(shark):
    fields = ["emudgram.at", "emudgram.payload", "emudgram.cq_data", "emudgram.flags.whole", "emudgram.dropped"]
    rows = [[row[field] for field in fields] for row in shark.rows("talk.pcap", fields, "-Y", "emudgram")[1:]]
    local = "[fe80::1%3]:4710"
    expected = [[["192.0.2.1:4710"], ["12"], ["0x0000000000000000"], ["0"]], [[local], ["12"], ["0x00000000feedface"], ["1"]],
                [[local], ["12"], ["0x00000000feedface"], ["1"]], [[local], ["48"], ["0x00000000feedface"], ["0"]]]
    wrong = [f"{have}, not {want}" for have, want in zip(rows, expected) if have[:4] != want]
    if [bool(row[4]) for row in rows] != [False, False, True, False]:
        wrong.append(f"{len(rows)} datagrams, of which the third alone is dropped: {rows}")
    return wrong


# What talk_rdma.c says, a line a packet.
RDMA = [
    "Service 18515: which port? nonce 0x6e6f6e6365",
    "Service 18515: port 4711 nonce 0x6e6f6e6365",
    "Service 18515 [no question and no answer (WIRE-180)]",
    "CONNECT seq 1 request 0x7265710000000002 REQUEST from 192.0.2.1:40000 to 192.0.2.2:18515 QPN 0x126607 PSN 0xabcdef 56 B",
    "CONNECT seq 1 request 0x7265710000000003 REPLY QPN 0x126842 PSN 0x000001 196 B",
    "CONNECT seq 2 request 0x7265710000000002 READY",
    "CONNECT seq 2 request 0x7265710000000003 LEAVE",
    "CONNECT seq 3 request 0x7265710000000003 REJECT reason 28 7 B",
    "CONNECT seq 3 request 0x7265710000000002 REJECT reason 28 7 B",
    "CONNECT seq 4 request 0x7265710000000002 LOOKUP from 192.0.2.1:40000 to 192.0.2.2:18515",
    "CONNECT seq 4 request 0x7265710000000003 FOUND QPN 0x126842 Q_Key 0x01234567 3 B",
    "CONNECT seq 5 request 0x7265710000000003 FOUND status 2",
    "REJECT seq 5 request 0x7265710000000002 8 B",
    *[f"CONNECT seq {seq} request 0x7265710000000002 8 B" for seq in (6, 7, 8, 9)],
    "CONNECT seq 6 request 0x7265710000000003 224 B",
    "CONNECT seq 7 request 0x7265710000000003 224 B",
    "CONNECT seq 8 request 0x7265710000000003 15 B",
    "CONNECT seq 9 request 0x7265710000000003 12 B",
    *["CONNECT seq 1 request 0x7265710000000002 68 B"] * 6,
    "HELLO from 192.0.2.1:4710 QPN 0x126607 session 0x1122334455667788 epoch 1, of type XRC_SEND",
    "HELLO from 192.0.2.2:4711 QPN 0x126742 session 0x1122334455667788 epoch 1, of type XRC_RECV",
    "PAIR sends from 0x123456, expects 0x800000, path MTU 1024",
    "PAIR may not send yet, expects 0x800000, path MTU 1024",
    "RSEND seq 1 8 B, SRQ 42",
    "RSEND seq 1 8 B",
    "HELLO from 192.0.2.1:4710 QPN 0x126607 session 0x1122334455667788 epoch 1, of type UC",
    "HELLO from 192.0.2.2:4711 QPN 0x126742 session 0x1122334455667788 epoch 1, of type UC",
    "RSEND seq 1 invalidates 0x2a77 8 B",
]
# Fields, and the values that packets have, in order; the others have none.
RDMA_FIELDS = {
    "emusrvc.kind": ["1", "2", "2"], "emusrvc.port": ["0", "4711", "0"],
    "emu.rdma.kind": ["1", "2", "4", "5", "3", "3", "6", "7", "7"],
    "emu.rdma.from": ["192.0.2.1:40000"] * 2, "emu.rdma.to": ["192.0.2.2:18515"] * 2, "emu.rdma.space": ["0x0111"],
    "emu.rdma.status": ["0", "2"], "emu.rdma.qkey": ["0x01234567", "0x00000000"],
    "emu.rdma.qpn": ["0x00126607", "0x00126842", "0x00126842", "0x00000000"], "emu.rdma.psn": ["0x00abcdef", "0x00000001"], "emu.rdma.reason": ["0", "0", "28", "28"],
    "emu.rdma.length": ["56", "196", "0", "0", "7", "7", "0", "3", "0"], "emu.srq": ["42"], "emu.invalidated": ["0x0000000000002a77"],
    "emu.qpn": ["0x126607", "0x126742", "0x126607", "0x126742"], "emu.index": ["7", "66", "7", "66"],
    "emu.features.xrc_send": ["1", "0", "0", "0"],
}


def rdma_goes_wrong(shark):
    """Words of rdma_cm, questions for a service, and what a queue pair's greeting tells."""
    rows = shark.rows("rdma.pcap", ["_ws.col.Info", "emusrvc.dropped", "emu.protocol_error", *RDMA_FIELDS], "-Y", "emu or emusrvc")[1:]
    plain = re.compile(r"HELLO from \S+ session")
    lines = [row["_ws.col.Info"][0] for row in rows if not plain.match(row["_ws.col.Info"][0])]
    wrong = [f"{have}, not {want}" for have, want in zip(lines, RDMA) if have != want]
    if len(lines) != len(RDMA):
        wrong.append(f"{len(lines)} lines, not {len(RDMA)}")
    for field, want in RDMA_FIELDS.items():
        have = [one for row in rows if not plain.match(row["_ws.col.Info"][0]) for one in row[field]]
        if have != want:
            wrong.append(f"{field}: {have}, not {want}")
    if [bool(row["emusrvc.dropped"]) for row in rows[:3]] != [False, False, True]:
        wrong.append("the third datagram alone is dropped")
    return wrong + [row for row in rows if row["emu.protocol_error"]]


def goldens_go_wrong(shark, goldens):
    """Each golden frame is named, and the numbers of its text are among the values of its fields."""
    wrong = []
    ports = {}
    for row in shark.rows("goldens.pcap", ["tcp.srcport", "emu.op", "_ws.col.Info", "emu.unknown"], "-Y", "emu")[1:]:
        ports[row["tcp.srcport"][0]] = row
    for port, op, text in goldens:
        row = ports.get(port)
        if not row or row["emu.op"] != [op]:
            wrong.append(f"golden {text}: shown as {row}")
            continue
        info = row["_ws.col.Info"][0]
        for word in re.findall(r"\b(?:key|tag|ref|seq|wait_us|request|session|epoch|offset) (\S+)", text):
            if not re.search(rf"(?<!\w){re.escape(word)}(?!\w)", info):
                wrong.append(f"golden {text}: no {word} in {info}")
    return wrong


def flaws_go_wrong(shark, flaws):
    """Each frame with a changed bit has the flaw that the validator in C finds, or none of them."""
    said = {}
    rows = shark.rows("flaws.pcap", ["tcp.srcport", "_ws.expert.message"], "-Y", "tcp.dstport == 4711", *AS_EMU)
    for row in rows[1:]:
        said.setdefault(row["tcp.srcport"][0], []).extend(row["_ws.expert.message"])
    sentences = {flaw for _, flaw in flaws if flaw != "nothing wrong"}
    found = {sentence for messages in said.values() for sentence in messages}
    wrong = [f"{sentence}: not found once" for sentence in sentences if sentence not in found]
    for port, flaw in flaws:
        have = [message for message in said.get(port, []) if message in sentences]
        want = [] if flaw == "nothing wrong" else [flaw]
        if sorted(set(have)) != want:
            # Behind a good HELLO these are about a frame's place, of which the validator of single frames knows nothing.
            if not want and set(have) <= {"CHALLENGE or PROOF where no secret is to be proved (WIRE-101)"}:
                continue
            wrong.append(f"port {port}: {have or 'nothing'}, where C says {flaw}")
    return wrong


def cut_off_goes_wrong(shark):
    """A frame that ends nowhere is none: it is seen in the one stream that has all of it."""
    rows = shark.rows("cut_off.pcap", ["emu.op", "emu.unknown"], "-Y", "emu", *AS_EMU)[1:]
    atomics = [row for row in rows if "20" in row["emu.op"]]
    hellos = [row for row in rows if "1" in row["emu.op"]]
    if len(hellos) < 2 or not atomics:
        return f"{len(hellos)} HELLOs and {len(atomics)} ATOMICs"
    return []


def snapped_goes_wrong(shark):
    """Packets of which the capture has 100 bytes alone: heads are shown, and the frames are marked."""
    rows = shark.rows("snapped.pcap", ["emu.op", "emu.cut_off"], "-Y", "emu", *AS_EMU)[1:]
    cut = [row for row in rows if row["emu.cut_off"]]
    return [] if len(cut) > 5 and any("16" in row["emu.op"] for row in cut) else f"{len(cut)} of {len(rows)} are cut off"


def garbage_goes_wrong(shark):
    for args in (("-2", *AS_EMU), AS_EMU, ("-2", "-o", "emu.midstream:TRUE")):
        shark.run("-r", shark.path("garbage.pcap"), "-V", *args)
    return []


def main():
    shark = tshark_or_skip("wireshark-dissect")
    checks = Checks()
    try:
        done = subprocess.run([sys.argv[1], shark.folder], check=True, capture_output=True, text=True).stdout.splitlines()
        goldens = [line.split(" ", 3)[1:] for line in done if line.startswith("golden ")]
        flaws = [line.split(" ", 2)[1:] for line in done if line.startswith("flaw ")]
        for capture in ("talk", "bytes", "odd", "joined", "resumed", "midstream", "snapped", "goldens", "flaws", "cut_off", "garbage", "rdma"):
            shark.readable(capture + ".pcap")
        checks.run("talk", talk_goes_wrong, shark, "talk.pcap", 70000)
        checks.run("segments_of_39_bytes", talk_goes_wrong, shark, "odd.pcap", 70000)
        checks.run("segments_of_1_byte", talk_goes_wrong, shark, "bytes.pcap", 150, *AS_EMU)
        checks.run("joined", joined_goes_wrong, shark)
        checks.run("resumed", resumed_goes_wrong, shark)
        checks.run("midstream", midstream_goes_wrong, shark)
        checks.run("words", words_go_wrong, shark)
        checks.run("datagrams", datagrams_go_wrong, shark)
        checks.run("rdma", rdma_goes_wrong, shark)
        checks.run("goldens", goldens_go_wrong, shark, goldens)
        checks.run("flaws", flaws_go_wrong, shark, flaws)
        checks.run("cut_off", cut_off_goes_wrong, shark)
        checks.run("snapped", snapped_goes_wrong, shark)
        checks.run("garbage", garbage_goes_wrong, shark)
    finally:
        shark.close()
    return 1 if checks.failed else 0


sys.exit(main())
