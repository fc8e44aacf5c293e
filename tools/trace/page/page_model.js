// SPDX-License-Identifier: BSD-2-Clause
/* page_model.js - the data of the page: reads it, checks it, finds the rows of the drawing, and filters it */
"use strict";

const PAGE_VERSION = 1;
const VERDICTS = ["done", "refused", "failed", "no end in the trace"];
const REFUSED = 1;
const ROWS_MAX = 10;	// of overlapping ops in a lane; more share the last rows

const OP_COLUMNS = ["kind", "by", "to", "posted", "sent", "arrival", "answer", "done", "verdict", "status", "sentence", "key",
	"addr", "length", "request", "note"];
const ACCESS_COLUMNS = ["op", "region", "offset", "length", "refused", "time"];
const FRAME_COLUMNS = ["op", "type", "by", "to", "sent", "received", "bytes"];
const MARK_COLUMNS = ["time", "process", "text"];

// Columns of numbers become typed arrays; `addr` alone has strings, for numbers of 64 bits.
function modelColumns(raw, names, what)
{
	const table = { count: -1 };

	for (const name of names) {
		const column = raw && raw[name];

		if (!Array.isArray(column))
			throw new Error(`the ${what} have no column "${name}"`);
		if (table.count >= 0 && column.length !== table.count)
			throw new Error(`column "${name}" of the ${what} has ${column.length} rows of ${table.count}`);
		table.count = column.length;
		table[name] = name === "addr" ? column : Float64Array.from(column);
	}
	return table;
}

function modelCheckIndex(table, column, bound, what)
{
	for (let i = 0; i < table.count; i++)
		if (!(table[column][i] >= -1 && table[column][i] < bound))
			throw new Error(`row ${i} of the ${what} has the ${column} ${table[column][i]} of ${bound}`);
}

function modelParse(text)
{
	let raw;

	try {
		raw = JSON.parse(text);
	} catch (error) {
		throw new Error(`its data is cut off or damaged (${error.message})`);
	}
	if (!raw || typeof raw.emu_trace_page !== "number")
		throw new Error("its data is not that of an emu trace");
	if (raw.emu_trace_page > PAGE_VERSION)
		throw new Error(`its data has version ${raw.emu_trace_page}, and the page reads version ${PAGE_VERSION}`);
	for (const name of ["strings", "processes", "regions"])
		if (!Array.isArray(raw[name]))
			throw new Error(`its data has no ${name}`);
	return raw;
}

// Throws an Error with the end of a sentence: "This page cannot be shown: ...".
function modelRead(text)
{
	const raw = modelParse(text);
	const model = {
		origin: BigInt(raw.origin_ns || 0), partial: raw.partial || [], title: raw.title || "",
		strings: raw.strings, processes: raw.processes, regions: raw.regions,
		ops: modelColumns(raw.ops, OP_COLUMNS, "ops"),
		frames: modelColumns(raw.frames, FRAME_COLUMNS, "frames"),
		marks: modelColumns(raw.marks, MARK_COLUMNS, "marks"),
		accesses: modelColumns(raw.accesses, ACCESS_COLUMNS, "accesses"),
	};

	for (const [column, bound] of [["kind", raw.strings.length], ["by", raw.processes.length], ["to", raw.processes.length],
		["status", raw.strings.length], ["sentence", raw.strings.length],
		["verdict", VERDICTS.length], ["key", raw.strings.length], ["note", raw.strings.length]])
		modelCheckIndex(model.ops, column, bound, "ops");
	for (const [column, bound] of [["op", model.ops.count], ["by", raw.processes.length], ["to", raw.processes.length],
		["type", raw.strings.length]])
		modelCheckIndex(model.frames, column, bound, "frames");
	modelCheckIndex(model.accesses, "op", model.ops.count, "accesses");
	modelCheckIndex(model.accesses, "region", raw.regions.length, "accesses");
	modelCheckIndex(model.marks, "process", raw.processes.length, "marks");
	modelCheckIndex(model.marks, "text", raw.strings.length, "marks");
	modelJoinFrames(model);
	modelSpan(model);
	modelRows(model);
	modelKinds(model);
	modelRegionOps(model);
	return model;
}

