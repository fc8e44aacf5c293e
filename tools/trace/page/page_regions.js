// SPDX-License-Identifier: BSD-2-Clause
/* page_regions.js - the map of the regions: a row for each, its addresses downwards, and upon it the accesses over time */
"use strict";

const REGION_HEIGHT = 66, REGION_GAP = 12;
const CELLS_MIN = 700;		// accesses in a row from which on they are drawn as cells
const CELL = 4;			// pixels

const regionMap = { canvas: null, scroll: 0, rows: [], height: 0, hits: [], all: false };

// Regions with a shown access, or all: by process, then by age.
function regionsLayout(model, filter, height)
{
	const wanted = model.regions.filter((region) => !filter.processes.has(region.process) &&
		(model.regionAccesses[region.index].length > 0 || (regionMap.all && !region.stray)));

	wanted.sort((a, b) => a.process - b.process || a.opened - b.opened || a.index - b.index);
	regionMap.rows = wanted.map((region, row) => ({ region, top: AXIS_HEIGHT + 8 + row * (REGION_HEIGHT + REGION_GAP) }));
	regionMap.height = AXIS_HEIGHT + 8 + wanted.length * (REGION_HEIGHT + REGION_GAP);
	regionMap.scroll = Math.max(0, Math.min(regionMap.scroll, regionMap.height - height));
}

function regionColor(region)
{
	const reads = region.access.some((right) => right.includes("READ"));
	const writes = region.access.some((right) => right.includes("WRITE"));
	const remote = region.access.some((right) => right.startsWith("REMOTE"));

	return paint.colors[!remote ? "right-local" : reads && writes ? "right-both" : reads ? "right-read" : "right-write"];
}

function regionWords(region)
{
	return region.stray ? "no such region" : `key ${region.key}`;
}

function rightsWords(region)
{
	return region.access.length > 0 ? region.access.map((right) => right.toLowerCase().replace("_", " ")).join(", ") : "no rights";
}

function drawRegionName(context, model, row, y)
{
	const { region } = row;
	const lines = region.stray ? ["refused: unknown key"] :
		[`${sizeWords(region.length)} at ${region.addr}`, rightsWords(region)];

	context.font = `600 ${paint.font}`;
	context.fillStyle = region.stray ? paint.colors.refused : paint.colors.ink;
	context.fillText(paintFit(context, regionWords(region), LABEL_WIDTH - 24), 10, y + 8);
	context.font = paint.small;
	context.fillStyle = paint.colors.faint;
	[modelProcessName(model, region.process), ...lines].forEach((line, i) =>
		context.fillText(paintFit(context, line, LABEL_WIDTH - 24), 10, y + 24 + i * 15));
	context.font = paint.font;
}

// The region's life as a box, with its rights inside. A box that ends with the trace has no right edge.
function drawRegionGround(context, model, row, y)
{
	const { region } = row;
	const left = Math.max(axisX(region.opened >= 0 ? region.opened : model.from), LABEL_WIDTH);
	const right = Math.min(axisX(region.closed >= 0 ? region.closed : model.to), LABEL_WIDTH + axis.width);

	context.fillStyle = paint.colors.band;
	context.fillRect(LABEL_WIDTH, y, axis.width, REGION_HEIGHT);
	if (region.stray || right <= left)
		return;
	context.fillStyle = regionColor(region);
	context.fillRect(left, y, right - left, REGION_HEIGHT);
	context.fillStyle = paint.colors.faint;
	context.fillRect(left, y, 1, REGION_HEIGHT);
	if (region.closed >= 0)
		context.fillRect(right - 1, y, 1, REGION_HEIGHT);
}

// Offsets of the region's two ends, over the accesses.
function drawRegionEnds(context, row, y)
{
	const { length } = row.region;

	if (!(length > 0))
		return;
	context.font = paint.small;
	paintLabel(context, "+0", LABEL_WIDTH + 6, y + 9, paint.colors.faint);
	paintLabel(context, `+${sizeWords(length)}`, LABEL_WIDTH + 6, y + REGION_HEIGHT - 9, paint.colors.faint);
	context.font = paint.font;
}

// Where an access lies: time to the right, offset downwards; one that leaves the region stands out at its edge.
function accessBox(model, row, access, y)
{
	const { ops, accesses } = model;
	const length = row.region.length, op = accesses.op[access];
	const x = axisX(accesses.time[access]);
	const w = op >= 0 ? Math.max(axisX(ops.answer[op]) - x, 4) : 4;

	if (!(length > 0))
		return { x, w, y: y + REGION_HEIGHT / 2 - 4, h: 8 };
	const clamp = (at) => Math.max(-4, Math.min(at, REGION_HEIGHT + 4));
	const top = clamp(accesses.offset[access] / length * REGION_HEIGHT);
	const bottom = clamp((accesses.offset[access] + accesses.length[access]) / length * REGION_HEIGHT);
	const h = Math.max(bottom - top, 4);

	return { x, w, y: y + Math.min(top, REGION_HEIGHT + 4 - h), h };
}

