// SPDX-License-Identifier: BSD-2-Clause
/* page_axis.js - the time axis that both drawings share: zoom, pan, ticks, words for times; and the paint: colours and labels */
"use strict";

const LABEL_WIDTH = 196;	// of the names left of the drawings
const AXIS_HEIGHT = 24;
const SPAN_MIN = 20;		// nanoseconds across the whole width

const axis = { from: 0, to: 1, width: 100, model: null };

function axisX(time)
{
	return LABEL_WIDTH + (time - axis.from) / (axis.to - axis.from) * axis.width;
}

function axisTime(x)
{
	return axis.from + (x - LABEL_WIDTH) / axis.width * (axis.to - axis.from);
}

// Keeps the window inside of the trace, and not too narrow to divide by.
function axisSet(from, to)
{
	const { model } = axis;
	const whole = model.to - model.from;
	const span = Math.min(Math.max(to - from, Math.min(SPAN_MIN, whole)), whole);
	const start = Math.min(Math.max((from + to - span) / 2, model.from), model.to - span);

	axis.from = start;
	axis.to = start + span;
}

function axisZoom(factor, x)
{
	const middle = x === undefined ? (axis.from + axis.to) / 2 : axisTime(x);

	axisSet(middle - (middle - axis.from) * factor, middle + (axis.to - middle) * factor);
}

function axisPan(pixels)
{
	const time = pixels / axis.width * (axis.to - axis.from);

	axisSet(axis.from + time, axis.to + time);
}

function axisFit()
{
	axisSet(axis.model.from, axis.model.to);
}

// An op in the middle, with room on both sides.
function axisShow(from, to)
{
	const span = Math.max((to - from) * 3, SPAN_MIN);
	const middle = (from + to) / 2;

	if (from >= axis.from && to <= axis.to && axisX(to) - axisX(from) > 24)
		return;
	axisSet(middle - span / 2, middle + span / 2);
}

function timeUnit(span)
{
	return span >= 2e9 ? [1e9, "s"] : span >= 2e6 ? [1e6, "ms"] : span >= 2e3 ? [1e3, "µs"] : [1, "ns"];
}

// A time since the trace's start, or a duration, with four digits or so.
function timeWords(ns)
{
	const [unit, name] = timeUnit(Math.abs(ns));
	const value = ns / unit;
	const digits = unit === 1 ? 0 : Math.max(0, 3 - Math.floor(Math.log10(Math.max(Math.abs(value), 1))));

	return `${value.toFixed(digits)} ${name}`;
}

// All of its digits, in microseconds.
function timeExact(ns)
{
	return ns < 0 ? "not in the trace" : `${(ns / 1e3).toLocaleString("en", { minimumFractionDigits: 3 })} µs`;
}

function sizeWords(bytes)
{
	for (const [unit, name] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]])
		if (bytes >= unit)
			return `${Number((bytes / unit).toFixed(1))} ${name}`;
	return `${bytes} B`;
}

function countWords(count, one)
{
	return `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
}

// Times of ticks, at steps of 1, 2 or 5, about 110 pixels apart.
function axisTicks()
{
	const rough = (axis.to - axis.from) / axis.width * 110;
	const power = 10 ** Math.floor(Math.log10(rough));
	const step = power * [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999);
	const ticks = [];

	for (let time = Math.ceil(axis.from / step) * step; time <= axis.to; time += step)
		ticks.push(time);
	return { ticks, step };
}

const paint = { colors: {}, labels: [], drawn: 0 };

// The colours stand in page.css, where the surrounding decides between dark and light.
function paintColors()
{
	const style = getComputedStyle(document.documentElement);

	for (const name of ["ground", "band", "line", "ink", "faint", "accent", "refused", "partial", "density", "write", "read", "send",
		"atomic", "other", "answer", "right-read", "right-write", "right-both", "right-local"])
		paint.colors[name] = style.getPropertyValue(`--${name}`).trim();
	paint.font = `12px ${style.getPropertyValue("--font")}`;
	paint.small = `11px ${style.getPropertyValue("--font")}`;
}

function paintKind(name)
{
	const kinds = ["atomic", "write", "read", "send"];

	return paint.colors[kinds.find((kind) => name.includes(kind)) || "other"];
}

// A canvas of the size of its element, in its own pixels.
function paintBegin(canvas)
{
	const scale = window.devicePixelRatio || 1;
	const width = canvas.clientWidth, height = canvas.clientHeight;
	const context = canvas.getContext("2d");

	if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
		canvas.width = Math.round(width * scale);
		canvas.height = Math.round(height * scale);
	}
	context.setTransform(scale, 0, 0, scale, 0, 0);
	context.fillStyle = paint.colors.ground;
	context.fillRect(0, 0, width, height);
	context.font = paint.font;
	context.textBaseline = "middle";
	paint.labels = [];
	return { context, width, height };
}

// What is drawn until restore() stays below the axis, and between two x.
function paintClip(context, from, to, height)
{
	context.save();
	context.beginPath();
	context.rect(from, AXIS_HEIGHT, to - from, height - AXIS_HEIGHT);
	context.clip();
}

// Cuts a text to a width, with an ellipsis.
function paintFit(context, text, width)
{
	if (context.measureText(text).width <= width)
		return text;
	let length = Math.floor(text.length * width / Math.max(context.measureText(text).width, 1));

	while (length > 0 && context.measureText(`${text.slice(0, length)}…`).width > width)
		length--;
	return length > 0 ? `${text.slice(0, length)}…` : "";
}

// A label, unless it would lie upon another one of this drawing.
function paintLabel(context, text, x, y, color)
{
	const width = context.measureText(text).width;
	const box = [x - 3, y - 8, x + width + 3, y + 8];

	if (paint.labels.some((other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1]))
		return false;
	paint.labels.push(box);
	context.fillStyle = paint.colors.ground;
	context.globalAlpha = 0.8;
	context.fillRect(box[0], box[1], box[2] - box[0], 16);
	context.globalAlpha = 1;
	context.fillStyle = color;
	context.fillText(text, x, y + 0.5);
	return true;
}

// The ticks with their times, and lines down through the drawing.
function paintAxis(context, height)
{
	const { ticks, step } = axisTicks();
	const [unit, name] = timeUnit(axis.to - axis.from);
	const digits = Math.max(0, -Math.floor(Math.log10(step / unit) + 1e-9));

	context.font = paint.small;
	context.textAlign = "center";
	for (const tick of ticks) {
		const x = Math.round(axisX(tick)) + 0.5;

		context.fillStyle = paint.colors.line;
		context.fillRect(x - 0.5, AXIS_HEIGHT - 5, 1, height);
		context.fillStyle = paint.colors.faint;
		if (x < LABEL_WIDTH + axis.width - 30 && x > LABEL_WIDTH + 20)
			context.fillText(`${(tick / unit).toFixed(digits)} ${name}`, x, AXIS_HEIGHT / 2 - 1);
	}
	context.textAlign = "left";
	context.font = paint.font;
}
