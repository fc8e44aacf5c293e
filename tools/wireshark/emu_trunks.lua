-- SPDX-License-Identifier: BSD-2-Clause
-- emu_trunks.lua - connections that share a stream (PROTOCOL.md, WIRE-130): what stands behind a greeting, and in a trunk. emu.lua
-- gives it what it needs of its own.
local FEATURE, JOIN, CHUNK = 0x40, 16, 8
local KINDS = { "alone", "begins a trunk", "moves to a trunk" }

return function(has)
	local trunks = { JOIN = JOIN, CHUNK = CHUNK }
	local channels

	function trunks.reset()
		channels = {}
	end
	trunks.reset()

	-- Are the bytes there a join's or a chunk's? nil: a frame's.
	function trunks.sort(conn, tvb, offset, pinfo)
		local stream, trunk = conn.stream, conn.stream.trunk
		if trunk and (pinfo.number > trunk.number or
			(pinfo.number == trunk.number and conn.from == trunk.dialler and offset >= trunk.offset)) then
			return "chunk"
		end
		local own, peer = stream.hello[conn.from], stream.hello[conn.to]
		if own and peer and has(own.features, FEATURE) and has(peer.features, FEATURE) and tvb(offset, 1):uint() == 0 then
			return "join"
		end
		return nil
	end

	-- A join at `offset`: its words.
	function trunks.join(conn, tvb, offset, pinfo)
		local kind, channel = tvb(offset, 4):uint(), tvb(offset + 4, 4):uint()
		local name = tostring(tvb(offset + 8, 8):bytes())
		if not pinfo.visited and kind > 1 then
			local at = name .. " " .. channel
			channels[at] = channels[at] or
				{ stream = conn.stream, dialler = conn.from, accepter = conn.to, key = conn.key .. " " .. channel }
			if kind == 2 then
				conn.stream.trunk =
					{ name = name, dialler = conn.from, number = pinfo.number, offset = offset + JOIN }
			end
		end
		return "join: " .. (KINDS[kind] or "of an unknown kind") .. (channel > 0 and ", channel " .. channel or "")
	end

	-- The connection that has the channel, as seen from the sender; nil: its beginning is not in the capture.
	function trunks.connection(conn, channel)
		local trunk = conn.stream.trunk
		local at = channels[trunk.name .. " " .. channel]
		if not at then
			return nil
		end
		local outward = conn.from == trunk.dialler
		return { stream = at.stream, from = outward and at.dialler or at.accepter,
			to = outward and at.accepter or at.dialler, key = at.key }
	end

	-- One chunk of a trunk, with the frames of its connection. Returns as dissect_next().
	function trunks.dissect_chunk(tvb, offset, total, pinfo, tree, conn)
		local have = total - offset
		local length = have >= trunks.CHUNK and tvb(offset + 4, 4):uint() or 0
		local behind, past = offset + trunks.CHUNK, offset + trunks.CHUNK + length
		if past > total and trunks.ask(tvb, offset, pinfo, have >= trunks.CHUNK and past - total or nil) then
			return nil
		end
		if have < trunks.CHUNK then
			return nil
		end
		local channel = tvb(offset, 4):uint()
		local range = tvb(offset, math.min(past, total) - offset)
		local sub = tree:add(trunks.proto, range, "emu, channel " .. channel .. " of a trunk")
		local inner = trunks.connection(conn, channel)
		sub:add(trunks.fields.text.channel, tvb(offset, 4))
		if length == 0 then
			trunks.say(pinfo, "channel " .. channel .. " ends")
		elseif not inner or trunks.is_lost(tvb, behind, pinfo, inner) then
			trunks.not_understood(tvb(behind, math.min(past, total) - behind), 0, pinfo, sub, nil)
		else
			local at = behind
			while at and at < math.min(past, total) do
				at = trunks.dissect_next(tvb, at, math.min(past, total), pinfo, sub, inner, false)
			end
		end
		return past
	end

	return trunks
end
