// SPDX-License-Identifier: BSD-2-Clause
/* page_sequence.js - the sequence diagram: a lane for each process, bars for its ops, arrows for the frames between them */
"use strict";

const ROW_HEIGHT = 18, BAR_HEIGHT = 14, SERVICE_HEIGHT = 8;
const LANE_HEAD = 26;		// above the rows of ops: the marks, and the band of what the process serves
const LANE_GAP_MAX = 90;
const DETAIL_MAX = 2500;	// single ops in view; of more, their density is drawn
const ARROWS_MAX = 5000;
const FREE_MAX = 200;		// frames that belong to no op
const BIN = 3;			// pixels

const sequence = { canvas: null, scroll: 0, lanes: [], height: 0, hits: [], dense: false };

// Where each lane lies. Few lanes share the height that is left, so that arrows have room.
function sequenceLayout(model, hidden, height)
{
	const lanes = [];
	let total = AXIS_HEIGHT + 4;

	for (let process = 0; process < model.processes.length; process++)
		if (!hidden.has(process)) {
			lanes.push({ process, height: LANE_HEAD + model.rows[process] * ROW_HEIGHT + 6 });
			total += LANE_HEAD + model.rows[process] * ROW_HEIGHT + 6;
		}
	const gap = Math.min(LANE_GAP_MAX, Math.max(14, (height - total - 10) / Math.max(lanes.length, 1)));
	let top = AXIS_HEIGHT + 4;

	sequence.laneOf = new Map();
	for (const lane of lanes) {
		lane.top = top;
		sequence.laneOf.set(lane.process, lane);
		top += lane.height + gap;
	}
	sequence.lanes = lanes;
	sequence.height = top;
	sequence.scroll = Math.max(0, Math.min(sequence.scroll, top - height));
}

function laneServiceY(lane)
{
	return lane.top - sequence.scroll + LANE_HEAD - SERVICE_HEIGHT - 3;
}

function laneRowY(lane, row)
{
	return lane.top - sequence.scroll + LANE_HEAD + row * ROW_HEIGHT;
}

// Shown ops within the window of time; its length decides between single ops and density.
function sequenceInView(model)
{
	const { ops } = model;
	const first = axis.from, last = axis.to;

	return model.list.filter((op) => ops.posted[op] <= last && (ops.end[op] >= first || ops.answer[op] >= first));
}

function opColor(model, op)
{
	const verdict = model.ops.verdict[op];

	return verdict === REFUSED ? paint.colors.refused : verdict === 2 ? paint.colors.partial :
		paintKind(modelString(model, model.ops.kind[op]));
}

function opWords(model, op)
{
	const { ops } = model;
	const key = modelString(model, ops.key[op]);

	return `${modelString(model, ops.kind[op])} ${sizeWords(ops.length[op])}${key ? ` key ${key}` : ""}`;
}

// The column of names, over what the drawing left there.
function drawLaneNames(context, model, height)
{
	context.fillStyle = paint.colors.ground;
	context.fillRect(0, 0, LABEL_WIDTH - 8, height);
	context.fillStyle = paint.colors.faint;
	context.fillText("Processes", 10, AXIS_HEIGHT / 2);
	paintClip(context, 0, LABEL_WIDTH - 8, height);
	for (const lane of sequence.lanes) {
		const y = lane.top - sequence.scroll;
		const process = model.processes[lane.process];

		if (y > height || y + lane.height < AXIS_HEIGHT)
			continue;
		context.fillStyle = paint.colors.band;
		context.fillRect(0, y, LABEL_WIDTH - 8, lane.height);
		context.font = `600 ${paint.font}`;
		context.fillStyle = paint.colors.ink;
		context.fillText(paintFit(context, modelProcessName(model, lane.process), LABEL_WIDTH - 24), 10, y + 13);
		context.font = paint.small;
		context.fillStyle = process.partial ? paint.colors.partial : paint.colors.faint;
		context.fillText(paintFit(context, process.partial ? "partial" : process.host || "", LABEL_WIDTH - 24), 10, y + 30);
	}
	context.font = paint.font;
	context.restore();
}

function drawLaneGrounds(context, width, height)
{
	paintClip(context, 0, width, height);
	for (const lane of sequence.lanes) {
		const y = lane.top - sequence.scroll;

		if (y > height || y + lane.height < AXIS_HEIGHT)
			continue;
		context.fillStyle = paint.colors.band;
		context.fillRect(0, y, width, lane.height);
	}
	context.restore();
}

