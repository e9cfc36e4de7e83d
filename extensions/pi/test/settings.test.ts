import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { runsCommands } from "../src/commands.ts";
import { readSettings } from "../src/settings.ts";

const dir = mkdtempSync(join(tmpdir(), "pi-pigrep-"));
after(() => rmSync(dir, { recursive: true, force: true }));

function settings(text: string) {
	writeFileSync(join(dir, "settings.json"), text);
	return readSettings(dir);
}

const usual = { command: "pigrep", keys: { search: ["alt+s"], history: ["alt+r"] } };

test("without settings, and with broken ones, everything is as usual", () => {
	assert.deepEqual(readSettings(join(dir, "nowhere")), usual);
	for (const text of ["", "{", "[]", "null", "{}", '{"pigrep":null}', '{"pigrep":{"command":7,"keys":[]}}'])
		assert.deepEqual(settings(text), usual, text);
});

test("command and keys can be set, and a key taken away", () => {
	const given = settings('{"theme":"dark","pigrep":{"command":"/opt/pigrep","keys":{"search":["ctrl+alt+f","f6"],"history":""}}}');
	assert.deepEqual(given, { command: "/opt/pigrep", keys: { search: ["ctrl+alt+f", "f6"], history: [] } });
	assert.deepEqual(settings('{"pigrep":{"keys":{"search":[]}}}').keys, { search: [], history: ["alt+r"] });
});

test("commands can be run for a shortcut from 0.84.2", () => {
	assert.deepEqual(
		["0.78.1", "0.84.1", "0.84.2", "0.87.1", "1.0.0", "1.5.2", "1.6.0"].map(runsCommands),
		[false, false, true, true, true, true, true],
	);
});
