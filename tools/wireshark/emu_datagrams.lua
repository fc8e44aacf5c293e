-- SPDX-License-Identifier: BSD-2-Clause
-- emu_datagrams.lua - what goes over UDP: datagrams of endpoints and of queue pairs (PROTOCOL.md, section 12), and questions which
-- port has a service of rdma_cm, with their answers (WIRE-180).
return function(names, check, fields, words)
	local emudgram = Proto("emudgram", "Emulated RDMA NIC, Datagram")
	local emusrvc = Proto("emusrvc", "Emulated RDMA NIC, Port of a Service")
	local get, has = check.get, check.has
	emudgram.fields = fields.datagram
	emudgram.experts = fields.expert.datagram
	emusrvc.fields = fields.service
	emusrvc.experts = fields.expert.service

	function emudgram.dissector(tvb, pinfo, tree)
		local have, length = tvb:len(), tvb:reported_len()
		local sub = tree:add(emudgram, tvb(), "emu datagram")
		pinfo.cols.protocol = "EMU"
		if have < names.DATAGRAM then
			sub:add_proto_expert_info(fields.expert.dgram, names.datagram_flaws.SHORT)
			pinfo.cols.info = "Datagram [" .. names.datagram_flaws.SHORT .. "]"
			return have
		end
		local range = tvb(0, names.DATAGRAM)
		local flaw = check.datagram(range, length)
		fields.add(sub, "datagram", range)
		local text = "Datagram from " .. words.addresses(fields, sub, "datagram", range, {}) .. string.format(" %.0f B",
			get(range, "datagram", "payload"))
		if has(get(range, "datagram", "flags"), 1) then
			text = text .. " CQ data " .. words.hex(check.part(range, "datagram", "cq_data"))
		end
		local at = names.DATAGRAM
		if check.of_pair(range) and have >= at + names.PAIR_DATAGRAM then
			local more = tvb(at, names.PAIR_DATAGRAM)
			fields.add(sub, "pair_datagram", more)
			flaw = flaw or check.pair_datagram(range, more)
			text = text .. words.pair_datagram(more)
			at = at + names.PAIR_DATAGRAM
		end
		if have > at then
			sub:add(fields.text.dgram_payload, tvb(at))
		end
		if flaw then
			sub:add_proto_expert_info(fields.expert.dgram, names.datagram_flaws[flaw])
			text = text .. " [" .. names.datagram_flaws[flaw] .. "]"
		end
		sub:set_text("emu " .. text)
		pinfo.cols.info = text
		return have
	end

	function emusrvc.dissector(tvb, pinfo, tree)
		local have = tvb:len()
		local sub = tree:add(emusrvc, tvb(), "emu, port of a service")
		local text = "Service"
		pinfo.cols.protocol = "EMU"
		if have >= names.SERVICE then
			local range = tvb(0, names.SERVICE)
			fields.add(sub, "service", range)
			text = string.format("Service %.0f", get(range, "service", "service"))
			if check.service(range, tvb:reported_len()) then
				text = text .. (get(range, "service", "kind") == 1 and ": which port?" or
					string.format(": port %.0f", get(range, "service", "port")))
				text = string.format("%s nonce %s", text, words.hex(check.part(range, "service", "nonce")))
				sub:set_text("emu " .. text)
				pinfo.cols.info = text
				return have
			end
		end
		sub:add_proto_expert_info(fields.expert.service, "no question and no answer (WIRE-180)")
		sub:set_text("emu " .. text)
		pinfo.cols.info = text .. " [no question and no answer (WIRE-180)]"
		return have
	end

	-- By its first eight bytes.
	local function recognise_as(proto, magic)
		proto:register_heuristic("udp", function(tvb, pinfo, tree)
			if tvb:len() < 8 or tostring(tvb(0, 8):bytes()):lower() ~= magic then
				return false
			end
			proto.dissector(tvb, pinfo, tree)
			return true
		end)
		DissectorTable.get("udp.port"):add_for_decode_as(proto)
	end
	recognise_as(emudgram, names.DATAGRAM_MAGIC)
	recognise_as(emusrvc, names.SERVICE_MAGIC)
end
