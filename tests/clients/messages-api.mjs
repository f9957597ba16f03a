// A stand-in for the Messages API, for tests without a network. The first request that offers a Bash tool is answered with one
// call of it (environment CMD; TOOL: another tool's name); the request that brings the result back is answered with text that repeats it.
// usage: CMD=... LOG=FILE node messages-api.mjs PORT     prints "ready PORT"
import { createServer } from 'node:http';
import { appendFileSync } from 'node:fs';

const command = process.env.CMD ?? 'true';
const wanted = process.env.TOOL ?? 'Bash';
const log = entry => process.env.LOG && appendFileSync(process.env.LOG, JSON.stringify(entry) + '\n');
const usage = { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 };

const toolResults = messages =>
	messages.flatMap(m => (Array.isArray(m.content) ? m.content : [])).filter(part => part.type === 'tool_result');

function answer(request) {
	const results = toolResults(request.messages ?? []);
	const canRun = (request.tools ?? []).some(tool => tool.name === wanted);
	if (canRun && results.length === 0) {
		return { stop: 'tool_use', parts: [{ type: 'tool_use', id: 'toolu_1', name: wanted, input: wanted === 'Bash' ? { command, description: 'test' } : { command } }] };
	}
	const last = results.at(-1);
	const said = last ? (typeof last.content === 'string' ? last.content : JSON.stringify(last.content)) : 'nothing';
	return { stop: 'end_turn', parts: [{ type: 'text', text: `DONE is_error=${Boolean(last?.is_error)} ${said.slice(0, 800)}` }] };
}

function stream(response, model, { stop, parts }) {
	const send = event => response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	send({ type: 'message_start', message: { id: 'msg_1', type: 'message', role: 'assistant', model, content: [], stop_reason: null, stop_sequence: null, usage } });
	parts.forEach((part, index) => {
		const text = part.type === 'text';
		send({ type: 'content_block_start', index, content_block: text ? { type: 'text', text: '' } : { ...part, input: {} } });
		send({ type: 'content_block_delta', index, delta: text ? { type: 'text_delta', text: part.text } : { type: 'input_json_delta', partial_json: JSON.stringify(part.input) } });
		send({ type: 'content_block_stop', index });
	});
	send({ type: 'message_delta', delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 1 } });
	send({ type: 'message_stop' });
	response.end();
}

const server = createServer((request, response) => {
	const chunks = [];
	request.on('data', chunk => chunks.push(chunk));
	request.on('end', () => {
		let body = {};
		try { body = JSON.parse(Buffer.concat(chunks)); } catch { /* HEAD and GET have none */ }
		log({ method: request.method, url: request.url, host: request.headers.host, messages: body.messages?.length });
		if (!request.url.startsWith('/v1/messages') || request.url.includes('count_tokens')) {
			response.writeHead(200, { 'content-type': 'application/json' });
			return response.end('{"input_tokens":1}');
		}
		const reply = answer(body);
		if (body.stream) return stream(response, body.model, reply);
		response.writeHead(200, { 'content-type': 'application/json' });
		response.end(JSON.stringify({ id: 'msg_1', type: 'message', role: 'assistant', model: body.model, content: reply.parts, stop_reason: reply.stop, stop_sequence: null, usage }));
	});
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(`ready ${server.address().port}`));
setTimeout(() => process.exit(0), 240_000).unref();
