-- SPDX-License-Identifier: BSD-2-Clause
-- emu.lua - Wireshark's dissector of emu's wire protocol: connections over TCP, and what goes over UDP (wire/PROTOCOL.md).
--
-- The other emu_*.lua of this folder are parts of it. Wireshark may load them by themselves, too, which does nothing.
if pcall(Dissector.get, "emu") and Dissector.get("emu") then
	return -- loaded already, from another folder
end

local here = __DIR__ or debug.getinfo(1, "S").source:gsub("^@", ""):match("^(.*)[/\\]") or "."
local function part(name)
	return assert(loadfile(here .. "/" .. name))()
end
local names = part("emu_names.lua")
local links = part("emu_links.lua")
local check = part("emu_check.lua")(names)
local fields = part("emu_fields.lua")(names, check)
local words = part("emu_words.lua")(names, check)
local rdma = part("emu_rdma.lua")(names, check, fields)
local get, has = check.get, check.has
local trunks = part("emu_trunks.lua")(has)
part("emu_datagrams.lua")(names, check, fields, words)
local expert = fields.expert

local emu = Proto("emu", "Emulated RDMA NIC")
emu.fields = fields.stream
emu.experts = expert.stream
emu.prefs.midstream = Pref.bool("Recognise connections whose beginning is not in the capture", false,
	"Take a segment of TCP for emu's if it begins with the head of a frame. Else such a connection is shown by Decode As.")

function emu.init()
	links.reset()
	trunks.reset()
end

-- ---- One frame --------------------------------------------------------------------------------------------------------------

local LINKED = { DATA = true, NAK = true, RESULT = true, DONE = true, PARK = true, RNR = true, PULL = true, TAKEN = true }
-- What each may be about (WIRE-45).
local ABOUT = {
	DATA = { READ = true, RTS = true, SEND = true },
	PULL = { RTS = true, SEND = true },
	PARK = { SEND = true },
	RESULT = { ATOMIC = true },
	DONE = { RTS = true, SEND = true, WRITE = true, ATOMIC = true },
	TAKEN = { READ = true },
}

-- Members of bodies that would take the place of what is known of the frame.
local KEPT_AS = { ["atomic.op"] = "atomic_op", ["taken.status"] = "taken" }

-- Head and body of a frame as a table, once both are there.
local function read_frame(range, head)
	local body = range(names.HEAD, head.size)
	local function read(struct, range_of)
		for _, row in ipairs(names.structs[struct]) do
			local member = row[1]
			if row[4] == "struct" then
				read(row.is, range_of(row[2], row[3]))
			elseif row[4] == "dec" or row[4] == "hex" then
				local key = KEPT_AS[struct .. "." .. member] or member
				head[key] = get(range_of, struct, member)
				head.hex[key] = words.hex(range_of(row[2], row[3]))
			end
		end
	end
	read(names.ops[head.op].body, body)
	return body
end

local function resolve(request, head, pinfo)
	if request and not request.answer then
		request.answer = { frame = pinfo.number, time = pinfo.rel_ts, name = head.name }
	end
end

-- The side whose numbering head.ref counts in: the receiver's, but the sender's own in DATA with PULLED and in TAKEN.
local function numbering(conn, head)
	if head.name == "TAKEN" or (head.name == "DATA" and has(head.flags, 0x10)) then
		return conn.own, conn.peer
	end
	return conn.peer, conn.own
end

-- The first pass: what is kept of an answer.
local function keep_answer(conn, head, pinfo)
	local side = numbering(conn, head)
	local request, first = links.find(side, head.ref, pinfo.number)
	if head.name == "RNR" then
		if request then
			request.rnr = request.rnr or pinfo.number
			links.dropped(side, head.ref)
		end
	elseif not request then
		return
	elseif head.name == "PARK" then
		first.parked = first.parked or pinfo.number
	elseif head.name == "PULL" then
		first.pull = first.pull or pinfo.number
	elseif head.name == "DATA" then
		first.data = first.data or pinfo.number
		if not has(head.flags, 0x10) and (has(head.flags, 0x02) or (head.status or 0) ~= 0) then
			resolve(first, head, pinfo)
		end
	elseif head.name ~= "TAKEN" then
		resolve(first, head, pinfo)
	end
end