// Bars of a lane's ops, and the band of what it serves for others. Returns the bars, row by row, for their labels.
function drawBars(context, model, list, select)
{
	const { ops } = model;
	const bars = [];

	for (const op of list) {
		const lane = sequence.laneOf.get(ops.by[op]), target = sequence.laneOf.get(ops.to[op]);

		context.fillStyle = opColor(model, op);
		context.globalAlpha = select >= 0 && op !== select ? 0.4 : 1;
		if (lane) {
			const x = axisX(ops.posted[op]), w = Math.max(axisX(ops.end[op]) - x, 3), y = laneRowY(lane, ops.row[op]);

			context.fillRect(x, y, w, BAR_HEIGHT);
			bars.push({ op, x, y, w, h: BAR_HEIGHT });
			paint.drawn++;
		}
		if (target && ops.arrival[op] >= 0) {
			const x = axisX(ops.arrival[op]), w = Math.max(axisX(ops.answer[op]) - x, 3), y = laneServiceY(target);

			context.fillRect(x, y, w, SERVICE_HEIGHT);
			sequence.hits.push({ op, x, y, w, h: SERVICE_HEIGHT });
			paint.drawn++;
		}
	}
	context.globalAlpha = 1;
	sequence.hits.push(...bars);
	return bars;
}

// Inside of a bar if it is wide enough, else right of it, up to the next bar of its row.
function drawBarLabels(context, model, bars, select)
{
	const next = new Map();

	context.font = paint.small;
	for (let i = bars.length - 1; i >= 0; i--) {
		const bar = bars[i];
		const left = Math.max(bar.x, LABEL_WIDTH), right = bar.x + bar.w;
		const free = Math.min(next.get(bar.y) ?? Infinity, LABEL_WIDTH + axis.width) - right - 8;
		const words = opWords(model, bar.op);

		next.set(bar.y, Math.min(next.get(bar.y) ?? 1e9, bar.x));
		paint.labels.push([bar.x, bar.y, right, bar.y + BAR_HEIGHT]);	// no label of an arrow lies upon it
		context.globalAlpha = select >= 0 && bar.op !== select ? 0.6 : 1;
		if (right - left > 50) {
			context.fillStyle = paint.colors.ground;
			context.fillText(paintFit(context, words, right - left - 8), left + 4, bar.y + BAR_HEIGHT / 2 + 0.5);
		} else if (free > 60 && right > LABEL_WIDTH) {
			context.fillStyle = model.ops.verdict[bar.op] === REFUSED ? paint.colors.refused : paint.colors.ink;
			context.fillText(paintFit(context, words, free), right + 4, bar.y + BAR_HEIGHT / 2 + 0.5);
		}
	}
	context.globalAlpha = 1;
	context.font = paint.font;
}

// Where a process joins in an op: the initiator at the op's bar, others at the band of what they serve.
function laneLevel(model, lane, process, op)
{
	return op >= 0 && process === model.ops.by[op] ? laneRowY(lane, model.ops.row[op]) + BAR_HEIGHT / 2 :
		laneServiceY(lane) + SERVICE_HEIGHT / 2;
}

// An arrow from one process at a time to another one. An end whose time is not in the trace makes a dotted stub.
function arrowLine(model, arrow)
{
	const by = sequence.laneOf.get(arrow.by), to = sequence.laneOf.get(arrow.to);

	if (!by || !to || by === to || (arrow.sent < 0 && arrow.received < 0))
		return null;
	const line = { ...arrow, stub: arrow.sent < 0 || arrow.received < 0,
		y0: laneLevel(model, by, arrow.by, arrow.op), y1: laneLevel(model, to, arrow.to, arrow.op),
		x0: axisX(arrow.sent >= 0 ? arrow.sent : arrow.received), x1: axisX(arrow.received >= 0 ? arrow.received : arrow.sent) };

	return Math.max(line.x0, line.x1) >= LABEL_WIDTH && Math.min(line.x0, line.x1) <= LABEL_WIDTH + axis.width ? line : null;
}

function frameArrow(model, frame)
{
	const { frames, ops } = model;
	const op = frames.op[frame];

	return { op, by: frames.by[frame], to: frames.to[frame], sent: frames.sent[frame], received: frames.received[frame],
		answer: op < 0 || frames.by[frame] !== ops.by[op], words: modelString(model, frames.type[frame]) };
}