function modelString(model, index)
{
	return index >= 0 ? model.strings[index] : "";
}

// frameFirst[op]..frameFirst[op + 1] are the places in frameOrder of an op's frames; freeFrames belong to none.
function modelJoinFrames(model)
{
	const { ops, frames } = model;
	const first = new Uint32Array(ops.count + 2), order = new Uint32Array(frames.count);

	model.freeFrames = [];
	for (let i = 0; i < frames.count; i++)
		if (frames.op[i] >= 0)
			first[frames.op[i] + 2]++;
		else
			model.freeFrames.push(i);
	for (let op = 2; op < first.length; op++)
		first[op] += first[op - 1];
	for (let i = 0; i < frames.count; i++)
		if (frames.op[i] >= 0)
			order[first[frames.op[i] + 1]++] = i;
	model.frameFirst = first;
	model.frameOrder = order;
	ops.end = ops.done.map((done, op) => Math.max(done, ops.posted[op], ops.sent[op]));
	for (let op = 0; op < ops.count; op++) {
		ops.answer[op] = Math.max(ops.answer[op], ops.arrival[op]);
		if (ops.posted[op] < 0)
			ops.posted[op] = [ops.sent[op], ops.arrival[op], ops.answer[op], ops.done[op]].find((time) => time >= 0) ?? 0;
		ops.end[op] = Math.max(ops.end[op], ops.posted[op]);
		if (ops.done[op] < 0)
			ops.end[op] = Math.max(ops.end[op], ops.answer[op]);
	}
}

function modelFramesOf(model, op)
{
	return model.frameOrder.subarray(model.frameFirst[op], model.frameFirst[op + 1]);
}

// The time from the first to the last thing in the trace, with a little room.
function modelSpan(model)
{
	let from = Infinity, to = -Infinity;
	const see = (time) => {
		if (time >= 0) {
			from = Math.min(from, time);
			to = Math.max(to, time);
		}
	};

	for (let op = 0; op < model.ops.count; op++) {
		see(model.ops.posted[op]);
		see(model.ops.end[op]);
		see(model.ops.answer[op]);
	}
	model.accesses.time.forEach(see);
	model.marks.time.forEach(see);
	model.frames.sent.forEach(see);
	model.frames.received.forEach(see);
	if (!(to >= from))
		from = to = 0;
	model.first = from;
	model.last = to;
	const room = Math.max((to - from) * 0.02, 50);
	model.from = from - room;
	model.to = to + room;
}

// By posting time, and for each op its row in its lane: the first that is free.
function modelRows(model)
{
	const { ops } = model;
	const order = Uint32Array.from({ length: ops.count }, (_, op) => op).sort((a, b) => ops.posted[a] - ops.posted[b] || a - b);
	const free = model.processes.map(() => []);

	ops.row = new Uint8Array(ops.count);
	for (const op of order) {
		const rows = free[ops.by[op]];

		if (!rows)
			continue;
		let row = rows.findIndex((end) => end <= ops.posted[op]);

		if (row < 0 && rows.length < ROWS_MAX)
			row = rows.push(0) - 1;
		else if (row < 0)
			row = rows.indexOf(Math.min(...rows));
		rows[row] = Math.max(rows[row], ops.end[op]);
		ops.row[op] = row;
	}
	model.order = order;
	model.rows = free.map((rows) => Math.max(rows.length, 1));
}

function modelKinds(model)
{
	const counts = new Map();

	model.refused = 0;
	for (let op = 0; op < model.ops.count; op++) {
		counts.set(model.ops.kind[op], (counts.get(model.ops.kind[op]) || 0) + 1);
		model.refused += model.ops.verdict[op] === REFUSED;
	}
	model.kinds = [...counts].sort((a, b) => b[1] - a[1]).map(([kind, count]) => ({ kind, count, name: modelString(model, kind) }));
}