-- The first pass: what is kept of a frame, and what is remarked about its place in the stream.
local function keep(conn, head, pinfo)
	local stream, from, key = conn.stream, conn.from, conn.frame
	local sort = names.ops[head.op].sort
	if stream.ended[from] then
		links.note(key, "frame behind BYE (WIRE-40)")
	elseif head.name == "HELLO" then
		if stream.hello[from] then
			links.note(key, names.flaws.SECOND_HELLO)
		else
			links.hello(stream, from, head.hello)
		end
	elseif not stream.hello[from] and stream.hello[conn.to] and head.name ~= "BYE" and head.name ~= "CHALLENGE" and
		not stream.begun[from] then
		links.note(key, names.flaws.NOT_HELLO)
	elseif (head.name == "CHALLENGE" or head.name == "PROOF") and stream.hello[from] and
		not has(stream.hello[from].features, 0x4) then
		links.note(key, names.flaws.PROOF)
	elseif sort ~= "greeting" and head.name ~= "BYE" and stream.hello[from] and not stream.hello[conn.to] then
		links.note(key, "frame before both HELLOs are through (WIRE-31), or the other HELLO is not in the capture")
	end
	stream.begun[from] = true
	if head.name == "BYE" then
		stream.ended[from] = true
	end
	conn.own, conn.peer = links.side(stream, from), links.side(stream, conn.to)
	if sort ~= "greeting" and head.ack > 0 then
		links.ack(conn.own, head.ack, pinfo.number, pinfo.rel_ts)
	end
	if head.name == "ACK" and head.verdict > 0 then
		links.verdict_ack(conn.own, head.verdict, pinfo.number, pinfo.rel_ts)
	end
	if sort == "request" then
		local request = { frame = pinfo.number, time = pinfo.rel_ts, op = head.name }
		if (head.name == "WRITE" or head.name == "RSEND") and not has(head.flags, 0x01) then
			local before = links.find(conn.own, head.seq - 1, pinfo.number)
			request.first = before and (before.first or before)
		end
		if links.request(conn.own, head.seq, request) then
			links.note(key .. "gap", "requests before this one are not in the capture, or were not sent (WIRE-55)")
		end
	end
	if LINKED[head.name] then
		keep_answer(conn, head, pinfo)
	end
end

local function time_between(tree, at, field, from, to)
	local seconds = math.floor(to - from)
	tree:add(field, at, NSTime.new(seconds, math.floor((to - from - seconds) * 1e9 + 0.5))):set_generated()
end

-- Links of a request: to its first segment, and to what answered and acknowledged it.
local function show_request(conn, head, pinfo, tree, at)
	local request, first = links.find(conn.own, head.seq, pinfo.number)
	if not request then
		return
	end
	local whole = request.first or first
	if first ~= request then
		tree:add(fields.link.again, at, first.frame):set_generated()
	end
	if request.first then
		tree:add(fields.link.first, at, request.first.frame):set_generated()
	end
	if request.rnr then
		tree:add(fields.link.rnr, at, request.rnr):set_generated()
	end
	for _, link in ipairs({ "parked", "pull", "data" }) do
		if whole[link] then
			tree:add(fields.link[link], at, whole[link]):set_generated()
		end
	end
	if whole.answer then
		tree:add(fields.link.answered, at, whole.answer.frame):set_generated()
		time_between(tree, at, fields.link.time, whole.time, whole.answer.time)
	end
	local acked = links.acked(conn.peer, head.seq)
	if acked and acked.frame >= request.frame and not request.dropped then
		tree:add(fields.link.acked, at, acked.frame):set_generated()
		time_between(tree, at, fields.link.ack_time, request.time, acked.time)
	end
end

-- Links of an answer to its request, and what is wrong with what it names.
local function show_answer(conn, head, pinfo, tree, at)
	local side, other = numbering(conn, head)
	local request, first = links.find(side, head.ref, pinfo.number)
	local about = ABOUT[head.name]
	if not request then
		if links.find(other, head.ref, pinfo.number) then
			tree:add_proto_expert_info(expert.protocol, string.format(
				"wrong direction: request %.0f was sent by the %s side (WIRE-45)", head.ref,
				side == conn.own and "other" or "same"))
		elseif side.top > 0 and head.ref > side.top then
			tree:add_proto_expert_info(expert.protocol,
				string.format("request %.0f was not sent yet (WIRE-59), or is not in the capture", head.ref))
		else
			tree:add_proto_expert_info(expert.missing, string.format("request %.0f is not in the capture", head.ref))
		end
		return
	end
	if about and not about[request.op] then
		tree:add_proto_expert_info(expert.protocol,
			string.format("%s about a %s (WIRE-45)", head.name, request.op))
	end
	head.about = request
	tree:add(fields.link.request, at, first.frame):set_generated()
	if head.name ~= "TAKEN" then
		time_between(tree, at, fields.link.time, first.time, pinfo.rel_ts)
	end
	if head.name == "DATA" and has(head.flags, 0x10) and first.pull then
		tree:add(fields.link.pull, at, first.pull):set_generated()
	end
