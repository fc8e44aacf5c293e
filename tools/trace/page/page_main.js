// SPDX-License-Identifier: BSD-2-Clause
/* page_main.js - the page's life: reads the data, draws when something has changed, and obeys the mouse, the keys and the filters */
"use strict";

const page = {
	model: null, select: -1, dirty: false, frames: 0,
	filter: { text: "", refused: false, processes: new Set(), kinds: new Set(), from: -Infinity, to: Infinity },
};

// Draws once in the next frame, however often it is asked.
function pageChanged()
{
	if (page.dirty)
		return;
	page.dirty = true;
	requestAnimationFrame(() => {
		page.dirty = false;
		pageDraw();
	});
}

function pageDraw()
{
	const { model, filter, select } = page;

	paint.drawn = 0;
	axis.width = Math.max(sequence.canvas.clientWidth - LABEL_WIDTH - 12, 50);
	sequenceDraw(model, filter, select);
	regionsDraw(model, filter, select);
	overviewDraw(model);
	refusalsDraw(model, select, pageChoose);
	byId("shown").textContent = `${model.list.length.toLocaleString("en")} of ${countWords(model.ops.count, "op")} shown`;
	byId("hint").textContent = sequence.dense ?
		`${countWords(sequence.inView, "op")} in view, drawn as density: zoom in to see single ones` :
		`${countWords(sequence.inView, "op")} in view`;
	page.frames++;
}

// The whole trace in a strip, with a box around what is in view.
function overviewDraw(model)
{
	const { context, width, height } = paintBegin(page.overview);
	const size = Math.ceil(axis.width / BIN) + 1, bins = new Uint32Array(size), red = new Uint8Array(size);
	const place = (time) => (time - model.from) / (model.to - model.from) * axis.width;
	let most = 1;

	for (const op of model.list) {
		const at = Math.floor(place(model.ops.posted[op]) / BIN);

		most = Math.max(most, ++bins[at]);
		red[at] |= model.ops.verdict[op] === REFUSED;
	}
	context.fillStyle = paint.colors.band;
	context.fillRect(LABEL_WIDTH, 0, axis.width, height);
	for (let i = 0; i < size; i++)
		if (bins[i]) {
			const h = Math.max(3, bins[i] / most * (height - 4));

			context.fillStyle = paint.colors.density;
			context.fillRect(LABEL_WIDTH + i * BIN, height - h, BIN - 0.5, h);
			context.fillStyle = paint.colors.refused;
			context.fillRect(LABEL_WIDTH + i * BIN, height - 8, BIN - 0.5, red[i] ? 8 : 0);
			paint.drawn++;
		}
	context.strokeStyle = paint.colors.accent;
	context.lineWidth = 2;
	context.strokeRect(LABEL_WIDTH + place(axis.from) + 1, 1, Math.max(place(axis.to) - place(axis.from) - 2, 3), height - 2);
	context.fillStyle = paint.colors.faint;
	context.fillText(paintFit(context, "Whole trace", width), 10, height / 2);
}

function pageSelect(op)
{
	page.select = op;
	panelFill(page.model, op);
	byId("status").textContent = op >= 0 ? hoverWords(page.model, { op }) : "";
	pageChanged();
}

// Selects an op from the list or by a key, and goes to it.
function pageChoose(op)
{
	const { ops } = page.model;

	pageSelect(op);
	axisShow(ops.posted[op], Math.max(ops.end[op], ops.answer[op]));
	const lane = sequence.laneOf.get(ops.by[op]), height = sequence.canvas.clientHeight;

	if (lane && (laneRowY(lane, ops.row[op]) < AXIS_HEIGHT || laneRowY(lane, ops.row[op]) > height - 20))
		sequence.scroll = lane.top - AXIS_HEIGHT - 20;
	regionsReveal(page.model, op);
	const index = page.model.refusals.indexOf(op), box = byId("refusals");

	if (index >= 0 && (index * REFUSAL_HEIGHT < box.scrollTop || (index + 1) * REFUSAL_HEIGHT > box.scrollTop + box.clientHeight))
		box.scrollTop = index * REFUSAL_HEIGHT - box.clientHeight / 3;
}

// The next of a list behind the selected op, or before it.
function pageStep(list, step)
{
	const { ops } = page.model;
	const select = page.select;

	if (list.length === 0)
		return;
	const order = (op) => ops.posted[op] - ops.posted[select] || op - select;
	let at = select < 0 ? (step > 0 ? 0 : list.length - 1) :
		step > 0 ? list.findIndex((op) => order(op) > 0) : list.findLastIndex((op) => order(op) < 0);

	if (at < 0)
		at = step > 0 ? list.length - 1 : 0;
	pageChoose(list[at]);
}