// The frames of an op; where the trace has none in a direction, what the op's own times say of it.
function opArrows(model, op)
{
	const { ops } = model;
	const arrows = Array.from(modelFramesOf(model, op), (frame) => frameArrow(model, frame));

	if (!arrows.some((arrow) => !arrow.answer) && ops.sent[op] >= 0 && ops.arrival[op] >= 0)
		arrows.push({ op, by: ops.by[op], to: ops.to[op], sent: ops.sent[op], received: ops.arrival[op], answer: false,
			words: "request" });
	if (!arrows.some((arrow) => arrow.answer) && ops.arrival[op] >= 0 && ops.done[op] >= ops.answer[op])
		arrows.push({ op, by: ops.to[op], to: ops.by[op], sent: ops.answer[op], received: ops.done[op], answer: true,
			words: "acknowledged" });
	return arrows;
}

function drawArrow(context, line, color, width)
{
	const angle = Math.atan2(line.y1 - line.y0, line.x1 - line.x0);

	context.strokeStyle = context.fillStyle = color;
	context.lineWidth = width;
	context.setLineDash(line.stub ? [2, 3] : line.answer ? [6, 3] : []);
	context.beginPath();
	context.moveTo(line.x0, line.y0);
	context.lineTo(line.x1, line.y1);
	context.stroke();
	context.setLineDash([]);
	context.beginPath();
	context.moveTo(line.x1, line.y1);
	context.lineTo(line.x1 - 8 * Math.cos(angle - 0.38), line.y1 - 8 * Math.sin(angle - 0.38));
	context.lineTo(line.x1 - 8 * Math.cos(angle + 0.38), line.y1 - 8 * Math.sin(angle + 0.38));
	context.fill();
	paint.drawn++;
}

function drawArrows(context, model, arrows, select)
{
	const lines = arrows.map((arrow) => arrowLine(model, arrow)).filter((line) => line !== null).slice(0, ARROWS_MAX);

	for (const line of lines) {
		const refused = line.op >= 0 && model.ops.verdict[line.op] === REFUSED;
		const color = refused ? paint.colors.refused : line.answer ? paint.colors.answer : opColor(model, line.op);

		context.globalAlpha = select >= 0 && line.op !== select ? 0.3 : lines.length > 400 ? 0.6 : 1;
		drawArrow(context, line, color, line.op === select ? 2.5 : 1.2);
	}
	context.globalAlpha = 1;
	return lines;
}

function drawArrowLabels(context, model, lines, select)
{
	context.font = paint.small;
	for (const line of lines) {
		if (lines.length > 80 && line.op !== select)
			continue;
		const place = line.answer ? 0.7 : 0.62;	// of the way: so the labels of request and answer are one above the other
		const x = line.x0 + (line.x1 - line.x0) * place + 6, y = line.y0 + (line.y1 - line.y0) * place;

		if (x > LABEL_WIDTH && x < LABEL_WIDTH + axis.width)
			paintLabel(context, line.words, x, y, line.op >= 0 && model.ops.verdict[line.op] === REFUSED ?
				paint.colors.refused : paint.colors.faint);
	}
	context.font = paint.font;
}

// Arrows of all ops that are drawn singly, and of frames that belong to none while these are few.
function sequenceArrows(model, single, select)
{
	const { frames } = model;
	const free = model.freeFrames.filter((frame) => Math.max(frames.sent[frame], frames.received[frame]) >= axis.from &&
		Math.min(frames.sent[frame], frames.received[frame]) <= axis.to);
	const arrows = free.length <= FREE_MAX ? free.map((frame) => frameArrow(model, frame)) : [];

	for (const op of single)
		if (op !== select)
			arrows.push(...opArrows(model, op));
	return arrows;
}

// What happened beside ops: a triangle on the lane, with its text where there is room.
function drawMarks(context, model)
{
	const { marks } = model;
	let last = -1, count = 0;

	context.font = paint.small;
	for (let i = 0; i < marks.count; i++) {
		const lane = sequence.laneOf.get(marks.process[i]), x = axisX(marks.time[i]);

		if (!lane || x < LABEL_WIDTH || x > LABEL_WIDTH + axis.width || (Math.abs(x - last) < 2 && count > 200))
			continue;
		const y = lane.top - sequence.scroll + 6;

		context.fillStyle = paint.colors.accent;
		context.beginPath();
		context.moveTo(x, y + 5);
		context.lineTo(x - 4, y - 3);
		context.lineTo(x + 4, y - 3);
		context.fill();
		paint.drawn++;
		sequence.hits.push({ mark: i, x: x - 4, y: y - 3, w: 8, h: 8, op: -1 });
		if (count++ < 200)
			paintLabel(context, paintFit(context, modelString(model, marks.text[i]), 180), x + 8, y, paint.colors.faint);
		last = x;
	}
	context.font = paint.font;
}