end

local function show_acks(conn, head, pinfo, tree, at)
	local low, high = links.news(conn.own, head.ack, pinfo.number)
	if low then
		local first, last = links.find(conn.peer, low, pinfo.number), links.find(conn.peer, high, pinfo.number)
		tree:add(fields.link.news, at, string.format(low == high and "%.0f" or "%.0f to %.0f", low, high)):set_generated()
		if last then
			tree:add(fields.link.news_first, at, (first or last).frame):set_generated()
			tree:add(fields.link.news_last, at, last.frame):set_generated()
			time_between(tree, at, fields.link.ack_time, last.time, pinfo.rel_ts)
		end
	end
	if head.ack > conn.peer.top and conn.peer.top > 0 then
		tree:add_proto_expert_info(expert.missing,
			string.format("acknowledges request %.0f, which is not in the capture (WIRE-60)", head.ack))
	end
end

local function show_verdict(conn, head, pinfo, tree, at)
	local acked = links.verdict_acked(conn.peer, head.verdict)
	if acked and acked.frame >= pinfo.number then
		tree:add(fields.link.verdict_acked, at, acked.frame):set_generated()
	end
end

-- All that is said about a frame besides its fields. Returns its words for the column.
local function remark(conn, head, pinfo, tree, at)
	local sort = names.ops[head.op].sort
	if sort == "request" then
		show_request(conn, head, pinfo, tree, at)
	end
	if LINKED[head.name] then
		show_answer(conn, head, pinfo, tree, at)
	end
	if sort == "verdict" then
		show_verdict(conn, head, pinfo, tree, at)
	end
	if sort ~= "greeting" and head.ack > 0 then
		show_acks(conn, head, pinfo, tree, at)
	end
	if head.name == "NAK" then
		tree:add_proto_expert_info(expert.nak, words.nak(head))
	elseif head.name == "RNR" then
		tree:add_proto_expert_info(expert.rnr,
			string.format("receiver not ready: request %.0f and all behind it were dropped", head.ref))
	elseif head.name == "BYE" and head.reason ~= 1 then
		tree:add_proto_expert_info(expert.bye, words.bye(head))
	end
	for _, key in ipairs({ conn.frame, conn.frame .. "gap" }) do
		if links.noted(key) then
			tree:add_proto_expert_info(key == conn.frame and expert.protocol or expert.missing, links.noted(key))
		end
	end
end

local function show_trailer(range, tree, head)
	local flaw = check.trailer(range)
	local sub = tree:add(fields.text.trailer, range)
	fields.add(sub, "trailer", range)
	head.status = get(range, "trailer", "status")
	if flaw then
		sub:add_proto_expert_info(expert.protocol, names.flaws[flaw])
	elseif head.status ~= 0 then
		sub:add_proto_expert_info(expert.status, words.status(head.status))
	end
	return flaw
end

-- HELLO of a version that this file does not know: nothing behind features has a known place.
local function is_foreign(head, body)
	return head.name == "HELLO" and check.greeting(body) ~= nil
end

-- The body's fields, by its struct.
local function show_body(range, head, tree)
	local body = read_frame(range, head)
	local struct = names.ops[head.op].body
	if is_foreign(head, body) then
		fields.add(tree, "hello", body, "instance")
		return body
	end
	fields.add(tree, struct, body)
	words.addresses(fields, tree, struct, body, head)
	if struct == "send" and has(head.flags, 0x40) then
		fields.add_collective(tree, body)
	elseif struct == "rsend" and head.invalidate == 1 then
		tree:add(fields.text.invalidated, check.part(body, "rsend", "cq_data")):set_generated()
	end
	if head.name == "HELLO" then
		fields.add_pair(tree, body, head)
		head.hello = { instance = tostring(check.part(body, "hello", "instance"):bytes()),
			session = head.hex.session, epoch = head.epoch, features = head.features,
			segment = head.segment }
	elseif head.name == "BYE" then
		head.sentence = check.sentence(check.part(body, "bye", "text"))
	end
	return body
end