function pageFilter()
{
	modelFilter(page.model, page.filter);
	if (page.select >= 0 && !page.model.shown[page.select])
		pageSelect(-1);
	pageChanged();
}

// Microseconds since the start, as the axis has them; nothing is no bound.
function filterTime(id, none)
{
	const input = byId(id);
	const value = input.value.trim() === "" ? none : Number(input.value) * 1e3;

	input.setCustomValidity(Number.isNaN(value) ? "a number of microseconds" : "");
	input.classList.toggle("wrong", Number.isNaN(value));
	return Number.isNaN(value) ? none : value;
}

function filterTimes()
{
	page.filter.from = filterTime("time-from", -Infinity);
	page.filter.to = filterTime("time-to", Infinity);
	pageFilter();
}

function filterReset()
{
	page.filter = { text: "", refused: false, processes: new Set(), kinds: new Set(), from: -Infinity, to: Infinity };
	for (const id of ["search", "time-from", "time-to"])
		byId(id).value = "";
	byId("only-refused").checked = false;
	filtersFill(page.model, page.filter, pageFilter);
	pageFilter();
}

function bindFilters()
{
	byId("search").addEventListener("input", (event) => {
		page.filter.text = event.target.value;
		pageFilter();
	});
	byId("only-refused").addEventListener("change", (event) => {
		page.filter.refused = event.target.checked;
		pageFilter();
	});
	byId("all-regions").addEventListener("change", (event) => {
		regionMap.all = event.target.checked;
		pageChanged();
	});
	byId("time-from").addEventListener("input", filterTimes);
	byId("time-to").addEventListener("input", filterTimes);
	byId("time-view").addEventListener("click", () => {
		byId("time-from").value = (axis.from / 1e3).toFixed(3);
		byId("time-to").value = (axis.to / 1e3).toFixed(3);
		filterTimes();
	});
	byId("reset").addEventListener("click", filterReset);
	const moves = { "zoom-in": () => axisZoom(0.5), "zoom-out": () => axisZoom(2), "zoom-fit": axisFit };

	for (const [id, move] of Object.entries(moves))
		byId(id).addEventListener("click", () => {
			move();
			pageChanged();
		});
	byId("op-close").addEventListener("click", () => pageSelect(-1));
	byId("op-goto").addEventListener("click", () => pageChoose(page.select));
	byId("op-next").addEventListener("click", () => pageStep(page.model.list, 1));
	byId("op-previous").addEventListener("click", () => pageStep(page.model.list, -1));
	byId("refusals").addEventListener("scroll", pageChanged);
}

// The op below a point, or the nearest one within a few pixels.
function hitAt(view, x, y)
{
	let best = null, least = 7;

	for (const hit of view.hits) {
		const far = Math.max(hit.x - x, x - hit.x - hit.w, hit.y - y, y - hit.y - hit.h, 0);

		if (far < least) {
			best = hit;
			least = far;
		}
	}
	return x >= LABEL_WIDTH - 4 ? best : null;
}

function clickView(view, x, y)
{
	const hit = hitAt(view, x, y);

	if (hit && hit.op >= 0) {
		pageSelect(hit.op);
		regionsReveal(page.model, hit.op);
	} else if (!hit && view === sequence && sequence.dense && x >= LABEL_WIDTH) {
		axisZoom(0.125, x);
		pageChanged();
	} else if (!hit) {
		pageSelect(-1);
	}
}

function hoverView(view, event)
{
	const hit = hitAt(view, event.offsetX, event.offsetY), tip = byId("tip");

	view.canvas.style.cursor = hit ? "pointer" : "grab";
	tip.hidden = !hit;
	if (!hit)
		return;
	tip.textContent = hoverWords(page.model, hit);
	tip.style.left = `${Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8)}px`;
	tip.style.top = `${Math.min(event.clientY + 16, innerHeight - tip.offsetHeight - 8)}px`;
}

// Drags pan in time and scroll the rows; what moved less than a few pixels is a click.
function bindView(view)
{
	const { canvas } = view;
	let drag = null;

	canvas.addEventListener("pointerdown", (event) => {
		drag = { x: event.offsetX, y: event.offsetY, startX: event.offsetX, startY: event.offsetY, moved: false };
		canvas.setPointerCapture(event.pointerId);
	});
	canvas.addEventListener("pointermove", (event) => {
		if (!drag)
			return hoverView(view, event);
		drag.moved = drag.moved || Math.hypot(event.offsetX - drag.startX, event.offsetY - drag.startY) > 4;
		if (!drag.moved)
			return;
		axisPan(drag.x - event.offsetX);
		view.scroll += drag.y - event.offsetY;
		drag.x = event.offsetX;
		drag.y = event.offsetY;
		pageChanged();
	});
	canvas.addEventListener("pointerup", (event) => {
		if (drag && !drag.moved)
			clickView(view, event.offsetX, event.offsetY);
		drag = null;
	});
	canvas.addEventListener("pointercancel", () => { drag = null; });
	canvas.addEventListener("pointerleave", () => { byId("tip").hidden = true; });
	canvas.addEventListener("wheel", (event) => wheelView(view, event), { passive: false });
}

