// A stand-in for the services of other agents, for tests without a network: the Responses and the Chat Completions API, and
// Gemini's. As messages-api.mjs: a request that offers a shell is answered with one call of it (environment CMD), the one that
// brings its result back with text that repeats it.
// usage: CMD=... LOG=FILE node openai-gemini-api.mjs PORT     prints "ready PORT"
import { createServer } from 'node:http';
import { appendFileSync } from 'node:fs';

const command = process.env.CMD ?? 'true';
const log = entry => process.env.LOG && appendFileSync(process.env.LOG, JSON.stringify(entry) + '\n');
const text = value => `DONE ${(typeof value === 'string' ? value : JSON.stringify(value ?? 'nothing')).slice(0, 800)}`;
const json = (response, value, status = 200) => {
	response.writeHead(status, { 'content-type': 'application/json' });
	response.end(JSON.stringify(value));
};
const events = (response, list, named) => {
	response.writeHead(200, { 'content-type': 'text/event-stream' });
	for (const event of list) response.write(`${named ? `event: ${event.type}\n` : ''}data: ${JSON.stringify(event)}\n\n`);
};

/* Arguments of a shell tool, by its name; undefined: none of these tools is a shell. */
const shells = {
	exec_command: { cmd: command }, shell_command: { command }, shell: { command: ['bash', '-c', command] },
	bash: { command, description: 'test' }, run_shell_command: { command, description: 'test' },
};
const shellOf = names => Object.keys(shells).find(name => names.includes(name));

function responses(body, response) {
	const results = (body.input ?? []).filter(item => /call_output$/.test(item.type ?? ''));
	const shell = shellOf((body.tools ?? []).map(tool => tool.name ?? tool.type));
	const item = shell && results.length === 0
		? { type: 'function_call', id: 'f1', call_id: 'c1', name: shell, arguments: JSON.stringify(shells[shell]) }
		: { type: 'message', id: 'm1', role: 'assistant', content: [{ type: 'output_text', text: text(results.at(-1)?.output) }] };
	const usage = { input_tokens: 1, input_tokens_details: { cached_tokens: 0 }, output_tokens: 1, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 2 };
	events(response, [
		{ type: 'response.created', response: { id: 'r1' } },
		{ type: 'response.output_item.added', output_index: 0, item },
		{ type: 'response.output_item.done', output_index: 0, item },
		{ type: 'response.completed', response: { id: 'r1', status: 'completed', output: [item], usage } },
	], true);
	response.end();
}

function completions(body, response) {
	const results = (body.messages ?? []).filter(message => message.role === 'tool');
	const shell = shellOf((body.tools ?? []).map(tool => tool.function?.name));
	const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
	const whole = { role: 'assistant', content: text(results.at(-1)?.content) };
	if (!body.stream) return json(response, { id: 'c', object: 'chat.completion', model: body.model, choices: [{ index: 0, message: whole, finish_reason: 'stop' }], usage });
	const chunk = (delta, finish_reason = null) => ({ id: 'c', object: 'chat.completion.chunk', created: 1, model: body.model, choices: [{ index: 0, delta, finish_reason }], ...(finish_reason ? { usage } : {}) });
	const call = { role: 'assistant', content: null, tool_calls: [{ index: 0, id: 'c1', type: 'function', function: { name: shell, arguments: JSON.stringify(shells[shell]) } }] };
	events(response, shell && results.length === 0 ? [chunk(call), chunk({}, 'tool_calls')] : [chunk(whole), chunk({}, 'stop')]);
	response.end('data: [DONE]\n\n');
}

function gemini(body, response, streams) {
	const results = (body.contents ?? []).flatMap(content => (content.parts ?? []).filter(part => part.functionResponse));
	const shell = shellOf((body.tools ?? []).flatMap(tool => (tool.functionDeclarations ?? []).map(f => f.name)));
	const wantsJson = body.generationConfig?.responseJsonSchema || body.generationConfig?.responseMimeType;
	const part = shell && results.length === 0 ? { functionCall: { name: shell, args: shells[shell] } }
		: { text: wantsJson ? '{"reasoning":"x","model_choice":"pro","complexity_reasoning":"x","complexity_score":50}' : text(results.at(-1)?.functionResponse?.response) };
	const answer = { candidates: [{ content: { role: 'model', parts: [part] }, finishReason: 'STOP', index: 0 }], usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }, modelVersion: 'x' };
	if (!streams) return json(response, answer);
	events(response, [answer]);
	response.end();
}

const server = createServer((request, response) => {
	const chunks = [];
	request.on('data', chunk => chunks.push(chunk));
	request.on('end', () => {
		let body = {};
		try { body = JSON.parse(Buffer.concat(chunks)); } catch { /* GET has none */ }
		log({ method: request.method, url: request.url, host: request.headers.host });
		if (request.url.includes('/responses')) return responses(body, response);
		if (request.url.includes('/chat/completions')) return completions(body, response);
		if (request.url.includes('enerateContent')) return gemini(body, response, request.url.includes('stream'));
		if (request.url.includes('/models')) return json(response, { object: 'list', data: [], models: [] });
		json(response, { error: { message: 'not here' } }, 404);
	});
});
server.listen(Number(process.argv[2] ?? 0), '127.0.0.1', () => console.log(`ready ${server.address().port}`));
setTimeout(() => process.exit(0), 240_000).unref();
