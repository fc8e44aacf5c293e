-- SPDX-License-Identifier: BSD-2-Clause
-- emu_check.lua - what is wrong with a frame by itself, as wire/check.c, codec.c, greeting.c and datagram.c decide it.
--
-- Each function returns a key of names.flaws, or nil. Nothing of Wireshark's is called but the ranges that are passed in. Numbers
-- of 64 bits are floats here, exact up to 2^53: comparisons with what a frame can hold stay right.
return function(names)
	local check = {}

	-- True if the bits of `mask`, a power of two, are set in `value`. Not every Lua has operators for bits.
	function check.has(value, mask)
		return math.floor(value / mask) % 2 == 1
	end
	local has = check.has

	function check.u64(range)
		return range(0, 4):uint() * 4294967296.0 + range(4, 4):uint()
	end

	-- Offset and bytes of a struct's member.
	local places = {}
	for struct, rows in pairs(names.structs) do
		places[struct] = {}
		for _, row in ipairs(rows) do
			places[struct][row[1]] = row
		end
	end

	-- The number in a member of the struct that begins at `range`'s start.
	function check.get(range, struct, member)
		local row = places[struct][member]
		local field = range(row[2], row[3])
		if row[3] == 8 then
			return check.u64(field)
		end
		return field:uint()
	end
	local get = check.get

	function check.part(range, struct, member)
		local row = places[struct][member]
		return range(row[2], row[3])
	end

	function check.all_zero(range)
		for i = 0, range:len() - 1 do
			if range(i, 1):uint() ~= 0 then
				return false
			end
		end
		return true
	end
	local all_zero = check.all_zero

	local function zero(range, struct)
		return all_zero(check.part(range, struct, "zero"))
	end

	-- Any bit of `flags` that is not in `allowed`. Both have 8 bits.
	local function others(flags, allowed)
		for bit = 0, 7 do
			if has(flags, 2 ^ bit) and not has(allowed, 2 ^ bit) then
				return true
			end
		end
		return false
	end

	function check.head(range, segment_max)
		local op = names.ops[get(range, "head", "op")]
		local payload = get(range, "head", "payload")
		local seq = get(range, "head", "seq") ~= 0
		if not op then
			return "OP"
		elseif others(get(range, "head", "flags"), op.flags) then
			return "FLAGS"
		elseif not zero(range, "head") then
			return "ZERO"
		elseif payload > 0 and not op.payload then
			return "PAYLOAD"
		elseif payload > segment_max then
			return "PAYLOAD_LONG"
		elseif seq ~= (op.sort == "request") then
			return seq and "SEQ" or "SEQ_MISSING"
		elseif op.sort == "greeting" and get(range, "head", "ack") ~= 0 then
			return "HELLO_ACK"
		end
		return nil
	end

	function check.address(family, port, addr, scope)
		if port == 0 then
			return false
		end
		return family == 6 or (family == 4 and scope == 0 and all_zero(addr(4, 12)))
	end

	local bodies = {}

	-- Magic and versions: all that is known of a HELLO of another version.
	function check.greeting(body)
		local low, high = get(body, "hello", "version_min"), get(body, "hello", "version_max")
		if tostring(check.part(body, "hello", "magic"):bytes()):lower() ~= names.MAGIC then
			return "MAGIC"
		elseif low == 0 or low > high then
			return "VERSION_RANGE"
		elseif low > names.VERSION then
			return "VERSION"
		end
		return nil
	end

	function bodies.hello(body)
		local segment = get(body, "hello", "segment")
		local flaw = check.greeting(body)
		if flaw then
			return flaw
		elseif all_zero(check.part(body, "hello", "instance")) then
			return "INSTANCE"
		elseif get(body, "hello", "session") == 0 or get(body, "hello", "epoch") == 0 then
			return "SESSION"
		elseif get(body, "hello", "requests") == 0 or get(body, "hello", "reads") == 0 then
			return "GRANT"
		elseif segment < names.SEGMENT_MIN or segment > names.SEGMENT_MAX then
			return "SEGMENT"
		elseif not zero(body, "hello") then
			return "ZERO"
		elseif not check.address(get(body, "hello", "family"), get(body, "hello", "port"),
			check.part(body, "hello", "addr"), get(body, "hello", "scope")) then
			return "ADDRESS"
		end
		return nil
	end

	function bodies.pair(body)
		if not zero(body, "pair") then
			return "ZERO"
		elseif get(body, "pair", "sq_psn") > 0x1000000 or get(body, "pair", "rq_psn") > 0xffffff or
			get(body, "pair", "path_mtu") == 0 then
			return "PAIR"
		end
		return nil
	end

	function bodies.challenge(body)
		if not zero(body, "challenge") then
			return "ZERO"
		elseif not check.address(get(body, "challenge", "family"), get(body, "challenge", "port"),
			check.part(body, "challenge", "addr"), 0) then
			return "ADDRESS"
		end
		return nil
	end

	-- BYE's sentence up to the padding, and whether it is printable and padded with zeros.
	function check.sentence(range)
		local text, ended, good = "", false, true
		for i = 0, range:len() - 1 do
			local byte = range(i, 1):uint()
			if byte == 0 then
				ended = true
			elseif ended or byte < 0x20 or byte > 0x7e then
				good = false
				ended = true
			else
				text = text .. string.char(byte)
			end
		end
		return text, good
	end

	function bodies.bye(body)
		local _, good = check.sentence(check.part(body, "bye", "text"))
		if not zero(body, "bye") then
			return "ZERO"
		elseif not names.values.reason[get(body, "bye", "reason")] or not good then
			return "BYE"
		end
		return nil
	end

	local function segment(head, rest, whole)
		if rest < head.payload then
			return "REST"
		elseif (rest == head.payload) ~= has(head.flags, 0x02) then
			return "LAST"
		elseif head.payload == 0 and not whole then
			return "EMPTY"
		end
		return nil
	end

	function bodies.write(body, head)
		if not has(head.flags, 0x04) and get(body, "write", "cq_data") ~= 0 then
			return "CQ_DATA"
		elseif has(head.flags, 0x80) and not has(head.flags, 0x04) then
			return "SOLICITED"
		end
		return segment(head, get(body, "write", "rest"), has(head.flags, 0x01) and has(head.flags, 0x02))
	end

	function bodies.rsend(body, head)
		local invalidate = get(body, "rsend", "invalidate")
		if not zero(body, "rsend") then
			return "ZERO"
		elseif invalidate > 1 or (invalidate == 1 and has(head.flags, 0x04)) then
			return "INVALIDATE"
		elseif invalidate == 0 and not has(head.flags, 0x04) and get(body, "rsend", "cq_data") ~= 0 then
			return "CQ_DATA"
		end
		return segment(head, get(body, "rsend", "rest"), has(head.flags, 0x01) and has(head.flags, 0x02))
	end

	function bodies.data(body, head)
		if not zero(body, "data") then
			return "ZERO"
		elseif get(body, "data", "ref") == 0 then
			return "REF"
		end
		return segment(head, get(body, "data", "rest"), has(head.flags, 0x02))
	end

	local function collective(body, head)
		local step = check.part(body, "send", "cq_data")(5, 3):uint()
		if head.flags ~= 0x40 then
			return "COLLECTIVE"
		elseif step >= 0xfffffe and (head.name ~= "SEND" or get(body, "send", "length") ~= 0 or head.payload ~= 0) then
			return "COLLECTIVE"
		end
		return nil
	end

	function bodies.send(body, head)
		if has(head.flags, 0x40) then
			local flaw = collective(body, head)
			if flaw then
				return flaw
			end
		elseif not has(head.flags, 0x04) and get(body, "send", "cq_data") ~= 0 then
			return "CQ_DATA"
		elseif not has(head.flags, 0x08) and get(body, "send", "tag") ~= 0 then
			return "TAG"
		end
		if head.name == "SEND" and get(body, "send", "length") ~= head.payload then
			return "LENGTH"
		end
		return nil
	end

	function bodies.atomic(body, head)
		local length, kind, op = get(body, "atomic", "length"), get(body, "atomic", "kind"), get(body, "atomic", "op")
		local payload = (op == 10 and 0 or length) + (kind == 2 and length or 0)
		if not zero(body, "atomic") then
			return "ZERO"
		elseif not has(head.flags, 0x04) and get(body, "atomic", "cq_data") ~= 0 then
			return "CQ_DATA"
		elseif not names.values.kind[kind] or not names.values.atomic[op] or
			not names.values.type[get(body, "atomic", "type")] then
			return "ATOMIC"
		elseif length == 0 or length > names.ATOMIC_MAX or head.payload ~= payload then
			return "ATOMIC"
		end
		return nil
	end

	function bodies.cm(body, head)
		if not zero(body, "cm") then
			return "ZERO"
		elseif get(body, "cm", "request") == 0 or head.payload > names.CM_DATA_MAX then
			return "CM"
		end
		return nil
	end

	function bodies.taken(body, head)
		local ref = get(body, "taken", "ref")
		if not zero(body, "taken") then
			return "ZERO"
		elseif ref == 0 or ref >= head.seq then
			return "REF"
		elseif not names.values.status[get(body, "taken", "status")] then
			return "STATUS"
		end
		return nil
	end

	function bodies.pull(body)
		if not zero(body, "pull") then
			return "ZERO"
		elseif get(body, "pull", "ref") == 0 then
			return "REF"
		end
		return nil
	end

	function bodies.rnr(body)
		if not zero(body, "rnr") then
			return "ZERO"
		elseif get(body, "rnr", "ref") == 0 then
			return "REF"
		end
		return nil
	end

	function bodies.nak(body)
		if not zero(body, "nak") then
			return "ZERO"
		elseif get(body, "nak", "cause") == 0 then
			return "CAUSE"
		end
		return bodies.verdict(body)
	end

	function bodies.verdict(body, head)
		if head and head.name == "RESULT" and head.payload == 0 then
			return "RESULT"
		elseif get(body, "verdict", "verdict") == 0 then
			return "VERDICT"
		elseif get(body, "verdict", "ref") == 0 then
			return "REF"
		end
		return nil
	end

	-- Of a body whose head was good.
	function check.body(body, head)
		local of = bodies[names.ops[head.op].body]
		return of and of(body, head)
	end

	function check.trailer(trailer)
		if not zero(trailer, "trailer") then
			return "ZERO"
		elseif not names.values.status[get(trailer, "trailer", "status")] then
			return "STATUS"
		end
		return nil
	end

	-- Is the datagram of a queue pair?
	function check.of_pair(range)
		return get(range, "datagram", "version") == names.PAIR_DATAGRAM_VERSION
	end

	-- What follows the head of a queue pair's datagram.
	function check.pair_datagram(range, more)
		local function member(name)
			return get(more, "pair_datagram", name)
		end
		if member("dest_qpn") > 0xffffff or math.floor(member("src_qpn") / 256) ~= get(range, "datagram", "port") or
			member("flow_label") > 0xfffff or member("sl") > 15 or not zero(more, "pair_datagram") or
			get(range, "datagram", "auth") ~= 0 or get(range, "datagram", "cq_data") > 0xffffffff then
			return "PAIR"
		end
		return nil
	end

	local RDMA = {
		qp_type = function(type) return type == names.RDMA_RC or type == names.RDMA_XRC_SEND end,
		qpn = function(qpn) return qpn <= 0xffffff end,
		psn = function(psn) return psn <= 0xffffff end,
		space = function(space) return space ~= 0 end,
		status = function(status) return status <= names.SIDR_MOST end,
		reason = function(reason, word) return reason <= 0xffff and (reason ~= 0) == (word == "REJECT") end,
	}

	-- Is a member of a word's head as it may be?
	local function rdma_member(range, row, word)
		if row[4] == "zero" then
			return all_zero(range)
		elseif row[4] == "struct" then
			return check.address(get(range, row.is, "family"), get(range, row.is, "port"),
				check.part(range, row.is, "addr"), 0)
		end
		return RDMA[row[1]] == nil or RDMA[row[1]](range:uint(), word)
	end

	-- Is the payload of that frame a word of rdma_cm? Its kind's name, else nil (WIRE-183).
	function check.rdma_word(range, frame)
		local kind = range:len() >= 8 and names.values.rdma_kind[get(range, "rdma_word", "kind")]
		local word = kind and names.rdma_words[kind]
		local length = word and get(range, "rdma_word", "length")
		if not word or frame ~= "CONNECT" or get(range, "rdma_word", "version") ~= names.RDMA_VERSION or
			length > word.room or range:len() ~= word.size + length then
			return nil
		end
		for _, row in ipairs(names.structs[word.head]) do
			if not rdma_member(range(row[2], row[3]), row, kind) then
				return nil
			end
		end
		local of = places[word.head]
		if of.from and get(check.part(range, word.head, "from"), "rdma_address", "family") ~=
			get(check.part(range, word.head, "to"), "rdma_address", "family") then
			return nil
		elseif of.status and get(range, word.head, "status") ~= 0 and not all_zero(range(of.qpn[2], 8)) then
			return nil
		end
		return kind
	end

	-- Of a question for a service, or an answer, of which there are `length` bytes: does its receiver take it? (WIRE-180)
	function check.service(range, length)
		local kind, port = get(range, "service", "kind"), get(range, "service", "port")
		return length == names.SERVICE and get(range, "service", "version") == names.SERVICE_VERSION and
			names.values.service_kind[kind] ~= nil and zero(range, "service") and
			check.address(get(range, "service", "family"), get(range, "service", "service"),
				check.part(range, "service", "addr"), 0) and
			get(range, "service", "nonce") ~= 0 and (kind == 2) == (port ~= 0)
	end

	-- Of a whole datagram, a key of names.datagram_flaws.
	function check.datagram(range, length)
		local flags, pair = get(range, "datagram", "flags"), check.of_pair(range)
		if get(range, "datagram", "version") ~= names.DATAGRAM_VERSION and not pair then
			return "VERSION"
		elseif pair and length < names.DATAGRAM + names.PAIR_DATAGRAM then
			return "SHORT"
		elseif flags > (pair and 15 or 7) or (has(flags, 2) and has(flags, 4)) then
			return "FLAGS"
		elseif get(range, "datagram", "payload") ~= length - names.DATAGRAM or length - names.DATAGRAM > names.MTU then
			return "LENGTH"
		elseif not check.address(get(range, "datagram", "family"), get(range, "datagram", "port"),
			check.part(range, "datagram", "addr"), get(range, "datagram", "scope")) then
			return "ADDRESS"
		elseif not has(flags, 1) and get(range, "datagram", "cq_data") ~= 0 then
			return "CQ_DATA_FLAG"
		end
		return nil
	end

	return check
end
