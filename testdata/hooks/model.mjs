// A model on this machine, for agents that speak to Anthropic or OpenAI: it runs a command once, then says that it
// is done. What agents send is appended to the file SEEN, the port is written beside it.
//   node model.mjs SEEN COMMAND
import fs from "node:fs";
import http from "node:http";

const [seen, command] = process.argv.slice(2);

http.createServer((req, res) => {
	let body = "";
	req.on("data", (chunk) => (body += chunk));
	req.on("end", () => {
		fs.appendFileSync(seen, body + "\n");
		let q = {};
		try {
			q = JSON.parse(body);
		} catch {}
		const stream = (events) => {
			res.writeHead(200, { "content-type": "text/event-stream" });
			for (const e of events) res.write(`event: ${e.type}\ndata: ${JSON.stringify(e)}\n\n`);
			res.end();
		};
		if (req.url.startsWith("/v1/messages") && !req.url.includes("count_tokens")) {
			const shell = q.tools?.find((t) => /^bash$/i.test(t.name));
			const calls = shell && !body.includes('"tool_result"');
			const block = calls ? { type: "tool_use", id: "toolu_1", name: shell.name, input: {} } : { type: "text", text: "" };
			const delta = calls ? { type: "input_json_delta", partial_json: JSON.stringify({ command, description: "a try" }) } : { type: "text_delta", text: "done" };
			const message = { id: "msg_" + Date.now(), type: "message", role: "assistant", model: q.model, content: [], stop_reason: null, usage: { input_tokens: 1, output_tokens: 1 } };
			return stream([
				{ type: "message_start", message }, { type: "content_block_start", index: 0, content_block: block }, { type: "content_block_delta", index: 0, delta }, { type: "content_block_stop", index: 0 },
				{ type: "message_delta", delta: { stop_reason: calls ? "tool_use" : "end_turn" }, usage: { output_tokens: 2 } }, { type: "message_stop" },
			]);
		}
		if (req.url.startsWith("/v1/responses")) {
			const shell = q.tools?.find((t) => /shell|exec/.test(t.name));
			const calls = shell && !/"(function_call|custom_tool_call)_output"/.test(body);
			const args = { exec_command: { cmd: command }, shell: { command: ["sh", "-c", command] } }[shell?.name] ?? { command };
			const item = calls ? { type: "function_call", id: "fc_1", call_id: "call_1", name: shell.name, arguments: JSON.stringify(args) } : { type: "message", id: "m_1", role: "assistant", content: [{ type: "output_text", text: "done" }] };
			const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2, input_tokens_details: { cached_tokens: 0 }, output_tokens_details: { reasoning_tokens: 0 } };
			return stream([{ type: "response.created", response: { id: "r1" } }, { type: "response.output_item.done", output_index: 0, item }, { type: "response.completed", response: { id: "r1", usage } }]);
		}
		res.writeHead(200, { "content-type": "application/json" });
		res.end(JSON.stringify({ input_tokens: 1, data: [], models: [] }));
	});
}).listen(0, "127.0.0.1", function () {
	fs.writeFileSync(seen + ".port", String(this.address().port));
});