// Ops that were refused because no region has their key get a row of their own at each target: a region without an extent.
function modelRegionOps(model)
{
	const strays = new Map(), { ops, accesses } = model;
	const columns = Object.fromEntries(ACCESS_COLUMNS.map((name) => [name, Array.from(accesses[name])]));

	ops.access = new Int32Array(ops.count).fill(-1);
	accesses.op.forEach((op, access) => {
		if (op >= 0)
			ops.access[op] = access;
	});
	model.regions.forEach((region, index) => { region.index = index; });
	for (let op = 0; op < ops.count; op++) {
		const to = ops.to[op];

		if (ops.access[op] >= 0 || ops.verdict[op] !== REFUSED || modelString(model, ops.key[op]) === "" || to < 0)
			continue;
		if (!strays.has(to)) {
			strays.set(to, model.regions.length);
			model.regions.push({ process: to, stray: true, length: 0, access: [], opened: -1, closed: -1,
				index: model.regions.length });
		}
		ops.access[op] = columns.op.length;
		[op, strays.get(to), 0, ops.length[op], 1, ops.arrival[op] >= 0 ? ops.arrival[op] : ops.posted[op]]
			.forEach((value, i) => columns[ACCESS_COLUMNS[i]].push(value));
	}
	for (const name of ACCESS_COLUMNS)
		accesses[name] = Float64Array.from(columns[name]);
	accesses.count = columns.op.length;
}

function modelRegionOf(model, op)
{
	const access = model.ops.access[op];

	return access >= 0 ? model.regions[model.accesses.region[access]] : undefined;
}

function modelProcessName(model, process)
{
	const it = model.processes[process];

	return it ? it.name + (it.pid ? `/${it.pid}` : "") : "nobody";
}

// What the text filter looks into, in small letters; made when it is first asked for.
function modelHaystack(model)
{
	const { ops } = model;

	if (model.haystack)
		return model.haystack;
	model.haystack = Array.from({ length: ops.count }, (_, op) => [modelString(model, ops.kind[op]), modelString(model, ops.key[op]),
		ops.addr[op], modelString(model, ops.status[op]), modelString(model, ops.sentence[op]), modelString(model, ops.note[op]),
		modelProcessName(model, ops.by[op]), modelProcessName(model, ops.to[op]), VERDICTS[ops.verdict[op]]]
		.join(" ").toLowerCase());
	return model.haystack;
}

// filter: { text, refused, processes: Set, kinds: Set, from, to }: sets have what is hidden. Leaves model.shown (by op) and the lists.
function modelFilter(model, filter)
{
	const { ops } = model;
	const words = filter.text.toLowerCase().split(/\s+/).filter((word) => word !== "");
	const haystack = words.length > 0 ? modelHaystack(model) : null;
	const shown = new Uint8Array(ops.count);

	for (let op = 0; op < ops.count; op++)
		shown[op] = (!filter.refused || ops.verdict[op] === REFUSED) && !filter.kinds.has(ops.kind[op]) &&
			!filter.processes.has(ops.by[op]) && !filter.processes.has(ops.to[op]) &&
			!(ops.posted[op] > filter.to) && !(ops.end[op] < filter.from) &&
			(haystack === null || words.every((word) => haystack[op].includes(word)));
	model.shown = shown;
	model.list = model.order.filter((op) => shown[op]);
	model.refusals = model.list.filter((op) => ops.verdict[op] === REFUSED);
	const { accesses } = model;
	const rest = words.length === 0 && !filter.refused;	// accesses whose op is not in the trace

	model.regionAccesses = model.regions.map(() => []);
	for (let access = 0; access < accesses.count; access++)
		if (accesses.region[access] >= 0 && (accesses.op[access] >= 0 ? shown[accesses.op[access]] : rest))
			model.regionAccesses[accesses.region[access]].push(access);
}
