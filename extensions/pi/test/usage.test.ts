import assert from "node:assert/strict";
import { test } from "node:test";
import type { Paint } from "../src/paint.ts";
import type { UsageAnswer, UsageRow } from "../src/pigrep.ts";
import { row } from "../src/text.ts";
import { money, Panel, type Span, spanOf, startOf, usageLines } from "../src/usage.ts";

const plain = (s: string) => s;
const paint: Paint = { border: plain, title: plain, accent: plain, dim: plain, mark: plain, error: plain, warning: plain, selected: plain };

function used(day: string, model: string, tokens: number, cost: number, unpriced = 0): UsageRow {
	return { day, model, tokens, cost, unpriced, input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, sessions: 1 };
}

function answer(rows: UsageRow[]): UsageAnswer {
	const total = rows.reduce((s, r) => ({ ...s, tokens: s.tokens + r.tokens, cost: s.cost + r.cost }), used("", "", 0, 0));
	return { schemaVersion: 1, rows, total };
}

const now = new Date(2026, 10, 20);
const week: Span = { period: "week", here: true };

test("a week begins on Monday, a month on its first day", () => {
	assert.equal(startOf("week", new Date(2026, 10, 22, 23)), "2026-11-16"); // a Sunday
	assert.equal(startOf("week", new Date(2026, 10, 16, 0)), "2026-11-16");
	assert.equal(startOf("week", new Date(2026, 0, 1)), "2025-12-29");
	assert.equal(startOf("month", new Date(2026, 10, 22, 23)), "2026-11-01");
	assert.equal(startOf("today", new Date(2026, 10, 22, 23)), "2026-11-22");
	assert.equal(startOf("all", now), undefined);
});

test("the words of the command are a period and where", () => {
	assert.deepEqual(spanOf(""), week);
	assert.deepEqual(spanOf("month everywhere"), { period: "month", here: false });
	assert.throws(() => spanOf("fortnight"), /usage: \/usage \[today\|week\|month\|all\] \[here\|everywhere\]/);
});

test("a cost that lacks a price says so", () => {
	assert.equal(money({ cost: 1.234, unpriced: 0 }), "$1.23");
	assert.equal(money({ cost: 1.234, unpriced: 2 }), "≥$1.23");
	assert.equal(money({ cost: 0, unpriced: 2 }), "–");
});

test("days are in order, models by cost, each summed over the other", () => {
	const rows = [used("2026-11-17", "a/small", 1000, 0.1), used("2026-11-16", "a/big", 3000, 2), used("2026-11-17", "a/big", 500, 1)];
	const lines = usageLines(answer(rows), week, "/p", now, 76, paint).map((l) => row(l, 76).trimEnd());
	assert.match(lines[2] ?? "", /^\$3\.10 · 4,500 tokens/);
	const tables = lines.slice(4).map((l) => l.replace(/[ █]+/g, " "));
	assert.deepEqual(tables, ["2026-11-16 3,000 $2.00", "2026-11-17 1,500 $1.10", "", "a/big 3,500 $3.00", "a/small 1,000 $0.10"]);
});

test("an empty week is said, any size can be drawn, and keys ask for another span", async () => {
	assert.match(usageLines(answer([]), week, "/p", now, 40, paint).flat().map((p) => p.text).join(""), /nothing was used/);
	const rows = Array.from({ length: 9 }, (_, i) => used(`2026-11-1${i}`, `provider/a-model-with-a-long-name-${i}`, i * 1e6, i));
	let closed = false;
	const asked: Span[] = [];
	const ask = async (span: Span) => {
		asked.push(span);
		return answer(rows);
	};
	const panel = new Panel({ cwd: "/p", paint, now: () => now, rows: () => 10, redraw: () => {}, ask, done: () => { closed = true; } }, week);
	await new Promise((resolve) => setTimeout(resolve, 5));
	for (const width of [30, 60, 84]) {
		const drawn = panel.render(width);
		assert.equal(drawn.length, 10);
		assert.ok(drawn.every((l) => l.length === width), drawn.join("\n"));
	}
	for (let i = 0; i < 50; i++) panel.handleInput("\x1b[B");
	assert.match(panel.render(84).join("\n"), /name-1/);
	for (const key of ["m", "h", "\x1b[C", "\x1b[D", "t"]) panel.handleInput(key);
	assert.deepEqual(asked.slice(1).map((s) => `${s.period} ${s.here}`), ["month true", "month false", "all false", "month false", "today false"]);
	await new Promise((resolve) => setTimeout(resolve, 5));
	assert.match(panel.render(84).join("\n"), /all projects · today/);
	panel.handleInput("\x1b");
	assert.ok(closed);
});
