-- SPDX-License-Identifier: BSD-2-Clause
-- emu_names.lua - the names, numbers and offsets of wire versions 1 and 2, as wire/frame.h and wire/PROTOCOL.md have them.
--
-- Pure tables: nothing of Wireshark's is called. tests/wireshark/names.py reads this file line by line and holds each row against
-- the protocol's sources, so rows keep their form.
local names = {}

names.MAGIC = "656d75776972650a" -- the eight bytes that begin HELLO's body, in hex
names.DATAGRAM_MAGIC = "656d756467726d0a"
names.SERVICE_MAGIC = "656d75737276630a"
names.HEAD = 32 -- bytes
names.TRAILER = 16
names.DATAGRAM = 64
names.PAIR_DATAGRAM = 36 -- behind it, in version 2
names.SERVICE = 52
names.SEGMENT_MIN = 65536
names.SEGMENT_MAX = 262144
names.ATOMIC_MAX = 4096
names.CM_DATA_MAX = 256
names.MTU = 1388
names.VERSION = 2
names.DATAGRAM_VERSION = 1
names.PAIR_DATAGRAM_VERSION = 2
names.SERVICE_VERSION = 1
names.RDMA_VERSION = 1
names.RDMA_RC = 2
names.RDMA_XRC_SEND = 9
names.SIDR_MOST = 5

-- op: name; struct of the body, and its bytes; flags that may be set; may have payload; what sort of frame.
names.ops = {
	[1] = { name = "HELLO", body = "hello", size = 120, flags = 0x00, payload = false, sort = "greeting" },
	[2] = { name = "BYE", body = "bye", size = 128, flags = 0x00, payload = false, sort = "control" },
	[3] = { name = "ACK", body = "ack", size = 8, flags = 0x00, payload = false, sort = "control" },
	[4] = { name = "CHALLENGE", body = "challenge", size = 56, flags = 0x00, payload = false, sort = "greeting" },
	[5] = { name = "PROOF", body = "proof", size = 32, flags = 0x00, payload = false, sort = "greeting" },
	[6] = { name = "PAIR", body = "pair", size = 16, flags = 0x00, payload = false, sort = "control" },
	[16] = { name = "WRITE", body = "write", size = 48, flags = 0xff, payload = true, sort = "request" },
	[17] = { name = "READ", body = "read", size = 40, flags = 0x18, payload = false, sort = "request" },
	[18] = { name = "SEND", body = "send", size = 32, flags = 0x5c, payload = true, sort = "request" },
	[19] = { name = "RTS", body = "send", size = 32, flags = 0x5c, payload = false, sort = "request" },
	[20] = { name = "ATOMIC", body = "atomic", size = 56, flags = 0x74, payload = true, sort = "request" },
	[21] = { name = "CONNECT", body = "cm", size = 16, flags = 0x00, payload = true, sort = "request" },
	[22] = { name = "ACCEPT", body = "cm", size = 16, flags = 0x00, payload = true, sort = "request" },
	[23] = { name = "REJECT", body = "cm", size = 16, flags = 0x00, payload = true, sort = "request" },
	[24] = { name = "TAKEN", body = "taken", size = 16, flags = 0x00, payload = false, sort = "request" },
	[25] = { name = "RSEND", body = "rsend", size = 32, flags = 0x87, payload = true, sort = "request" },
	[32] = { name = "DATA", body = "data", size = 32, flags = 0x12, payload = true, sort = "answer" },
	[33] = { name = "PULL", body = "pull", size = 32, flags = 0x00, payload = false, sort = "answer" },
	[34] = { name = "RNR", body = "rnr", size = 16, flags = 0x00, payload = false, sort = "answer" },
	[48] = { name = "NAK", body = "nak", size = 56, flags = 0x00, payload = false, sort = "verdict" },
	[49] = { name = "PARK", body = "verdict", size = 16, flags = 0x00, payload = false, sort = "verdict" },
	[50] = { name = "DONE", body = "verdict", size = 16, flags = 0x00, payload = false, sort = "verdict" },
	[51] = { name = "RESULT", body = "verdict", size = 16, flags = 0x00, payload = true, sort = "verdict" },
}

