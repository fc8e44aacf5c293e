-- SPDX-License-Identifier: BSD-2-Clause
-- emu_rdma.lua - the words of rdma_cm in the payloads of CONNECT (WIRE-182 to WIRE-185).
return function(names, check, fields)
	local rdma = {}
	local get = check.get

	local function address(range)
		local addr, port = check.part(range, "rdma_address", "addr"), get(range, "rdma_address", "port")
		if get(range, "rdma_address", "family") == 6 then
			return string.format("[%s]:%.0f", tostring(addr:ipv6()), port)
		end
		return string.format("%s:%.0f", tostring(addr(0, 4):ipv4()), port)
	end

	-- Adds the payload of a frame to the tree, if it is a word, and returns the word as text; else nil. A program of libfabric
	-- says what it likes there, so a payload that is no word is no error.
	function rdma.add_word(range, head, tree)
		local kind = check.rdma_word(range, head.name)
		if not kind then
			return nil
		end
		local word = names.rdma_words[kind]
		local length = get(range, "rdma_word", "length")
		local sub, text = tree:add(fields.text.rdma, range), kind
		fields.add(sub, word.head, range(0, word.size))
		if kind == "REQUEST" or kind == "LOOKUP" then
			for _, row in ipairs({ { "from", fields.text.rdma_from }, { "to", fields.text.rdma_to } }) do
				local part = check.part(range, word.head, row[1])
				sub:add(row[2], part, address(part)):set_generated()
				text = string.format("%s %s %s", text, row[1], address(part))
			end
		end
		if kind == "REQUEST" or kind == "REPLY" then
			text = string.format("%s QPN 0x%06x PSN 0x%06x", text, get(range, word.head, "qpn"),
				get(range, word.head, "psn"))
		elseif kind == "FOUND" and get(range, word.head, "status") == 0 then
			text = string.format("%s QPN 0x%06x Q_Key 0x%08x", text, get(range, word.head, "qpn"),
				get(range, word.head, "qkey"))
		elseif kind == "FOUND" then
			text = string.format("%s status %.0f", text, get(range, word.head, "status"))
		elseif kind == "REJECT" then
			text = string.format("%s reason %.0f", text, get(range, word.head, "reason"))
		end
		if length > 0 then
			sub:add(fields.text.rdma_data, range(word.size, length))
			text = string.format("%s %.0f B", text, length)
		end
		sub:set_text("rdma_cm " .. text)
		return text
	end

	return rdma
end
