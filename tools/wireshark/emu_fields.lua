-- SPDX-License-Identifier: BSD-2-Clause
-- emu_fields.lua - the fields that filters know, made of the structs of emu_names.lua; the links between packets; expert infos.
return function(names, check)
	local fields = { stream = {}, datagram = {}, service = {}, expert = { stream = {}, datagram = {}, service = {} } }
	local by_abbr = {}
	local members = {} -- struct -> list of { row, field, bits }

	local MAKE = { [1] = ProtoField.uint8, [2] = ProtoField.uint16, [4] = ProtoField.uint32, [8] = ProtoField.uint64 }
	local MASK_BITS = { [1] = 8, [2] = 16, [4] = 32 }

	local function register(list, abbr, make, ...)
		if not by_abbr[abbr] then
			by_abbr[abbr] = make(abbr, ...)
			list[#list + 1] = by_abbr[abbr]
		end
		return by_abbr[abbr]
	end

	local function field_of(list, abbr, row)
		if row[4] == "zero" then
			return register(list, abbr, ProtoField.bytes, "Reserved")
		elseif row[4] == "bytes" then
			return register(list, abbr, ProtoField.bytes, row.label)
		elseif row[4] == "text" then
			return register(list, abbr, ProtoField.string, row.label)
		elseif row[4] == "gid" then
			return register(list, abbr, ProtoField.ipv6, row.label)
		end
		return register(list, abbr, MAKE[row[3]], row.label, row[4] == "hex" and base.HEX or base.DEC,
			row.of and names.values[row.of] or nil)
	end

	for struct, rows in pairs(names.structs) do
		local list, prefix = fields.stream, "emu."
		if struct == "datagram" or struct == "pair_datagram" then
			list, prefix = fields.datagram, "emudgram."
		elseif struct == "service" then
			list, prefix = fields.service, "emusrvc."
		end
		members[struct] = {}
		for _, row in ipairs(rows) do
			local member = { row = row, bits = {} }
			if row[4] ~= "struct" then
				local abbr = prefix .. (row[4] == "zero" and "reserved" or row.abbr or row[1])
				member.field = field_of(list, abbr, row)
				for _, bit in ipairs(row.bits and names.bits[row.bits] or {}) do
					local made = register(list, abbr .. "." .. bit[2]:lower(), ProtoField.bool, bit[3],
						MASK_BITS[row[3]], nil, bit[1])
					member.bits[#member.bits + 1] = made
				end
			end
			members[struct][#members[struct] + 1] = member
		end
	end

	-- Adds a struct's members to the tree, up to the one named `stop`.
	function fields.add(tree, struct, range, stop)
		for _, member in ipairs(members[struct]) do
			local row = member.row
			local part = range(row[2], row[3])
			if row[1] == stop then
				return
			elseif row[4] == "struct" then
				fields.add(tree, row.is, part)
			elseif row[4] ~= "zero" then
				local item
				if row[4] == "text" then
					item = tree:add(member.field, part, check.sentence(part))
				else
					item = tree:add(member.field, part)
				end
				for _, bit in ipairs(member.bits) do
					item:add(bit, part)
				end
			elseif not check.all_zero(part) then
				tree:add(member.field, part)
			end
		end
	end

	local function stream(abbr, make, ...)
		return register(fields.stream, "emu." .. abbr, make, ...)
	end
	local function framenum(abbr, label, kind)
		return stream(abbr, ProtoField.framenum, label, base.NONE, kind)
	end

	-- Places in the stream that are no field of a struct.
	fields.text = {
		head = stream("head", ProtoField.none, "Head"),
		trailer = stream("trailer", ProtoField.none, "Trailer"),
		payload = stream("data", ProtoField.bytes, "Payload"),
		unknown = stream("unknown", ProtoField.bytes, "Not understood"),
		channel = stream("channel", ProtoField.uint32, "Channel"),
		at = stream("at", ProtoField.string, "Endpoint"),
		index = stream("index", ProtoField.uint8, "Index of the sender's queue pair"),
		peer_index = stream("peer_index", ProtoField.uint8, "Index of the receiver's queue pair"),
		qpn = stream("qpn", ProtoField.uint24, "QPN of the sender", base.HEX),
		srq = stream("srq", ProtoField.uint64, "Number of the shared receive queue (XRC)"),
		invalidated = stream("invalidated", ProtoField.uint64, "Key of the region or window that is invalidated", base.HEX),
		rdma = stream("rdma", ProtoField.none, "Word of rdma_cm"),
		rdma_from = stream("rdma.from", ProtoField.string, "From"),
		rdma_to = stream("rdma.to", ProtoField.string, "To"),
		rdma_data = stream("rdma.data", ProtoField.bytes, "Private data"),
		dgram_payload = register(fields.datagram, "emudgram.data", ProtoField.bytes, "Payload"),
		dgram_at = register(fields.datagram, "emudgram.at", ProtoField.string, "Endpoint"),
	}

	fields.link = {
		request = framenum("request_in", "Request in", frametype.REQUEST),
		answered = framenum("answered_in", "Answered in", frametype.RESPONSE),
		acked = framenum("acked_in", "Acknowledged in", frametype.ACK),
		verdict_acked = framenum("verdict_acked_in", "Verdict acknowledged in", frametype.ACK),
		again = framenum("again", "First sent in", frametype.RETRANS_PREV),
		first = framenum("first_in", "First segment of the message in", frametype.NONE),
		rnr = framenum("rnr_in", "Receiver not ready in", frametype.RESPONSE),
		parked = framenum("parked_in", "Parked in", frametype.RESPONSE),
		pull = framenum("pull_in", "Pulled in", frametype.NONE),
		data = framenum("data_in", "First data in", frametype.RESPONSE),
		news = stream("acknowledges", ProtoField.string, "Acknowledges requests"),
		news_first = framenum("acknowledges_first", "First of these in", frametype.REQUEST),
		news_last = framenum("acknowledges_last", "Last of these in", frametype.REQUEST),
		time = stream("time", ProtoField.relative_time, "Time from the request"),
		ack_time = stream("ack_time", ProtoField.relative_time, "Time from the request to its acknowledgement"),
	}

	-- Parts of cq_data in a message of a collective (WIRE-120).
	local collective = {
		{ 0, 3, stream("collective.number", ProtoField.uint24, "Number of the collective", base.DEC) },
		{ 3, 2, stream("collective.signature", ProtoField.uint16, "Signature of the call", base.HEX) },
		{ 5, 3, stream("collective.step", ProtoField.uint24, "Step", base.DEC) },
	}
	function fields.add_collective(tree, body)
		local part = check.part(body, "send", "cq_data")
		for _, row in ipairs(collective) do
			tree:add(row[3], part(row[1], row[2]))
		end
	end

	-- In a HELLO of version 2, the two bytes of known_port are indices (WIRE-140), and the sender has a QPN.
	function fields.add_pair(tree, body, head)
		if head.version_min < 2 then
			return
		end
		local part = check.part(body, "hello", "known_port")
		tree:add(fields.text.index, part(0, 1)):set_generated()
		tree:add(fields.text.peer_index, part(1, 1)):set_generated()
		head.qpn = head.port * 256 + part(0, 1):uint()
		tree:add(fields.text.qpn, check.part(body, "hello", "port"), head.qpn):set_generated()
	end

	-- What `auth` is in a request of an XRC queue pair that asks: `hello` is its sender's (WIRE-164).
	local AUTH_AT = { RSEND = "rsend", WRITE = "target", READ = "target", ATOMIC = "target" }
	function fields.add_srq(tree, body, head, hello)
		if AUTH_AT[head.name] and hello and check.has(hello.features, 0x400) then
			tree:add(fields.text.srq, check.part(body, AUTH_AT[head.name], "auth")):set_generated()
			head.srq = head.auth
		end
	end

	local function warning(list, abbr, text, group, severity)
		local made = ProtoExpert.new(abbr, text, group, severity)
		list[#list + 1] = made
		return made
	end
	local group, severity, of_stream = expert.group, expert.severity, fields.expert.stream
	fields.expert.nak = warning(of_stream, "emu.refused", "Refused", group.RESPONSE_CODE, severity.WARN)
	fields.expert.protocol = warning(of_stream, "emu.protocol_error", "Protocol error", group.PROTOCOL, severity.ERROR)
	fields.expert.rnr = warning(of_stream, "emu.not_ready", "Receiver not ready", group.RESPONSE_CODE, severity.NOTE)
	fields.expert.bye = warning(of_stream, "emu.ended", "Connection ended", group.RESPONSE_CODE, severity.WARN)
	fields.expert.status = warning(of_stream, "emu.not_good", "Payload is not good", group.RESPONSE_CODE, severity.WARN)
	fields.expert.missing = warning(of_stream, "emu.missing", "Not in the capture", group.SEQUENCE, severity.NOTE)
	fields.expert.cut = warning(of_stream, "emu.cut_off", "Cut off", group.MALFORMED, severity.NOTE)
	fields.expert.dgram = warning(fields.expert.datagram, "emudgram.dropped", "Dropped by its receiver", group.PROTOCOL,
		severity.ERROR)
	fields.expert.service = warning(fields.expert.service, "emusrvc.dropped", "Dropped by its receiver", group.PROTOCOL,
		severity.ERROR)
	return fields
end