-- struct: member, offset, bytes, how it is shown. A member that no struct else has in another sense is emu.MEMBER in filters;
-- `abbr` names it where that would clash. `of` is the table of its values, `bits` that of its bits, `is` a struct.
names.structs = {}
names.structs.head = {
	{ "op", 0, 1, "dec", label = "Op", of = "op" },
	{ "flags", 1, 1, "hex", label = "Flags", bits = "flags" },
	{ "zero", 2, 2, "zero" },
	{ "payload", 4, 4, "dec", label = "Payload bytes" },
	{ "seq", 8, 8, "dec", label = "Sequence number" },
	{ "ack", 16, 8, "dec", label = "Acknowledges requests up to" },
	{ "digest", 24, 8, "hex", label = "Digest of head and body (XXH3-64, not checked)" },
}
names.structs.trailer = {
	{ "status", 0, 4, "dec", label = "Status of the payload", of = "status" },
	{ "zero", 4, 4, "zero" },
	{ "digest", 8, 8, "hex", label = "Digest of the payload (XXH3-64, not checked)", abbr = "trailer.digest" },
}
names.structs.hello = {
	{ "magic", 0, 8, "bytes", label = "Magic" },
	{ "version_min", 8, 2, "dec", label = "Lowest version" },
	{ "version_max", 10, 2, "dec", label = "Highest version" },
	{ "features", 12, 4, "hex", label = "Features", bits = "features" },
	{ "instance", 16, 16, "bytes", label = "Instance" },
	{ "expected", 32, 16, "bytes", label = "Instance expected" },
	{ "session", 48, 8, "hex", label = "Session" },
	{ "epoch", 56, 8, "dec", label = "Epoch (dials of this session)" },
	{ "seen", 64, 8, "dec", label = "Last request executed" },
	{ "verdict_seen", 72, 8, "dec", label = "Last verdict received" },
	{ "requests", 80, 4, "dec", label = "Grant: requests not acknowledged" },
	{ "reads", 84, 4, "dec", label = "Grant: reads not answered" },
	{ "segment", 88, 4, "dec", label = "Grant: payload bytes of a frame" },
	{ "family", 92, 2, "dec", label = "Address family" },
	{ "port", 94, 2, "dec", label = "Port advertised" },
	{ "addr", 96, 16, "bytes", label = "Address advertised", abbr = "hello.addr" },
	{ "scope", 112, 4, "dec", label = "IPv6 scope" },
	{ "known_port", 116, 2, "dec", label = "Port by which peers know the sender; version 2: two indices of queue pairs" },
	{ "zero", 118, 2, "zero" },
}
names.structs.bye = {
	{ "reason", 0, 4, "dec", label = "Reason", of = "reason" },
	{ "zero", 4, 4, "zero" },
	{ "text", 8, 120, "text", label = "Sentence" },
}
names.structs.ack = {
	{ "verdict", 0, 8, "dec", label = "Acknowledges verdicts up to", abbr = "verdict_ack" },
}
names.structs.challenge = {
	{ "nonce", 0, 32, "bytes", label = "Nonce" },
	{ "family", 32, 2, "dec", label = "Address family" },
	{ "port", 34, 2, "dec", label = "Port of the receiver", abbr = "challenge.port" },
	{ "addr", 36, 16, "bytes", label = "Address of the receiver", abbr = "challenge.addr" },
	{ "zero", 52, 4, "zero" },
}
names.structs.proof = {
	{ "proof", 0, 32, "bytes", label = "Proof (HMAC-SHA-512-256, not checked)" },
}
names.structs.pair = {
	{ "sq_psn", 0, 4, "hex", label = "Packet sequence number of its first request" },
	{ "rq_psn", 4, 4, "hex", label = "Packet sequence number that it expects" },
	{ "path_mtu", 8, 4, "dec", label = "Path MTU" },
	{ "zero", 12, 4, "zero" },
}
names.structs.target = {
	{ "key", 0, 8, "hex", label = "Key" },
	{ "key_tail", 8, 8, "hex", label = "Second half of a raw key" },
	{ "auth", 16, 8, "hex", label = "Authorization" },
	{ "addr", 24, 8, "hex", label = "Address" },
}
names.structs.write = {
	{ "to", 0, 32, "struct", is = "target" },
	{ "rest", 32, 8, "dec", label = "Bytes of the message from here on" },
	{ "cq_data", 40, 8, "hex", label = "CQ data" },
}
names.structs.read = {
	{ "from", 0, 32, "struct", is = "target" },
	{ "length", 32, 8, "dec", label = "Length" },
}
names.structs.send = {
	{ "length", 0, 8, "dec", label = "Length" },
	{ "tag", 8, 8, "hex", label = "Tag" },
	{ "cq_data", 16, 8, "hex", label = "CQ data" },
	{ "auth", 24, 8, "hex", label = "Authorization" },
}
names.structs.rsend = {
	{ "rest", 0, 8, "dec", label = "Bytes of the message from here on" },
	{ "cq_data", 8, 8, "hex", label = "CQ data, or the key that is invalidated" },
	{ "auth", 16, 8, "hex", label = "Authorization" },
	{ "invalidate", 24, 4, "dec", label = "Invalidates the region with that key" },
	{ "zero", 28, 4, "zero" },
}
names.structs.atomic = {
	{ "to", 0, 32, "struct", is = "target" },
	{ "length", 32, 8, "dec", label = "Length" },
	{ "cq_data", 40, 8, "hex", label = "CQ data" },
	{ "kind", 48, 1, "dec", label = "Kind", of = "kind", abbr = "atomic.kind" },
	{ "op", 49, 1, "dec", label = "Operation", of = "atomic", abbr = "atomic.op" },
	{ "type", 50, 1, "dec", label = "Datatype", of = "type", abbr = "atomic.type" },
	{ "zero", 51, 5, "zero" },
}
names.structs.cm = {
	{ "request", 0, 8, "hex", label = "Request for a connection" },
	{ "zero", 8, 8, "zero" },
}
names.structs.taken = {
	{ "ref", 0, 8, "dec", label = "About request" },
	{ "status", 8, 4, "dec", label = "Status", of = "status", abbr = "taken.status" },
	{ "zero", 12, 4, "zero" },
}
names.structs.data = {
	{ "ref", 0, 8, "dec", label = "About request" },
	{ "offset", 8, 8, "dec", label = "Offset" },
	{ "rest", 16, 8, "dec", label = "Bytes of the message from here on" },
	{ "zero", 24, 8, "zero" },
}
names.structs.pull = {
	{ "ref", 0, 8, "dec", label = "About request" },
	{ "offset", 8, 8, "dec", label = "Offset" },
	{ "length", 16, 8, "dec", label = "Length" },
	{ "zero", 24, 8, "zero" },
}
names.structs.rnr = {
	{ "ref", 0, 8, "dec", label = "About request" },
	{ "wait_us", 8, 4, "dec", label = "Try again after, in microseconds" },
	{ "zero", 12, 4, "zero" },
}
names.structs.nak = {
	{ "verdict", 0, 8, "dec", label = "Verdict number" },
	{ "ref", 8, 8, "dec", label = "About request" },
	{ "cause", 16, 4, "dec", label = "Cause", of = "cause" },
	{ "access", 20, 4, "hex", label = "Region", bits = "access" },
	{ "region", 24, 8, "dec", label = "Bytes of the region" },
	{ "excess", 32, 8, "dec", label = "Excess" },
	{ "age_ns", 40, 8, "dec", label = "Nanoseconds since the region was closed" },
	{ "zero", 48, 8, "zero" },
}
names.structs.verdict = {
	{ "verdict", 0, 8, "dec", label = "Verdict number" },
	{ "ref", 8, 8, "dec", label = "About request" },
}
names.structs.datagram = {
	{ "magic", 0, 8, "bytes", label = "Magic" },
	{ "version", 8, 2, "dec", label = "Version" },
	{ "flags", 10, 2, "hex", label = "Flags", bits = "datagram" },
	{ "family", 12, 2, "dec", label = "Address family" },
	{ "port", 14, 2, "dec", label = "Port of the sender" },
	{ "addr", 16, 16, "bytes", label = "Address of the sender" },
	{ "scope", 32, 4, "dec", label = "IPv6 scope" },
	{ "payload", 36, 4, "dec", label = "Payload bytes" },
	{ "cq_data", 40, 8, "hex", label = "CQ data" },
	{ "auth", 48, 8, "hex", label = "Authorization" },
	{ "digest", 56, 8, "hex", label = "Digest or tag (not checked)" },
}
names.structs.pair_datagram = {
	{ "dest_qpn", 0, 4, "hex", label = "QPN of the receiver" },
	{ "src_qpn", 4, 4, "hex", label = "QPN of the sender" },
	{ "qkey", 8, 4, "hex", label = "Q_Key" },
	{ "flow_label", 12, 4, "hex", label = "Flow label" },
	{ "traffic_class", 16, 1, "dec", label = "Traffic class" },
	{ "hop_limit", 17, 1, "dec", label = "Hop limit" },
	{ "sl", 18, 1, "dec", label = "Service level" },
	{ "zero", 19, 1, "zero" },
	{ "dgid", 20, 16, "gid", label = "GID of the receiver" },
}
names.structs.service = {
	{ "magic", 0, 8, "bytes", label = "Magic" },
	{ "version", 8, 2, "dec", label = "Version" },
	{ "kind", 10, 2, "dec", label = "Kind", of = "service_kind" },
	{ "port", 12, 2, "dec", label = "TCP port of the manager" },
	{ "zero", 14, 2, "zero" },
	{ "nonce", 16, 8, "hex", label = "Nonce" },
	{ "family", 24, 2, "dec", label = "Address family" },
	{ "service", 26, 2, "dec", label = "Number of rdma_cm" },
	{ "addr", 28, 16, "bytes", label = "Address" },
	{ "digest", 44, 8, "hex", label = "Digest (XXH3-64, not checked)" },
}
names.structs.rdma_address = {
	{ "family", 0, 2, "dec", label = "Address family", abbr = "rdma.family" },
	{ "port", 2, 2, "dec", label = "Number of rdma_cm", abbr = "rdma.port" },
	{ "addr", 4, 16, "bytes", label = "Address", abbr = "rdma.addr" },
}
names.structs.rdma_request = {
	{ "version", 0, 1, "dec", label = "Version", abbr = "rdma.version" },
	{ "kind", 1, 1, "dec", label = "Word", abbr = "rdma.kind", of = "rdma_kind" },
	{ "length", 2, 1, "dec", label = "Bytes of the program's", abbr = "rdma.length" },
	{ "qp_type", 3, 1, "dec", label = "Type of the queue pair", abbr = "rdma.qp_type" },
	{ "qpn", 4, 4, "hex", label = "QPN", abbr = "rdma.qpn" },
	{ "psn", 8, 4, "hex", label = "Packet sequence number of its first request", abbr = "rdma.psn" },
	{ "responder_resources", 12, 1, "dec", label = "Responder resources", abbr = "rdma.responder_resources" },
	{ "initiator_depth", 13, 1, "dec", label = "Initiator depth", abbr = "rdma.initiator_depth" },
	{ "flow_control", 14, 1, "dec", label = "Flow control", abbr = "rdma.flow_control" },
	{ "retry_count", 15, 1, "dec", label = "Retry count", abbr = "rdma.retry_count" },
	{ "rnr_retry_count", 16, 1, "dec", label = "RNR retry count", abbr = "rdma.rnr_retry_count" },
	{ "srq", 17, 1, "dec", label = "Shared receive queue", abbr = "rdma.srq" },
	{ "zero", 18, 2, "zero" },
	{ "ece_vendor", 20, 4, "hex", label = "ECE vendor", abbr = "rdma.ece_vendor" },
	{ "ece_options", 24, 4, "hex", label = "ECE options", abbr = "rdma.ece_options" },
	{ "from", 28, 20, "struct", is = "rdma_address" },
	{ "to", 48, 20, "struct", is = "rdma_address" },
}
names.structs.rdma_reply = {
	{ "version", 0, 1, "dec", label = "Version", abbr = "rdma.version" },
	{ "kind", 1, 1, "dec", label = "Word", abbr = "rdma.kind", of = "rdma_kind" },
	{ "length", 2, 1, "dec", label = "Bytes of the program's", abbr = "rdma.length" },
	{ "zero", 3, 1, "zero" },
	{ "qpn", 4, 4, "hex", label = "QPN", abbr = "rdma.qpn" },
	{ "psn", 8, 4, "hex", label = "Packet sequence number of its first request", abbr = "rdma.psn" },
	{ "responder_resources", 12, 1, "dec", label = "Responder resources", abbr = "rdma.responder_resources" },
	{ "initiator_depth", 13, 1, "dec", label = "Initiator depth", abbr = "rdma.initiator_depth" },
	{ "flow_control", 14, 1, "dec", label = "Flow control", abbr = "rdma.flow_control" },
	{ "rnr_retry_count", 15, 1, "dec", label = "RNR retry count", abbr = "rdma.rnr_retry_count" },
	{ "srq", 16, 1, "dec", label = "Shared receive queue", abbr = "rdma.srq" },
	{ "zeros", 17, 3, "zero" },
	{ "ece_vendor", 20, 4, "hex", label = "ECE vendor", abbr = "rdma.ece_vendor" },
	{ "ece_options", 24, 4, "hex", label = "ECE options", abbr = "rdma.ece_options" },
}
names.structs.rdma_lookup = {
	{ "version", 0, 1, "dec", label = "Version", abbr = "rdma.version" },
	{ "kind", 1, 1, "dec", label = "Word", abbr = "rdma.kind", of = "rdma_kind" },
	{ "length", 2, 1, "dec", label = "Bytes of the program's", abbr = "rdma.length" },
	{ "zero", 3, 1, "zero" },
	{ "space", 4, 2, "hex", label = "Port space", abbr = "rdma.space" },
	{ "zeros", 6, 2, "zero" },
	{ "from", 8, 20, "struct", is = "rdma_address" },
	{ "to", 28, 20, "struct", is = "rdma_address" },
}
names.structs.rdma_found = {
	{ "version", 0, 1, "dec", label = "Version", abbr = "rdma.version" },
	{ "kind", 1, 1, "dec", label = "Word", abbr = "rdma.kind", of = "rdma_kind" },
	{ "length", 2, 1, "dec", label = "Bytes of the program's", abbr = "rdma.length" },
	{ "status", 3, 1, "dec", label = "Status of a lookup", abbr = "rdma.status" },
	{ "qpn", 4, 4, "hex", label = "QPN", abbr = "rdma.qpn" },
	{ "qkey", 8, 4, "hex", label = "Q_Key", abbr = "rdma.qkey" },
}
names.structs.rdma_word = {
	{ "version", 0, 1, "dec", label = "Version", abbr = "rdma.version" },
	{ "kind", 1, 1, "dec", label = "Word", abbr = "rdma.kind", of = "rdma_kind" },
	{ "length", 2, 1, "dec", label = "Bytes of the program's", abbr = "rdma.length" },
	{ "zero", 3, 1, "zero" },
	{ "reason", 4, 4, "dec", label = "Reason of a rejection", abbr = "rdma.reason" },
}

