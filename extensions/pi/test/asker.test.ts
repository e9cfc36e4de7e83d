import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Asker, type Question } from "../src/asker.ts";
import { Failure, type Progress } from "../src/pigrep.ts";

interface Asked {
	name: string;
	signal: AbortSignal;
	progress: (at: Progress) => void;
	answer: (value: string) => void;
	fail: (error: Error) => void;
}

let asked: Asked[] = [];
let delivered: (string | Failure)[] = [];
beforeEach(() => {
	asked = [];
	delivered = [];
});

function newAsker(): Asker<string> {
	return new Asker<string>((a) => delivered.push(a), (f) => delivered.push(f));
}

function question(name: string): Question<string> {
	return (signal, progress) =>
		new Promise((answer, fail) => {
			signal.addEventListener("abort", () => fail(new Failure("stopped", "Stopped")));
			asked.push({ name, signal, progress, answer, fail });
		});
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

test("only the last of several keys is a question", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const asker = newAsker();
	for (const name of ["t", "to", "tok"]) {
		asker.ask(question(name), 80);
		t.mock.timers.tick(79);
	}
	assert.equal(asked.length, 0);
	t.mock.timers.tick(1);
	assert.deepEqual(asked.map((a) => a.name), ["tok"]);
	asked[0]?.answer("found");
	await settle();
	assert.deepEqual(delivered, ["found"]);
	assert.equal(asker.since, undefined);
});

test("a new question ends the process of the last, whose answer is not shown", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const asker = newAsker();
	asker.ask(question("a"), 80);
	t.mock.timers.tick(80);
	asker.ask(question("b"), 80);
	assert.equal(asked[0]?.signal.aborted, false, "until the keys rest");
	t.mock.timers.tick(80);
	assert.equal(asked[0]?.signal.aborted, true);
	asked[1]?.answer("b");
	await settle();
	assert.deepEqual(delivered, ["b"]);
});

test("a process that builds the index is not ended by typing; the last question comes next", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const asker = newAsker();
	asker.ask(question("a"), 80);
	t.mock.timers.tick(80);
	asked[0]?.progress({ files: 9, bytes: 1, bytesTotal: 2, first: true });
	for (const name of ["b", "c"]) {
		asker.ask(question(name), 80);
		t.mock.timers.tick(80);
	}
	assert.equal(asked.length, 1);
	assert.equal(asked[0]?.signal.aborted, false);
	assert.equal(asker.progress?.bytesTotal, 2);
	asked[0]?.answer("a");
	await settle();
	assert.deepEqual(delivered, []);
	assert.deepEqual(asked.map((a) => a.name), ["a", "c"]);
	assert.equal(asker.progress, undefined);
	asked[1]?.answer("c");
	await settle();
	assert.deepEqual(delivered, ["c"]);
});

test("stopping ends the process, and nothing is delivered", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const asker = newAsker();
	asker.ask(question("a"), 0);
	t.mock.timers.tick(0);
	asker.ask(question("b"), 80);
	asker.stop();
	t.mock.timers.tick(80);
	await settle();
	assert.equal(asked[0]?.signal.aborted, true);
	assert.equal(asked.length, 1);
	assert.deepEqual(delivered, []);
	assert.equal(asker.since, undefined);
});

test("whatever is thrown becomes a failure", async (t) => {
	t.mock.timers.enable({ apis: ["setTimeout"] });
	const asker = newAsker();
	asker.ask(() => Promise.reject(new TypeError("x")), 0);
	t.mock.timers.tick(0);
	await settle();
	assert.ok(delivered[0] instanceof Failure);
	assert.equal(delivered[0].message, "x");
});
