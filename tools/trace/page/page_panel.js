// SPDX-License-Identifier: BSD-2-Clause
/* page_panel.js - what the page says in words: the header, the filters' choices, the list of refusals, the facts of an op */
"use strict";

const REFUSAL_HEIGHT = 62;	// of a line of the list, as in page.css

function element(tag, attributes, ...children)
{
	const node = document.createElement(tag);

	for (const [name, value] of Object.entries(attributes || {}))
		if (name.startsWith("on"))
			node.addEventListener(name.slice(2), value);
		else if (value !== false && value !== undefined)
			node.setAttribute(name, value === true ? "" : value);
	node.append(...children);
	return node;
}

function byId(id)
{
	return document.getElementById(id);
}

function wallClock(model, time)
{
	const ns = model.origin + BigInt(Math.round(time));

	const second = new Date(Number(ns / 1000000000n) * 1000).toISOString().slice(0, 19).replace("T", " ");

	return model.origin === 0n ? "" : `${second}.${String(ns % 1000000000n).padStart(9, "0")} UTC`;
}

function headerFill(model)
{
	const facts = [countWords(model.processes.length, "process").replace("processs", "processes"), countWords(model.ops.count, "op"),
		countWords(model.frames.count, "frame"), countWords(model.regions.filter((it) => !it.stray).length, "region"),
		`${timeWords(model.last - model.first)} from ${wallClock(model, model.first) || "its start"}`];

	document.title = model.title ? `${model.title} - emu trace` : "emu trace";
	byId("title").textContent = model.title || "emu trace";
	byId("facts").textContent = facts.join(" · ");
	byId("refused-count").textContent = model.refused > 0 ? `${model.refused.toLocaleString("en")} refused` : "nothing refused";
	byId("refused-count").classList.toggle("refused", model.refused > 0);
	const partial = [...model.partial];

	model.processes.forEach((process, index) => {
		if (process.partial)
			partial.push(`${modelProcessName(model, index)}: ${process.partial}`);
	});
	byId("partial").hidden = partial.length === 0;
	byId("partial").replaceChildren(element("b", {}, "Partial. "), partial.slice(0, 8).join("; ") +
		(partial.length > 8 ? `; and ${partial.length - 8} more` : ""));
}

// Buttons that are pressed while what they name is shown.
function chipsFill(box, hidden, items, changed)
{
	box.replaceChildren(...items.map(({ value, name, title, color }) => element("button", {
		type: "button", class: "chip", "aria-pressed": String(!hidden.has(value)), title,
		style: color ? `--chip: ${color}` : undefined,
		onclick: (event) => {
			if (!hidden.delete(value))
				hidden.add(value);
			event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(value)));
			changed();
		},
	}, name)));
}

function filtersFill(model, filter, changed)
{
	chipsFill(byId("kinds"), filter.kinds, model.kinds.map(({ kind, count, name }) => ({ value: kind, name,
		title: countWords(count, "op"), color: paintKind(name) })), changed);
	chipsFill(byId("processes"), filter.processes, model.processes.map((process, index) => ({ value: index,
		name: modelProcessName(model, index), 
		title: [process.program, process.host && `on ${process.host}`, process.file, process.clock].filter((it) => it).join(", ") })), changed);
}

// The list has elements only for what it shows of its length.
function refusalsDraw(model, select, choose)
{
	const box = byId("refusals"), space = byId("refusals-space");
	const first = Math.max(0, Math.floor(box.scrollTop / REFUSAL_HEIGHT) - 2);
	const last = Math.min(model.refusals.length, first + Math.ceil(box.clientHeight / REFUSAL_HEIGHT) + 5);

	space.style.height = `${model.refusals.length * REFUSAL_HEIGHT}px`;
	byId("refusals-title").textContent = `Refusals (${model.refusals.length.toLocaleString("en")})`;
	byId("no-refusals").hidden = model.refusals.length > 0;
	const items = [];

	for (let i = first; i < last; i++) {
		const op = model.refusals[i];

		items.push(element("button", { type: "button", class: "refusal", style: `top: ${i * REFUSAL_HEIGHT}px`, "data-op": op,
			"aria-current": op === select ? "true" : false, title: modelString(model, model.ops.sentence[op]),
			onclick: () => choose(op) },
		element("span", { class: "refusal-head" }, `${timeWords(model.ops.posted[op])}: ${opWords(model, op)}`),
		element("span", { class: "refusal-text" }, modelString(model, model.ops.sentence[op]) ||
			modelString(model, model.ops.status[op]))));
	}
	space.replaceChildren(...items);
}