-- Sets of bits.
names.bits = {}
names.bits.flags = {
	{ 0x01, "FIRST", "first segment of its message" },
	{ 0x02, "LAST", "last segment of its message" },
	{ 0x04, "CQ_DATA", "with CQ data" },
	{ 0x08, "TAGGED", "matched by a tag" },
	{ 0x10, "PULLED", "answers a PULL, in DATA" },
	{ 0x10, "SETTLES", "sees all that was written before, in a request" },
	{ 0x20, "COMMIT", "to be made durable" },
	{ 0x40, "COLLECTIVE", "of a collective, in SEND and RTS" },
	{ 0x40, "DELIVERED", "is done when its bytes can be seen, in WRITE and ATOMIC" },
	{ 0x80, "SOLICITED", "its completion is asked for" },
}
names.bits.features = {
	{ 0x1, "WANT_PAYLOAD_DIGEST", "asks for digests of all payloads" },
	{ 0x2, "OFFER_NO_DIGEST", "offers to go without digests of heads" },
	{ 0x4, "ASK_PROOF", "has a shared secret, and asks for its proof" },
	{ 0x8, "ASKS_ALONE", "is a question, and begins no session" },
	{ 0x10, "TAGGED_RMA", "takes WRITE and READ by tag" },
	{ 0x20, "TAKES_COLLECTIVES", "takes messages of collectives" },
	{ 0x40, "TRUNKS", "shares streams among connections" },
	{ 0x80, "NEVER_DIALS", "does not dial the receiver" },
	{ 0x100, "HEARS_WAITS", "hears of members that wait in collectives" },
	{ 0x200, "UNRELIABLE", "is a queue pair of type UC" },
	{ 0x400, "XRC_SEND", "is a queue pair of type XRC_SEND" },
	{ 0x800, "XRC_RECV", "is a queue pair of type XRC_RECV" },
	{ 0x1000, "NO_RAW", "its READs need not see its earlier writes" },
	{ 0x2000, "NO_WAW", "its writes need not be seen in their order" },
	{ 0x4000, "NO_SAW", "its messages need not come behind its writes" },
	{ 0x8000, "HOLDS", "executes writes before they are seen" },
	{ 0x10000, "NO_WAS", "its writes need not come behind its messages" },
	{ 0x20000, "NO_MIXED", "its atomics and its other accesses are in no order" },
	{ 0x40000, "NO_ATOMIC", "its atomics are in no order" },
	{ 0x80000, "TAKES_PARK", "its writes may be answered by PARK" },
}
names.bits.datagram = {
	{ 0x1, "CQ_DATA", "with CQ data" },
	{ 0x2, "WHOLE", "the digest covers the payload, too" },
	{ 0x4, "TAGGED", "the digest is a tag by a shared secret" },
	{ 0x8, "SOLICITED", "between queue pairs: its completion is asked for" },
}
names.bits.access = {
	{ 0x100, "READ", "allows READ" },
	{ 0x200, "WRITE", "allows WRITE" },
	{ 0x400, "RECV", "allows RECV" },
	{ 0x800, "SEND", "allows SEND" },
	{ 0x1000, "REMOTE_READ", "allows REMOTE_READ" },
	{ 0x2000, "REMOTE_WRITE", "allows REMOTE_WRITE" },
	{ 0x8000, "REMOTE_ATOMIC", "allows REMOTE_ATOMIC" },
	{ 0x10000, "VIRTUAL", "addressed by virtual address" },
	{ 0x20000, "BEFORE", "the excess is before the start" },
	{ 0x40000, "GAP", "the range lies between two segments of the region" },
	{ 0x80000, "INJECTED", "injected by a fault plan" },
	{ 0x100000, "TAGGED", "the key is a tag" },
	{ 0x200000, "WINDOW", "the region is a memory window" },
}

