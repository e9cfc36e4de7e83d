// A model on 127.0.0.1 that speaks OpenAI's protocol. What it says follows from the last prompt.
import { createServer } from "node:http";

const line = (delta, finish = null) =>
	`data: ${JSON.stringify({ id: "x", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

const textOf = (m) => (typeof m.content === "string" ? m.content : (m.content ?? []).map((c) => c.text ?? "").join("\n"));

/** Starts the model. `asked` has every request; release() lets slow answers end. */
export async function startModel() {
	const asked = [];
	const held = new Set();
	const server = createServer((req, res) => {
		let body = "";
		req.on("data", (d) => (body += d));
		req.on("end", () => {
			const request = JSON.parse(body || "{}");
			asked.push(request);
			answer(request.messages ?? [], res, request.tools ?? []);
		});
	});

	function answer(messages, res, tools) {
		res.writeHead(200, { "content-type": "text/event-stream" });
		const end = (...chunks) => res.end([...chunks, "data: [DONE]\n\n"].join(""));
		const say = (text) => end(line({ role: "assistant", content: text }), line({}, "stop"));
		const call = (name, args) =>
			end(
				line({ role: "assistant", tool_calls: [{ index: 0, id: `call_${asked.length}`, type: "function", function: { name, arguments: JSON.stringify(args) } }] }),
				line({}, "tool_calls"),
			);
		const last = messages.findLastIndex((m) => m.role === "user");
		const prompt = last < 0 ? "" : textOf(messages[last]);
		const results = messages.slice(last + 1).filter((m) => m.role === "tool").map(textOf);
		if (prompt.includes("slow")) {
			res.write(line({ role: "assistant", content: "working on it" }));
			held.add(() => end(line({}, "stop")));
		} else if (prompt.includes("ask the server")) {
			const search = tools.map((t) => t.function.name).find((n) => /search$/.test(n) && n !== "session_search");
			if (!search) say("there is no server");
			else if (results.length === 0) call(search, { query: prompt.match(/about (\S+)/)[1] });
			else say(`the server answered ${results.length} time`);
		} else if (prompt.includes("how did we fix")) {
			const name = prompt.match(/how did we fix (\S+)/)[1];
			if (results.length === 0) call("session_search", { query: name });
			else if (results.length === 1) call("session_read", { at: results[0].match(/^(\S+:\S+) /m)?.[1] ?? "nothing" });
			else say(`Last time: ${results[1].match(/POOL_MAX=\d+/g)?.at(-1) ?? "not found"}`);
		} else say(`the stub heard: ${prompt.slice(0, 40)}`);
	}

	await new Promise((done) => server.listen(0, "127.0.0.1", done));
	return {
		asked,
		url: `http://127.0.0.1:${server.address().port}/v1`,
		release: () => { for (const end of held) end(); held.clear(); },
		stop: () => { server.closeAllConnections(); server.close(); },
	};
}
