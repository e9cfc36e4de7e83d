// Runs one scenario of the conformance suite, which speaks HTTP, against a server that
// speaks on stdin and stdout: every session over HTTP gets a process of its own.
//   CLIENTS=node_modules node bridge.mjs CONFORMANCE SCENARIO PIGREP mcp ...
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";

const sdk = (path) => import(`${process.env.CLIENTS}/@modelcontextprotocol/sdk/dist/esm/${path}`);
const { StreamableHTTPServerTransport } = await sdk("server/streamableHttp.js");
const { StdioClientTransport } = await sdk("client/stdio.js");

const [suite, scenario, command, ...args] = process.argv.slice(2);
const sessions = new Map();

async function open() {
  const stdio = new StdioClientTransport({ command, args, env: { ...process.env } });
  const http = new StreamableHTTPServerTransport({ sessionIdGenerator: randomUUID, onsessioninitialized: (id) => sessions.set(id, http) });
  http.onmessage = (message) => stdio.send(message);
  stdio.onmessage = (message) => http.send(message);
  http.onclose = () => stdio.close();
  await stdio.start();
  await http.start();
  return http;
}

const web = createServer(async (request, response) => {
  const http = sessions.get(request.headers["mcp-session-id"]) ?? (await open());
  await http.handleRequest(request, response);
});
web.listen(0, "127.0.0.1", () => {
  const url = `http://127.0.0.1:${web.address().port}/mcp`;
  const child = spawn(process.execPath, [suite, "server", "--url", url, "--scenario", scenario], { stdio: "inherit" });
  child.on("exit", (code) => process.exit(code ?? 1));
});