-- Values.
names.values = {}
names.values.status = {
	[0] = "good",
	[1] = "source fault",
	[2] = "cancelled",
}
names.values.reason = {
	[1] = "closed",
	[2] = "version",
	[3] = "instance",
	[4] = "protocol",
	[5] = "duplicate",
	[6] = "limit",
	[7] = "session",
	[8] = "secret",
	[9] = "claim",
	[10] = "unpaired",
}
names.values.service_kind = {
	[1] = "question",
	[2] = "answer",
}
names.values.rdma_kind = {
	[1] = "REQUEST",
	[2] = "REPLY",
	[3] = "REJECT",
	[4] = "READY",
	[5] = "LEAVE",
	[6] = "LOOKUP",
	[7] = "FOUND",
}
names.values.kind = {
	[0] = "plain",
	[1] = "fetch",
	[2] = "compare",
}
names.values.atomic = {
	[0] = "MIN",
	[1] = "MAX",
	[2] = "SUM",
	[3] = "PROD",
	[4] = "LOR",
	[5] = "LAND",
	[6] = "BOR",
	[7] = "BAND",
	[8] = "LXOR",
	[9] = "BXOR",
	[10] = "READ",
	[11] = "WRITE",
	[12] = "CSWAP",
	[13] = "CSWAP_NE",
	[14] = "CSWAP_LE",
	[15] = "CSWAP_LT",
	[16] = "CSWAP_GE",
	[17] = "CSWAP_GT",
	[18] = "MSWAP",
	[19] = "DIFF",
}
names.values.type = {
	[0] = "int8",
	[1] = "uint8",
	[2] = "int16",
	[3] = "uint16",
	[4] = "int32",
	[5] = "uint32",
	[6] = "int64",
	[7] = "uint64",
	[8] = "float",
	[9] = "double",
	[10] = "float complex",
	[11] = "double complex",
	[12] = "long double",
	[13] = "long double complex",
	[14] = "int128",
	[15] = "uint128",
	[16] = "float16",
	[17] = "bfloat16",
	[18] = "float8 e4m3",
	[19] = "float8 e5m2",
}
names.values.cause = {
	[1] = "unknown-key",
	[2] = "closed",
	[3] = "right",
	[4] = "range",
	[5] = "wrap",
	[6] = "not-backed",
	[7] = "disabled",
	[8] = "other-endpoint",
	[9] = "auth",
	[10] = "spent",
	[11] = "refreshing",
	[12] = "page-unknown",
	[13] = "resource",
	[14] = "capability",
	[15] = "not-persistent",
	[16] = "not-flushed",
	[17] = "registering",
	[18] = "atomic",
	[19] = "receive-buffer",
	[20] = "receive-range",
	[21] = "message-long",
	[22] = "misaligned",
	[23] = "invalidated",
	[24] = "no-region",
	[25] = "no-reads",
	[26] = "no-srq",
}
names.values.op = {}
for number, op in pairs(names.ops) do
	names.values.op[number] = op.name