function accessColor(model, access)
{
	const op = model.accesses.op[access];

	return model.accesses.refused[access] ? paint.colors.refused : op >= 0 ? opColor(model, op) : paint.colors.other;
}

function drawAccesses(context, model, row, list, y, select)
{
	for (const refused of [0, 1])	// the refused ones above the others
		for (const access of list) {
			const box = accessBox(model, row, access, y), op = model.accesses.op[access];

			if (model.accesses.refused[access] !== refused)
				continue;
			context.globalAlpha = select >= 0 && op !== select ? 0.4 : 0.9;
			context.fillStyle = accessColor(model, access);
			context.fillRect(box.x, box.y, box.w, box.h);
			if (op >= 0)
				regionMap.hits.push({ op, ...box });
			paint.drawn++;
		}
	context.globalAlpha = 1;
}

// Many accesses as cells of a grid: each is drawn once, whatever lies in it.
function drawCells(context, model, row, list, y)
{
	const cells = new Map();

	for (const access of list) {
		const box = accessBox(model, row, access, y);
		const column = Math.floor(box.x / CELL), first = Math.floor((box.y - y) / CELL);
		const last = Math.floor((box.y + box.h - y - 1) / CELL);

		for (let line = first; line <= last; line++) {
			const cell = column * 64 + line + 1;

			if (model.accesses.refused[access] || !cells.has(cell))
				cells.set(cell, access);
		}
	}
	for (const [cell, access] of cells) {
		context.fillStyle = accessColor(model, access);
		context.fillRect(Math.floor(cell / 64) * CELL, y + (cell % 64 - 1) * CELL, CELL - 0.5, CELL - 0.5);
		paint.drawn++;
	}
}

function drawSelectedAccess(context, model, row, op, y)
{
	const box = accessBox(model, row, model.ops.access[op], y);

	context.strokeStyle = paint.colors.ink;
	context.lineWidth = 2;
	context.fillStyle = opColor(model, op);
	context.fillRect(box.x, box.y, box.w, box.h);
	context.strokeRect(box.x - 2, box.y - 2, box.w + 4, box.h + 4);
}

function drawRegionRow(context, model, row, select, width, height)
{
	const y = row.top - regionMap.scroll;
	const { ops, accesses } = model;
	const list = model.regionAccesses[row.region.index].filter((access) => accesses.time[access] <= axis.to &&
		Math.max(accesses.time[access], accesses.op[access] >= 0 ? ops.answer[accesses.op[access]] : 0) >= axis.from);

	paintClip(context, 0, LABEL_WIDTH - 8, height);
	drawRegionName(context, model, row, y);
	context.restore();
	paintClip(context, LABEL_WIDTH, width, height);
	drawRegionGround(context, model, row, y);
	if (list.length > CELLS_MIN)
		drawCells(context, model, row, list, y);
	else
		drawAccesses(context, model, row, list, y, select);
	if (select >= 0 && modelRegionOf(model, select) === row.region && model.shown[select])
		drawSelectedAccess(context, model, row, select, y);
	drawRegionEnds(context, row, y);
	context.restore();
}

function regionsDraw(model, filter, select)
{
	const { context, width, height } = paintBegin(regionMap.canvas);

	regionsLayout(model, filter, height);
	regionMap.hits = [];
	paintAxis(context, height);
	context.fillStyle = paint.colors.faint;
	context.fillText("Memory regions", 10, AXIS_HEIGHT / 2);
	for (const row of regionMap.rows)
		if (row.top - regionMap.scroll < height && row.top - regionMap.scroll + REGION_HEIGHT > AXIS_HEIGHT - 8)
			drawRegionRow(context, model, row, select, width, height);
	if (regionMap.rows.length === 0)
		context.fillText("No shown op reaches a region.", LABEL_WIDTH, AXIS_HEIGHT + 20);
}

// Scrolls a region of the selected op into the window.
function regionsReveal(model, op)
{
	const row = regionMap.rows.find((it) => it.region === modelRegionOf(model, op));
	const height = regionMap.canvas.clientHeight;

	if (row && (row.top - regionMap.scroll < AXIS_HEIGHT || row.top + REGION_HEIGHT - regionMap.scroll > height))
		regionMap.scroll = Math.max(0, row.top - AXIS_HEIGHT - 8);
}