// How many ops, and of these refused, begin in each bin of pixels: for each lane, the busiest bin has the lane's height.
function sequenceBins(model, list)
{
	const size = Math.ceil(axis.width / BIN) + 1;
	const bins = new Map();

	for (const lane of sequence.lanes)
		bins.set(lane.process, { all: new Uint32Array(size), refused: new Uint32Array(size), served: new Uint32Array(size) });
	for (const op of list) {
		const { ops } = model;
		const at = Math.floor((axisX(ops.posted[op]) - LABEL_WIDTH) / BIN);
		const served = Math.floor((axisX(ops.arrival[op]) - LABEL_WIDTH) / BIN);
		const by = bins.get(ops.by[op]), to = bins.get(ops.to[op]);

		if (by && at >= 0 && at < size) {
			by.all[at]++;
			by.refused[at] += ops.verdict[op] === REFUSED;
		}
		if (to && ops.arrival[op] >= 0 && served >= 0 && served < size)
			to.served[served] += 1 + (ops.verdict[op] === REFUSED) * 0x10000;
	}
	return bins;
}

function drawLaneDensity(context, lane, bins)
{
	const height = lane.height - LANE_HEAD - 4;
	const base = laneRowY(lane, 0) + height;
	const most = bins.all.reduce((a, b) => Math.max(a, b), 1);

	for (let i = 0; i < bins.all.length; i++) {
		const x = LABEL_WIDTH + i * BIN;
		const all = bins.all[i] ? Math.max(2, bins.all[i] / most * height) : 0;

		if (all) {
			context.fillStyle = paint.colors.density;
			context.fillRect(x, base - all, BIN - 0.5, all);
			paint.drawn++;
		}
		if (bins.refused[i]) {
			const red = Math.max(4, bins.refused[i] / most * height);

			context.fillStyle = paint.colors.refused;
			context.fillRect(x, base - red, BIN - 0.5, red);
			paint.drawn++;
		}
		if (bins.served[i]) {
			context.fillStyle = paint.colors.answer;
			context.fillRect(x, laneServiceY(lane), BIN - 0.5, SERVICE_HEIGHT);
			context.fillStyle = paint.colors.refused;
			context.fillRect(x, laneServiceY(lane) + SERVICE_HEIGHT, BIN - 0.5, bins.served[i] >= 0x10000 ? 3 : 0);
			paint.drawn++;
		}
	}
}

function drawSelectedBar(context, bar)
{
	context.strokeStyle = paint.colors.ink;
	context.lineWidth = 2;
	if (bar)
		context.strokeRect(bar.x - 1, bar.y - 1, bar.w + 2, bar.h + 2);
}

function sequenceDraw(model, filter, select)
{
	const { context, width, height } = paintBegin(sequence.canvas);
	const list = sequenceInView(model);

	sequenceLayout(model, filter.processes, height);
	sequence.hits = [];
	sequence.dense = list.length > DETAIL_MAX;
	sequence.inView = list.length;
	drawLaneGrounds(context, width, height);
	paintAxis(context, height);
	paintClip(context, LABEL_WIDTH - 8, width, height);
	if (sequence.dense)
		for (const [process, bins] of sequenceBins(model, list))
			drawLaneDensity(context, sequence.laneOf.get(process), bins);
	const single = sequence.dense ? [select].filter((op) => op >= 0 && model.shown[op]) : list;

	let lines = drawArrows(context, model, sequenceArrows(model, single, select), select);
	const bars = drawBars(context, model, single, select);

	if (select >= 0 && model.shown[select]) {
		lines = drawArrows(context, model, opArrows(model, select), select).concat(lines);
		drawSelectedBar(context, bars.find((bar) => bar.op === select));
	}
	if (single.length < 800)
		drawBarLabels(context, model, bars, select);
	drawArrowLabels(context, model, lines, select);
	drawMarks(context, model);
	context.restore();
	drawLaneNames(context, model, height);
}