end

-- What the causes mean, in the words of WIRE-48.
names.cause_words = {
	[1] = "unknown key",
	[2] = "the region was closed; of a message: one that its receive names, before it had completed",
	[3] = "the region does not allow this access",
	[4] = "the range is not inside the region",
	[5] = "the range wraps around the end of the address space",
	[6] = "the memory is not backed",
	[7] = "the region is not enabled yet",
	[8] = "the region is not bound to this endpoint",
	[9] = "the authorization key differs",
	[10] = "the key was good for one use and is spent",
	[11] = "the region is being refreshed",
	[12] = "a page of the range is not known to the target's NIC",
	[13] = "the target lacks the resources to take it",
	[14] = "the target endpoint does not have the capability",
	[15] = "the region is not persistent memory, and COMMIT was asked",
	[16] = "the bytes are in their place, but could not be made durable",
	[17] = "the registration of the region is not complete",
	[18] = "the target does not have this atomic operation on this type",
	[19] = "the buffer of the receive that took the message cannot be written; " ..
		"of the receive that a tag found, it is not there any more",
	[20] = "past the end of the receive that the tag found (WIRE-85)",
	[21] = "the message is longer than the receive that it took (WIRE-147)",
	[22] = "the address of the atomic is no multiple of its element's size",
	[23] = "the region was invalidated",
	[24] = "no region is open under the key that the message was to invalidate (WIRE-148)",
	[25] = "the target endpoint takes no READ and no ATOMIC",
	[26] = "no shared receive context has the number that the request names (WIRE-165)",
}

