import assert from "node:assert/strict";
import { test } from "node:test";
import type { Paint } from "../src/paint.ts";
import type { UsageAnswer, UsageRow } from "../src/pigrep.ts";
import { row } from "../src/text.ts";
import { money, Panel, usageLines, weekStart } from "../src/usage.ts";

const plain = (s: string) => s;
const paint: Paint = { border: plain, title: plain, accent: plain, dim: plain, mark: plain, error: plain, warning: plain, selected: plain };

function used(day: string, model: string, tokens: number, cost: number, unpriced = 0): UsageRow {
	return { day, model, tokens, cost, unpriced, input: tokens, output: 0, cacheRead: 0, cacheWrite: 0, sessions: 1 };
}

function answer(rows: UsageRow[]): UsageAnswer {
	const total = rows.reduce((s, r) => ({ ...s, tokens: s.tokens + r.tokens, cost: s.cost + r.cost }), used("", "", 0, 0));
	return { schemaVersion: 1, rows, total };
}

test("a week begins on Monday", () => {
	assert.equal(weekStart(new Date(2026, 10, 22, 23)), "2026-11-16"); // a Sunday
	assert.equal(weekStart(new Date(2026, 10, 16, 0)), "2026-11-16");
	assert.equal(weekStart(new Date(2026, 0, 1)), "2025-12-29");
});

test("a cost that lacks a price says so", () => {
	assert.equal(money({ cost: 1.234, unpriced: 0 }), "$1.23");
	assert.equal(money({ cost: 1.234, unpriced: 2 }), "≥$1.23");
	assert.equal(money({ cost: 0, unpriced: 2 }), "–");
});

test("days are in order, models by cost, each summed over the other", () => {
	const rows = [used("2026-11-17", "a/small", 1000, 0.1), used("2026-11-16", "a/big", 3000, 2), used("2026-11-17", "a/big", 500, 1)];
	const lines = usageLines(answer(rows), "/p", "2026-11-16", 76, paint).map((l) => row(l, 76).trimEnd());
	assert.match(lines[2] ?? "", /^\$3\.10 · 4\.5k tokens/);
	const tables = lines.slice(4).map((l) => l.replace(/[ █]+/g, " "));
	assert.deepEqual(tables, ["2026-11-16 3.0k $2.00", "2026-11-17 1.5k $1.10", "", "a/big 3.5k $3.00", "a/small 1.0k $0.10"]);
});

test("an empty week is said, and any size can be drawn", () => {
	assert.match(usageLines(answer([]), "/p", "2026-11-16", 40, paint).flat().map((p) => p.text).join(""), /nothing was used/);
	const rows = Array.from({ length: 9 }, (_, i) => used(`2026-11-1${i}`, `provider/a-model-with-a-long-name-${i}`, i * 1e6, i));
	let closed = false;
	const panel = new Panel((width) => usageLines(answer(rows), "/p", "x", width, paint), paint, () => 10, () => { closed = true; });
	for (const width of [30, 60, 84]) {
		const drawn = panel.render(width);
		assert.equal(drawn.length, 10);
		assert.ok(drawn.every((l) => l.length === width), drawn.join("\n"));
	}
	for (let i = 0; i < 50; i++) panel.handleInput("\x1b[B");
	assert.match(panel.render(84).join("\n"), /name-1/);
	panel.handleInput("\x1b");
	assert.ok(closed);
});
