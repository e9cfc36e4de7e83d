import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Failure, Pigrep } from "../src/pigrep.ts";

const dir = mkdtempSync(join(tmpdir(), "pi-pigrep-"));
after(() => rmSync(dir, { recursive: true, force: true }));

/** A program that answers as the script says. */
function fake(script: string): Pigrep {
	const path = join(dir, `pigrep-${Math.random().toString(36).slice(2)}`);
	writeFileSync(path, `#!/bin/sh\n${script}\n`);
	chmodSync(path, 0o755);
	return new Pigrep(path);
}

async function failure(answer: Promise<unknown>): Promise<Failure> {
	const error = await answer.then(
		() => assert.fail("no failure"),
		(e: unknown) => e,
	);
	assert.ok(error instanceof Failure, String(error));
	return error;
}

test("a program that is not installed is not nothing found", async () => {
	const f = await failure(new Pigrep(join(dir, "nowhere")).search("x"));
	assert.equal(f.kind, "missing");
	assert.match(f.sentence, /is not installed; put it on the PATH/);
});

test("a working directory that is gone is not a missing program", async () => {
	const client = fake(`echo '{"schemaVersion":1,"hits":[],"total":0,"totalAny":0}'`);
	const answer = await client.search("x", {}, { cwd: join(dir, "gone") });
	assert.deepEqual(answer.hits, []);
});

test("exit code 1 is an answer", async () => {
	const answer = await fake(`echo '{"schemaVersion":1,"hits":[],"total":0,"totalAny":0}'; exit 1`).search("x");
	assert.equal(answer.total, 0);
});

test("exit code 2 with an answer is one of an index that is behind", async () => {
	const answer = await fake(
		`echo '{"schemaVersion":1,"hits":[],"index":{"files":3,"pendingFiles":2,"pendingBytes":9,"complete":false}}'; exit 2`,
	).search("x");
	assert.equal(answer.index?.pendingFiles, 2);
});

test("an unknown flag and another version of the JSON are an old program", async () => {
	const usage = await failure(
		fake(`echo '{"error":{"code":"usage","message":"unknown flag --limit","hint":"h"}}' >&2; exit 2`).search("x"),
	);
	assert.equal(usage.kind, "old");
	assert.match(usage.sentence, /too old: unknown flag --limit; update it/);
	const named = await failure(fake(`echo '{"error":{"code":"usage","message":"there is no file x","hint":"h"}}' >&2; exit 2`).blame("x"));
	assert.equal(named.sentence, "there is no file x; h");
	for (const output of [`{"schemaVersion":2}`, `{}`, `not JSON`]) {
		assert.equal((await failure(fake(`echo '${output}'`).search("x"))).kind, "old", output);
	}
});

test("pigrep's own message and hint are kept, without control characters", async () => {
	const f = await failure(
		fake(
			`printf '%s\\n' '{"warning":{"message":"w"}}' '{"error":{"code":"query","message":"the \\u001b[31mquery\\u202e is empty","hint":"type words"}}' >&2; exit 2`,
		).search(""),
	);
	assert.equal(f.kind, "query");
	assert.equal(f.sentence, "the query is empty; type words");
	const damaged = await failure(
		fake(`echo '{"error":{"code":"index-damaged","message":"m","hint":"rebuild it: pigrep index --rebuild"}}' >&2; exit 2`).search("x"),
	);
	assert.equal(damaged.kind, "index");
	assert.match(damaged.sentence, /pigrep index --rebuild/);
});

test("a crash shows its first line", async () => {
	const f = await failure(fake(`echo "panic: x" >&2; exit 2`).search("x"));
	assert.equal(f.kind, "failed");
	assert.match(f.message, /panic: x/);
});

test("aborting ends the process", async () => {
	const controller = new AbortController();
	const answer = failure(fake("exec sleep 60").search("x", {}, { signal: controller.signal }));
	controller.abort();
	assert.equal((await answer).kind, "stopped");
});

test("characters at the border of chunks stay whole", async () => {
	const answer = await fake(
		`printf '{"schemaVersion":1,"hits":[],"didYouMean":"'; i=0; while [ $i -lt 20000 ]; do printf 'xä€😀'; i=$((i+1)); done; printf '"}'`,
	).search("x");
	assert.equal(answer.didYouMean, "xä€😀".repeat(20000));
});

test("a query is one argument, whatever it begins with", async () => {
	const client = fake(
		`for a in "$@"; do last=$a; done; printf '{"schemaVersion":1,"didYouMean":"%s","hits":[]}' "$last"`,
	);
	assert.equal((await client.search("--rm -rf $HOME")).didYouMean, "--rm -rf $HOME");
});
