// Uses every tool, resource and prompt with the SDK for TypeScript, whose client checks
// structured answers against the schemas of the list.
//   CLIENTS=node_modules node check.mjs PIGREP mcp ...
import assert from "node:assert/strict";

const sdk = (path) => import(`${process.env.CLIENTS}/@modelcontextprotocol/sdk/dist/esm/${path}`);
const { Client } = await sdk("client/index.js");
const { StdioClientTransport } = await sdk("client/stdio.js");

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "check", version: "1" });
await client.connect(new StdioClientTransport({ command, args, env: { ...process.env } }));
const { tools } = await client.listTools(); // from here on answers are checked
assert.equal(tools.length, 10);

const call = async (name, args) => {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(!result.isError, `${name}: ${result.content[0].text}`);
  assert.ok(result.structuredContent && result.content[0].text, `${name} answers in both forms`);
  return result.structuredContent;
};
const found = await call("search", { query: "timeout", context: 1 });
assert.ok(found.sessions.length > 0 && found.complete);
const place = { session: found.sessions[0].session, entry: found.sessions[0].hits[0].entry };
await call("search", { query: "zzzqqq parser", error: true });
await call("search", { query: "parser", flat: true, kind: ["reply", "prompt"], limit: 3 });
await call("grep", { pattern: "time.?out", context: 1 });
await call("grep", { pattern: ["zzzqqq"], fixed: true });
await call("find_fix", { error: "EACCES: permission denied" });
await call("list_sessions", {});
await call("list_sessions", { query: "parser", forks: false });
await call("tool_calls", { results: true, limit: 3 });
await call("usage", { by: ["day", "model"] });
await call("status", {});
const around = await call("read_session", { ...place, around: 1 });
assert.ok(around.entries.some((e) => e.named && e.entry === place.entry));

// Cursors lead through a whole session, once.
const entries = [];
let page = { session: place.session, full: true, maxBytes: 3000 };
for (let pages = 0; ; pages++) {
  assert.ok(pages < 500, "no end of pages");
  const read = await call("read_session", page);
  for (const e of read.entries) if (entries.at(-1) !== e.entry) entries.push(e.entry);
  if (!read.nextCursor) break;
  page = { ...page, cursor: read.nextCursor };
}
assert.equal(new Set(entries).size, entries.length);

// What fails keeps its text and hint.
for (const [name, args, text] of [
  ["read_session", { session: "nothing" }, "hint: list_sessions"],
  ["search", { query: "" }, "is missing"],
  ["search", { query: "x", limits: 3 }, "nearest: limit"],
  ["grep", { pattern: "(" }, "hint"],
  ["read_session", { ...page, cursor: "x" }, "not a cursor"],
]) {
  const result = await client.callTool({ name, arguments: args });
  assert.ok(result.isError && result.content[0].text.includes(text), `${name}: ${JSON.stringify(result)}`);
}
await assert.rejects(client.callTool({ name: "delete_everything", arguments: {} }));

const { resources } = await client.listResources();
const { contents } = await client.readResource({ uri: resources[0].uri });
assert.ok(contents[0].text.includes("AND"));
await client.listResourceTemplates();
const { prompts } = await client.listPrompts();
const prompt = await client.getPrompt({ name: prompts[0].name, arguments: { [prompts[0].arguments[0].name]: "a bug" } });
assert.ok(prompt.messages[0].content.text.includes("a bug"));
await client.ping();
await client.close();
console.log(`sdk for typescript: ${tools.length} tools answer as their schemas say, ${entries.length} entries by cursors, errors keep their hints`);
