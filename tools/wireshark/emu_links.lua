-- SPDX-License-Identifier: BSD-2-Clause
-- emu_links.lua - which request an answer is about: the numbers of each session, kept while packets are dissected in order.
--
-- Requests are numbered by session and direction, over all connections of the session, so that is how they are kept here. A
-- number may come again: after a cut, or for another request after RNR. So each number has a list, and what a packet means is
-- the last one of it that was on the wire by then. Only the first pass over a capture writes; each later one finds the same.
local links = {}

local sessions, streams, packets, notes

function links.reset()
	sessions, streams, packets, notes = {}, {}, {}, {}
end
links.reset()

local function new_side()
	return { requests = {}, top = 0, acks = {}, verdict_acks = {} }
end

-- A connection, by the addresses and ports of its ends; `key` is both in one order. Two connections of a capture may have the
-- same ports, one after the other. Wireshark's own number of a stream is not known in each pass, so the HELLOs tell.
function links.stream(key, number, visited)
	if visited and packets[number] then
		return packets[number]
	end
	packets[number] = streams[key] or links.renew(key, number)
	return packets[number]
end

function links.renew(key, number)
	streams[key] = { hello = {}, sides = {}, ended = {}, begun = {}, lost = {} }
	packets[number] = streams[key]
	return streams[key]
end

-- A HELLO that begins another connection than the one that its sender has begun before: each dial has an epoch of its own.
function links.is_new(stream, from, hello)
	local before = stream.hello[from]
	return before ~= nil and (before.session ~= hello.session or before.epoch ~= hello.epoch)
end

-- What `from` (address and port) sends over the stream: of its session if both greetings are in the capture, else of the stream.
function links.side(stream, from)
	local hello = stream.hello[from]
	local sides, key = stream.sides, from
	if hello and stream.session then
		sessions[stream.session] = sessions[stream.session] or {}
		sides, key = sessions[stream.session], hello.instance
	end
	sides[key] = sides[key] or new_side()
	return sides[key]
end

-- A remark about a frame that only the first pass can make, by a key that names the frame.
function links.note(key, flaw)
	notes[key] = flaw
end

function links.noted(key)
	return notes[key]
end

function links.hello(stream, from, fields)
	stream.hello[from] = fields
	stream.session = stream.session or fields.session
end

-- A request is on the wire in packet `frame`. Returns true if a number is left out before it.
function links.request(side, seq, request)
	local list = side.requests[seq]
	local gap = side.top > 0 and seq > side.top + 1
	if not list then
		list = {}
		side.requests[seq] = list
	end
	if #list > 0 and list[#list].frame == request.frame then
		return false
	end
	list[#list + 1] = request
	if seq > side.top then
		side.top = seq
	end
	return gap
end

-- The request that `seq` meant when packet `frame` was on the wire, and the first one of the same op under the number.
function links.find(side, seq, frame)
	local list = side.requests[seq]
	if not list then
		return nil
	end
	for i = #list, 1, -1 do
		if list[i].frame <= frame then
			local first = i
			while first > 1 and list[first - 1].op == list[i].op and not list[first - 1].dropped do
				first = first - 1
			end
			return list[i], list[first]
		end
	end
	return nil
end

-- Numbers from `ref` on were dropped (RNR): what comes under them next is another request.
function links.dropped(side, ref)
	for seq = ref, side.top do
		local list = side.requests[seq]
		if list and #list > 0 then
			list[#list].dropped = true
		end
	end
	if side.top >= ref then
		side.top = ref - 1
	end
end

local function rise(list, number, frame, time)
	local last = list[#list]
	if not last or number > last.number then
		list[#list + 1] = { number = number, before = last and last.number or 0, frame = frame, time = time }
	end
end

function links.ack(side, number, frame, time)
	rise(side.acks, number, frame, time)
end

function links.verdict_ack(side, number, frame, time)
	rise(side.verdict_acks, number, frame, time)
end

local function first_at(list, number)
	local low, high = 1, #list + 1
	while low < high do
		local middle = math.floor((low + high) / 2)
		if list[middle].number >= number then
			high = middle
		else
			low = middle + 1
		end
	end
	return list[low]
end

-- The packet that acknowledges request `seq`; `side` is that of the acknowledgements.
function links.acked(side, seq)
	return first_at(side.acks, seq)
end

function links.verdict_acked(side, number)
	return first_at(side.verdict_acks, number)
end

-- The numbers that an ack of `number` in packet `frame` was the first to acknowledge, or nil.
function links.news(side, number, frame)
	local entry = first_at(side.acks, number)
	if entry and entry.number == number and entry.frame == frame and number > 0 then
		return entry.before + 1, entry.number
	end
	return nil
end

return links