-- Dissects the frame that is all or part of `range`. Returns its words, and true if what follows cannot be understood.
local function dissect_frame(range, head, pinfo, tree, conn)
	local length, have = head.whole, range:len()
	local sub = tree:add(emu, range, "emu " .. head.name)
	local top = sub:add(fields.text.head, range(0, names.HEAD))
	fields.add(top, "head", range)
	local behind = names.HEAD + head.size
	if have < behind then
		sub:add_proto_expert_info(expert.cut, "the frame is cut off in the capture")
		return head.name .. " (cut off)", false
	end
	local body = show_body(range, head, sub)
	local flaw = check.body(body, head)
	if head.payload > 0 and have > behind then
		local bytes = math.min(have - behind, head.payload)
		head.word = rdma.add_word(range(behind, bytes), head, sub)
		if not head.word then
			sub:add(fields.text.payload, range(behind, bytes))
		end
	end
	if head.payload > 0 and have == length then
		flaw = flaw or show_trailer(range(length - names.TRAILER, names.TRAILER), sub, head)
	end
	fields.add_srq(sub, body, head, conn.stream.hello[conn.from])
	local text = is_foreign(head, body) and "HELLO of another version" or words.frame(head)
	local broken = flaw ~= nil
	if broken then
		sub:add_proto_expert_info(expert.protocol, names.flaws[flaw])
		text = text .. " [" .. names.flaws[flaw] .. "]"
	else
		if not pinfo.visited then
			if head.name == "HELLO" and links.is_new(conn.stream, conn.from, head.hello) then
				conn.stream = links.renew(conn.key, pinfo.number)
			end
			keep(conn, head, pinfo)
		end
		conn.own, conn.peer = links.side(conn.stream, conn.from), links.side(conn.stream, conn.to)
		local segment = conn.stream.hello[conn.to] and conn.stream.hello[conn.to].segment
		if segment and head.payload > segment then
			sub:add_proto_expert_info(expert.protocol, names.flaws.PAYLOAD_LONG)
		end
		remark(conn, head, pinfo, sub, range(0, 0))
	end
	if have < length then
		sub:add_proto_expert_info(expert.cut, "the frame is cut off in the capture")
	end
	sub:set_text("emu " .. text)
	return text, broken
end

-- ---- A stream of frames -----------------------------------------------------------------------------------------------------

local function say(pinfo, text)
	if pinfo.private["emu_said"] then
		pinfo.cols.info:append("; " .. text)
	else
		pinfo.cols.protocol = "EMU"
		pinfo.cols.info:clear()
		pinfo.cols.info:append(text)
		pinfo.private["emu_said"] = "1"
	end
end

local function connection(pinfo)
	local from = tostring(pinfo.src) .. " " .. pinfo.src_port
	local to = tostring(pinfo.dst) .. " " .. pinfo.dst_port
	local key = from < to and from .. "," .. to or to .. "," .. from
	local stream = links.stream(key, pinfo.number, pinfo.visited)
	return { stream = stream, from = from, to = to, key = key }
end

-- What is wrong with the head at `offset`, of which `have` bytes are there: the op is known by the first.
local function head_flaw(tvb, offset, have)
	if not names.ops[tvb(offset, 1):uint()] then
		return "OP"
	end
	return have >= names.HEAD and check.head(tvb(offset, names.HEAD), names.SEGMENT_MAX) or nil
end

local function read_head(range)
	local op = get(range, "head", "op")
	local head = { op = op, name = names.ops[op].name, size = names.ops[op].size, flags = get(range, "head", "flags"),
		payload = get(range, "head", "payload"), seq = get(range, "head", "seq"), ack = get(range, "head", "ack"),
		hex = {} }
	head.whole = names.HEAD + head.size + (head.payload > 0 and head.payload + names.TRAILER or 0)
	return head
end

-- Bytes that are no frame: the rest of the segment. `flaw`: what is wrong with the head that they begin with.
local function not_understood(tvb, offset, pinfo, tree, flaw)
	local sub = tree:add(emu, tvb(offset), "emu, not understood")
	sub:add(fields.text.unknown, tvb(offset))
	if flaw then
		sub:add_proto_expert_info(expert.protocol, names.flaws[flaw])
		say(pinfo, "[" .. names.flaws[flaw] .. "]")
	else
		sub:add_proto_expert_info(expert.missing, "no beginning of a frame: behind an error, or of one that is missing")
		say(pinfo, "not understood")
	end
end

-- True if a stream that has lost its place may find it again here.
local function resumes(tvb, offset)
	return tvb:len() - offset >= names.HEAD and head_flaw(tvb, offset, names.HEAD) == nil
end

-- Is more of the stream to come, and worth asking for: `missing` bytes, or nil: some?
local function ask(tvb, offset, pinfo, missing)
	if tvb:reported_len() ~= tvb:len() or pinfo.can_desegment == 0 then
		return false
	end
	pinfo.desegment_offset = offset
	pinfo.desegment_len = missing or DESEGMENT_ONE_MORE_SEGMENT
	return true
