-- SPDX-License-Identifier: BSD-2-Clause
-- emu_words.lua - frames in words, for the column Info and for expert infos.
return function(names, check)
	local words = {}
	local get, has = check.get, check.has

	-- A range's bytes as a number in hex, without leading zeros.
	function words.hex(range)
		local digits = tostring(range:bytes()):lower():gsub("^0+", "")
		return "0x" .. (digits == "" and "0" or digits)
	end

	-- The address that a struct holds, as host:port. Adds it to the tree if one is there, and returns it.
	function words.addresses(fields, tree, struct, body, head)
		if struct ~= "hello" and struct ~= "challenge" and struct ~= "datagram" then
			return ""
		end
		local addr, port = check.part(body, struct, "addr"), get(body, struct, "port")
		local text
		if get(body, struct, "family") == 6 then
			local scope = struct ~= "challenge" and get(body, struct, "scope") or 0
			local zone = scope > 0 and string.format("%%%.0f", scope) or ""
			text = string.format("[%s%s]:%.0f", tostring(addr:ipv6()), zone, port)
		else
			text = string.format("%s:%.0f", tostring(addr(0, 4):ipv4()), port)
		end
		tree:add(struct == "datagram" and fields.text.dgram_at or fields.text.at, addr, text):set_generated()
		head.at = text
		return text
	end

	function words.status(status)
		if status == 1 then
			return "source fault: the sender cannot read the rest of its source"
		end
		return "cancelled: the operation ended before all of its bytes were sent"
	end

	function words.bye(head)
		return string.format("%s%s", names.values.reason[head.reason] or "unknown reason",
			head.sentence ~= "" and ": " .. head.sentence or "")
	end

	local function age(ns)
		if ns < 1e6 then
			return string.format("%.0f us", ns / 1e3)
		elseif ns < 1e9 then
			return string.format("%.1f ms", ns / 1e6)
		end
		return string.format("%.1f s", ns / 1e9)
	end

	local function rights(access)
		local list = {}
		for _, bit in ipairs(names.bits.access) do
			if bit[1] < 0x10000 and has(access, bit[1]) then
				list[#list + 1] = bit[2]
			end
		end
		return #list > 0 and table.concat(list, ", ") or "nothing"
	end

	local function injected(head)
		return has(head.access, 0x80000)
	end

	-- What a NAK says besides its cause.
	local function detail(head)
		if injected(head) then
			return ", injected by a fault plan"
		elseif head.cause == 2 and head.age_ns > 0 then
			return string.format(", %s ago", age(head.age_ns))
		elseif head.cause == 3 then
			return ", it allows " .. rights(head.access) .. (rights(head.access) ~= "nothing" and " only" or "")
		elseif head.cause == 4 and has(head.access, 0x40000) then
			return string.format(": it lies between the segments of a %.0f B region", head.region)
		elseif head.cause == 4 then
			return string.format(": %.0f B %s a %.0f B region", head.excess,
				has(head.access, 0x20000) and "before the start of" or "past the end of", head.region)
		elseif head.cause == 16 then
			return string.format(" (errno %.0f)", head.excess)
		elseif head.cause == 20 then
			return string.format(": it has %.0f B", head.region)
		end
		return ""
	end

	-- The sentence of a NAK, for its expert info.
	function words.nak(head)
		local cause = names.cause_words[head.cause] or
			string.format("a cause that this dissector does not know (%.0f)", head.cause)
		local op = head.about and head.about.op or "request"
		return string.format("%s %.0f was refused: %s%s", op, head.ref, cause, detail(head))
	end

	-- The other flags follow from the rest of the words.
	local LOUD = { CQ_DATA = true, COMMIT = true, TAGGED = true, SOLICITED = true }
	local function is_shown(head, name)
		if name == "PULLED" or name == "SETTLES" then
			return (name == "PULLED") == (head.name == "DATA")
		elseif name == "COLLECTIVE" or name == "DELIVERED" then
			return (name == "DELIVERED") == (head.name == "WRITE" or head.name == "ATOMIC")
		end
		return LOUD[name]
	end
	local function bit_names(head)
		local text = ""
		for _, bit in ipairs(names.bits.flags) do
			if has(head.flags, bit[1]) and is_shown(head, bit[2]) then
				text = text .. " " .. bit[2]
			end
		end
		return text
	end

	local function target(head)
		return string.format(" %s %s addr %s", has(head.flags, 0x08) and "tag" or "key", head.hex.key, head.hex.addr)
	end

	local say = {}

	-- What sort of queue pair a HELLO's sender is, which its features tell.
	local SORTS = { { 0x200, ", of type UC" }, { 0x400, ", of type XRC_SEND" }, { 0x800, ", of type XRC_RECV" } }
	function say.HELLO(head)
		local text = string.format(" from %s%s session %s epoch %.0f%s", head.at,
			head.qpn and string.format(" QPN 0x%06x", head.qpn) or "", head.hex.session, head.epoch,
			has(head.features, 0x8) and ", a question" or "")
		for _, sort in ipairs(SORTS) do
			text = text .. (has(head.features, sort[1]) and sort[2] or "")
		end
		return text
	end
	function say.BYE(head)
		return " " .. words.bye(head)
	end
	function say.ACK(head)
		local verdicts = head.verdict > 0 and string.format(" verdicts %.0f", head.verdict) or ""
		return (head.ack > 0 and string.format(" %.0f", head.ack) or "") .. verdicts
	end
	function say.CHALLENGE(head)
		return " to " .. head.at
	end
	function say.PAIR(head)
		return string.format(" %s, expects %s, path MTU %.0f",
			head.sq_psn > 0xffffff and "may not send yet" or "sends from " .. head.hex.sq_psn, head.hex.rq_psn,
			head.path_mtu)
	end
	local function follow(head)
		return head.rest > head.payload and string.format(", %.0f B follow", head.rest - head.payload) or ""
	end
	function say.WRITE(head)
		return string.format("%s %.0f B%s", target(head), head.payload, follow(head))
	end
	function say.RSEND(head)
		local ends = head.invalidate == 1 and string.format(" invalidates %s", head.hex.cq_data) or ""
		return string.format("%s %.0f B%s", ends, head.payload, follow(head))
	end
	function say.READ(head)
		return string.format("%s %.0f B", target(head), head.length)
	end
	function say.SEND(head)
		local whose = has(head.flags, 0x08) and " tag " or has(head.flags, 0x40) and " group "
		return string.format("%s %.0f B", whose and whose .. head.hex.tag or "", head.length)
	end
	say.RTS = say.SEND
	function say.ATOMIC(head)
		local kind = names.values.kind[head.kind] or "unknown kind"
		return string.format(" %s%s %s%s %.0f B", kind ~= "plain" and kind .. " " or "",
			names.values.atomic[head.atomic_op] or "unknown operation", names.values.type[head.type] or "unknown type",
			target(head), head.length)
	end
	function say.CONNECT(head)
		return string.format(" request %s%s", head.hex.request,
			head.word and " " .. head.word or head.payload > 0 and string.format(" %.0f B", head.payload) or "")
	end
	say.ACCEPT = say.CONNECT
	say.REJECT = say.CONNECT
	function say.TAKEN(head)
		return string.format(" ref %.0f %s", head.ref, names.values.status[head.taken] or "")
	end
	function say.DATA(head)
		return string.format(" ref %.0f offset %.0f %.0f B%s", head.ref, head.offset, head.payload,
			has(head.flags, 0x02) and " LAST" or "")
	end
	function say.PULL(head)
		return string.format(" ref %.0f offset %.0f %.0f B", head.ref, head.offset, head.length)
	end
	function say.RNR(head)
		return string.format(" ref %.0f wait %.0f us", head.ref, head.wait_us)
	end
	function say.NAK(head)
		return string.format(" %s: ref %.0f%s", names.values.cause[head.cause] or string.format("cause %.0f", head.cause),
			head.ref, detail(head):gsub("^:", ","))
	end
	local function of_ref(head)
		return string.format(" ref %.0f%s", head.ref, head.payload > 0 and string.format(" %.0f B", head.payload) or "")
	end
	say.PARK, say.DONE, say.RESULT = of_ref, of_ref, of_ref

	-- A frame in words: "WRITE seq 12 key 0x2a addr 0x1000 8 B".
	function words.frame(head)
		local text = head.name .. (head.seq > 0 and string.format(" seq %.0f", head.seq) or "")
		text = text .. bit_names(head)
		if say[head.name] then
			text = text .. say[head.name](head)
		end
		if head.srq then
			text = string.format("%s, SRQ %.0f", text, head.srq)
		end
		if head.status and head.status > 0 then
			text = text .. ", " .. (names.values.status[head.status] or "unknown status")
		end
		return text
	end

	-- What a queue pair's datagram has behind its head.
	function words.pair_datagram(range)
		local dest = get(range, "pair_datagram", "dest_qpn")
		return string.format(" from QPN 0x%06x to %s Q_Key 0x%08x", get(range, "pair_datagram", "src_qpn"),
			dest == 0xffffff and "group " .. tostring(check.part(range, "pair_datagram", "dgid"):ipv6()) or
			string.format("0x%06x", dest), get(range, "pair_datagram", "qkey"))
	end

	return words
end