-- Words of rdma_cm: the struct of the head, the most bytes of the program's (WIRE-182).
names.rdma_words = {
	REQUEST = { head = "rdma_request", size = 68, room = 56 },
	REPLY = { head = "rdma_reply", size = 28, room = 196 },
	REJECT = { head = "rdma_word", size = 8, room = 148 },
	READY = { head = "rdma_word", size = 8, room = 0 },
	LEAVE = { head = "rdma_word", size = 8, room = 0 },
	LOOKUP = { head = "rdma_lookup", size = 48, room = 180 },
	FOUND = { head = "rdma_found", size = 12, room = 136 },
}

-- What may be wrong with a frame, in the words of wire/check.c.
names.flaws = {
	OP = "unknown op (WIRE-3)",
	NOT_HELLO = "first frame is neither HELLO nor BYE: not an emu peer? (WIRE-20)",
	SECOND_HELLO = "second HELLO on a connection (WIRE-20)",
	PROOF = "CHALLENGE or PROOF where no secret is to be proved (WIRE-101)",
	FLAGS = "flag that the op does not have (WIRE-4)",
	ZERO = "reserved field is not zero (WIRE-5)",
	PAYLOAD = "payload on an op that carries none (WIRE-6)",
	PAYLOAD_LONG = "payload longer than the segment granted (WIRE-7)",
	SEQ_MISSING = "request without sequence number (WIRE-8)",
	SEQ = "sequence number on a frame that is no request (WIRE-8)",
	HELLO_ACK = "HELLO, CHALLENGE or PROOF carries an acknowledgement (WIRE-27)",
	MAGIC = "HELLO without the magic bytes: not an emu peer? (WIRE-21)",
	VERSION_RANGE = "HELLO's version range is empty (WIRE-22)",
	VERSION = "no wire version in common (WIRE-22)",
	INSTANCE = "HELLO's instance id is zero (WIRE-23)",
	SESSION = "HELLO's session id or epoch is zero (WIRE-24)",
	GRANT = "HELLO grants no requests or no reads (WIRE-25)",
	SEGMENT = "HELLO grants a segment out of bounds (WIRE-25)",
	ADDRESS = "address in HELLO or CHALLENGE is malformed (WIRE-26, WIRE-105)",
	BYE = "BYE's reason is unknown or its text malformed (WIRE-40)",
	REST = "rest is less than the payload (WIRE-41)",
	LAST = "LAST flag and rest disagree (WIRE-41)",
	EMPTY = "empty segment that is not a whole message (WIRE-41)",
	CQ_DATA = "CQ data without its flag (WIRE-42)",
	TAG = "tag without its flag (WIRE-43)",
	COLLECTIVE = "COLLECTIVE beside another flag; an abort or a wait with a payload (WIRE-120, WIRE-122, WIRE-124)",
	LENGTH = "SEND's length is not that of its payload (WIRE-44)",
	INVALIDATE = "RSEND that invalidates and has CQ data, or an unknown sort (WIRE-146)",
	SOLICITED = "WRITE with SOLICITED and without CQ data (WIRE-42)",
	REF = "answer to request zero, or TAKEN of no earlier one (WIRE-45, WIRE-88)",
	VERDICT = "verdict number is zero (WIRE-46)",
	CAUSE = "NAK without a cause (WIRE-48)",
	ATOMIC = "ATOMIC of unknown kind, op or type, or with a wrong length or payload (WIRE-75)",
	RESULT = "RESULT without payload (WIRE-76)",
	PAIR = "PAIR with a packet sequence number of more than 24 bits, or without a path MTU (WIRE-141)",
	CM = "CONNECT, ACCEPT or REJECT that names no request, or with too much data (WIRE-80)",
	STATUS = "trailer status is unknown (WIRE-10)",
}

-- Likewise of a datagram, in the words of wire/datagram.c.
names.datagram_flaws = {
	SHORT = "shorter than a datagram's head (WIRE-90)",
	VERSION = "of another version (WIRE-91)",
	FLAGS = "unknown flags, or flags that exclude each other (WIRE-92)",
	LENGTH = "payload is not the bytes behind the head, or past the MTU (WIRE-90)",
	ADDRESS = "the sender's address is malformed (WIRE-93)",
	CQ_DATA_FLAG = "CQ data without its flag (WIRE-92)",
	PAIR = "a queue pair's number or a fact of its GRH is out of range (WIRE-151)",
}

return names