function fact(name, value, kind)
{
	return value === "" || value === null ? [] : [element("dt", {}, name), element("dd", kind ? { class: kind } : {}, value)];
}

function regionFacts(model, op)
{
	const region = modelRegionOf(model, op), offset = model.accesses.offset[model.ops.access[op]];

	if (!region || region.stray)
		return [];
	return [
		...fact("Region", `key ${region.key}, ${region.length.toLocaleString("en")} bytes at ${region.addr}`),
		...fact("", region.assumed ? "Its opening is not in the trace: this is what was accessed" : ""),
		...fact("Rights", rightsWords(region)),
		...fact("Offset", `${offset.toLocaleString("en")} bytes ${offset < 0 ? "before" : "into"} it`),
		...fact("Opened", timeExact(region.opened)),
		...fact("Closed", region.closed >= 0 ? timeExact(region.closed) : "not in the trace"),
	];
}

function framesTable(model, op)
{
	const { frames } = model;
	const rows = [...modelFramesOf(model, op)];

	if (rows.length === 0)
		return [element("p", { class: "faint" }, "The trace has no frame of this op.")];
	return [element("table", {}, element("caption", {}, countWords(rows.length, "frame")),
		element("thead", {}, element("tr", {}, ...["Frame", "From", "Sent", "Received", "Bytes"].map((name) =>
			element("th", { scope: "col" }, name)))),
		element("tbody", {}, ...rows.slice(0, 200).map((frame) => element("tr", {},
			element("td", {}, modelString(model, frames.type[frame])),
			element("td", {}, modelProcessName(model, frames.by[frame])),
			element("td", {}, frames.sent[frame] < 0 ? "?" : timeWords(frames.sent[frame])),
			element("td", {}, frames.received[frame] < 0 ? "?" : timeWords(frames.received[frame])),
			element("td", {}, frames.bytes[frame] < 0 ? "?" : frames.bytes[frame].toLocaleString("en"))))))];
}

function verdictFact(model, op)
{
	const { ops } = model;
	const words = VERDICTS[ops.verdict[op]] + (ops.status[op] >= 0 && ops.verdict[op] !== 0 ?
		`: ${modelString(model, ops.status[op])}` : "");

	return fact("Verdict", words, `verdict-${ops.verdict[op]}`);
}

function panelFill(model, op)
{
	const { ops } = model;
	const panel = byId("op");

	byId("op-panel").hidden = op < 0;
	if (op < 0)
		return;
	byId("op-title").textContent = opWords(model, op);
	byId("op-sentence").textContent = modelString(model, ops.sentence[op]);
	byId("op-sentence").hidden = modelString(model, ops.sentence[op]) === "";
	panel.replaceChildren(
		...verdictFact(model, op),
		...fact("Posted by", modelProcessName(model, ops.by[op])),
		...fact("To", ops.to[op] >= 0 ? modelProcessName(model, ops.to[op]) : ""),
		...fact("Key", modelString(model, ops.key[op])),
		...fact("Address", ops.addr[op]),
		...fact("Length", countWords(ops.length[op], "byte")),
		...regionFacts(model, op),
		...fact("Posted", timeExact(ops.posted[op])),
		...fact("Served", ops.arrival[op] >= 0 ? timeExact(ops.arrival[op]) : ""),
		...fact("Completed", timeExact(ops.done[op])),
		...fact("Took", ops.done[op] >= 0 ? timeWords(ops.done[op] - ops.posted[op]) : ""),
		...fact("Clock", wallClock(model, ops.posted[op])),
		...fact("Request", ops.request[op] >= 0 ? `number ${ops.request[op].toLocaleString("en")} of its session` : ""),
		...fact("Note", modelString(model, ops.note[op])));
	byId("op-frames").replaceChildren(...framesTable(model, op));
}

// What a pointer rests upon, in one line.
function hoverWords(model, hit)
{
	const { ops, marks } = model;

	if (hit.op < 0)
		return `${modelString(model, marks.text[hit.mark])}, at ${timeWords(marks.time[hit.mark])}`;
	const took = ops.done[hit.op] >= 0 ? `, took ${timeWords(ops.done[hit.op] - ops.posted[hit.op])}` : "";
	const sentence = modelString(model, ops.sentence[hit.op]);

	return `${opWords(model, hit.op)}, posted at ${timeWords(ops.posted[hit.op])}${took}${sentence ? `: ${sentence}` : ""}`;
}