end

-- One frame, of bytes up to `total`. Returns where the next one begins, or nil: no more can be made of these bytes. `asks`: they
-- end where the segment does.
local function dissect_next(tvb, offset, total, pinfo, tree, conn, asks)
	local have = total - offset
	local flaw = head_flaw(tvb, offset, have)
	local head = not flaw and have >= names.HEAD and read_head(tvb(offset, names.HEAD)) or nil
	if flaw then
		not_understood(tvb(offset, have), 0, pinfo, tree, flaw)
		conn.stream.lost[conn.from] = true
		return nil
	end
	if (not head or have < head.whole) and asks and ask(tvb, offset, pinfo, head and head.whole - have) then
		return nil
	end
	conn.stream.lost[conn.from] = not asks and (not head or have < head.whole) or nil
	if not head then
		local sub = tree:add(emu, tvb(offset, have), "emu, cut off")
		sub:add_proto_expert_info(expert.cut, "the frame is cut off in the capture")
		say(pinfo, "cut off")
		return nil
	end
	conn.frame = table.concat({ pinfo.number, head.op, head.seq, head.ack, offset }, " ")
	local text, broken = dissect_frame(tvb(offset, math.min(head.whole, have)), head, pinfo, tree, conn)
	say(pinfo, text)
	offset = offset + head.whole
	if broken then
		conn.stream.lost[conn.from] = true
		if offset < total then
			not_understood(tvb(offset, total - offset), 0, pinfo, tree, nil)
		end
		return nil
	end
	return offset
end

-- True if the sender's place among frames is lost, and is not found again at `offset`.
local function is_lost(tvb, offset, pinfo, conn)
	local lost = table.concat({ "lost", pinfo.number, tvb:len(), tostring(tvb:offset()), offset }, " ")
	if not pinfo.visited and conn.stream.lost[conn.from] then
		links.note(lost, true)
	end
	if links.noted(lost) and not resumes(tvb, offset) then
		return true
	end
	conn.stream.lost[conn.from] = nil
	return false
end

-- Frames until the end of the segment. Asks for more of the stream if a frame is not whole.
local function dissect_stream(tvb, pinfo, tree)
	local conn = connection(pinfo)
	local total, offset = tvb:len(), 0
	if trunks.sort(conn, tvb, 0, pinfo) ~= "chunk" and is_lost(tvb, 0, pinfo, conn) then
		not_understood(tvb, 0, pinfo, tree, nil)
		return total
	end
	while offset and offset < total do
		local sort = trunks.sort(conn, tvb, offset, pinfo)
		if sort == "chunk" then
			offset = trunks.dissect_chunk(tvb, offset, total, pinfo, tree, conn)
		elseif sort == "join" and total - offset >= trunks.JOIN then
			local text = trunks.join(conn, tvb, offset, pinfo)
			tree:add(emu, tvb(offset, trunks.JOIN), "emu " .. text)
			say(pinfo, text)
			offset = offset + trunks.JOIN
		else
			offset = dissect_next(tvb, offset, total, pinfo, tree, conn, true)
		end
	end
	return total
end

trunks.proto, trunks.fields, trunks.say, trunks.ask = emu, fields, say, ask
trunks.is_lost, trunks.not_understood, trunks.dissect_next = is_lost, not_understood, dissect_next

function emu.dissector(tvb, pinfo, tree)
	return dissect_stream(tvb, pinfo, tree)
end

-- The beginning of a HELLO: op 1, and zeros up to the end of ack; magic, if that far is there. Fewer than 8 bytes say too little.
local function may_greet(tvb)
	local have = tvb:len()
	if have < 8 or tvb(0, 1):uint() ~= 1 or not check.all_zero(tvb(1, math.min(have, 24) - 1)) then
		return false
	end
	local magic = math.min(math.max(have - names.HEAD, 0), 8)
	return magic == 0 or
		tostring(tvb(names.HEAD, magic):bytes()):lower() == names.MAGIC:sub(1, 2 * magic)
end

local function recognise(tvb, pinfo, tree)
	if may_greet(tvb) then
		if tvb:len() >= names.HEAD + 8 then
			pinfo.conversation = emu
		elseif pinfo.can_desegment == 0 then
			return false
		end
	elseif emu.prefs.midstream and resumes(tvb, 0) then
		pinfo.conversation = emu
	else
		return false
	end
	dissect_stream(tvb, pinfo, tree)
	return true
end

emu:register_heuristic("tcp", recognise)
DissectorTable.get("tcp.port"):add_for_decode_as(emu)