// The wheel zooms around the pointer; with Shift it pans, and over the names it scrolls the rows.
function wheelView(view, event)
{
	const lines = event.deltaMode === 1 ? 16 : 1;

	event.preventDefault();
	byId("tip").hidden = true;
	if (event.offsetX < LABEL_WIDTH - 8 || event.altKey)
		view.scroll += event.deltaY * lines;
	else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY))
		axisPan((event.deltaX || event.deltaY) * lines);
	else
		axisZoom(Math.exp(Math.max(-300, Math.min(300, event.deltaY * lines)) * 0.002), event.offsetX);
	pageChanged();
}

function bindOverview()
{
	const go = (event) => {
		const { model } = page;
		const middle = model.from + (event.offsetX - LABEL_WIDTH) / axis.width * (model.to - model.from);

		axisPan((middle - (axis.from + axis.to) / 2) / (axis.to - axis.from) * axis.width);
		pageChanged();
	};

	page.overview.addEventListener("pointerdown", (event) => {
		page.overview.setPointerCapture(event.pointerId);
		go(event);
	});
	page.overview.addEventListener("pointermove", (event) => {
		if (event.buttons & 1)
			go(event);
	});
}

const KEYS = {
	ArrowLeft: () => axisPan(-axis.width / 8),
	ArrowRight: () => axisPan(axis.width / 8),
	ArrowUp: () => { sequence.scroll -= 40; },
	ArrowDown: () => { sequence.scroll += 40; },
	PageUp: () => { regionMap.scroll -= REGION_HEIGHT + REGION_GAP; },
	PageDown: () => { regionMap.scroll += REGION_HEIGHT + REGION_GAP; },
	"+": () => axisZoom(0.5),
	"=": () => axisZoom(0.5),
	"-": () => axisZoom(2),
	0: axisFit,
	Home: axisFit,
	n: () => pageStep(page.model.list, 1),
	p: () => pageStep(page.model.list, -1),
	r: () => pageStep(page.model.refusals, 1),
	R: () => pageStep(page.model.refusals, -1),
	Escape: () => pageSelect(-1),
	"/": () => byId("search").focus(),
};

function bindKeys()
{
	document.addEventListener("keydown", (event) => {
		const typing = event.target instanceof HTMLInputElement && event.target.type !== "checkbox";

		if (typing && event.key === "Escape")
			event.target.blur();
		if (typing || event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key))
			return;
		event.preventDefault();
		KEYS[event.key]();
		pageChanged();
	});
}

// What tests ask the page: where an op was drawn in the window, and how much the last frame drew.
function pageWhere(op)
{
	const hit = sequence.hits.find((it) => it.op === op), box = sequence.canvas.getBoundingClientRect();

	return hit ? { x: box.left + hit.x + hit.w / 2, y: box.top + hit.y + hit.h / 2 } : null;
}

function pageState()
{
	return { ops: page.model.ops.count, shown: page.model.list.length, drawn: paint.drawn, dense: sequence.dense,
		inView: sequence.inView, from: axis.from, to: axis.to, select: page.select, frames: page.frames,
		idle: !page.dirty, regions: regionMap.rows.length };
}

function pageTrouble(sentence)
{
	byId("trouble").textContent = `This page cannot be shown: ${sentence}. Write it again with emu_trace --html.`;
	byId("trouble").hidden = false;
	byId("page").hidden = true;
}

function pageStart()
{
	const data = byId("data");

	page.model = modelRead(data ? data.textContent : "");
	axis.model = page.model;
	page.overview = byId("overview");
	sequence.canvas = byId("sequence");
	regionMap.canvas = byId("regions");
	byId("trouble").hidden = true;
	byId("page").hidden = false;
	paintColors();
	headerFill(page.model);
	filtersFill(page.model, page.filter, pageFilter);
	bindFilters();
	[sequence, regionMap].forEach(bindView);
	bindOverview();
	bindKeys();
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
		paintColors();
		filtersFill(page.model, page.filter, pageFilter);
		pageChanged();
	});
	new ResizeObserver(pageChanged).observe(sequence.canvas);
	axisFit();
	pageSelect(-1);
	pageFilter();
}

document.addEventListener("DOMContentLoaded", () => {
	try {
		pageStart();
	} catch (error) {
		pageTrouble(error.message);
		if (!(error instanceof Error) || error.name !== "Error")
			throw error;	// our own fault, for the console
	}
});
