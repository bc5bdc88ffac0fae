// A provider on the loopback with OpenAI's API whose behaviour is determined by the name of the model.

import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { crc32, deflateSync } from 'node:zlib';

export const WORDS = ['Hello', ', ', 'wide ', 'world', '!'];
export const ANSWER = WORDS.join('');
export const USAGE = { prompt_tokens: 7, completion_tokens: 5, total_tokens: 12 };
// What `tools` calls, as the pieces of the arguments come; both at once, until it has their results.
export const CALLS = [
  { id: 'call_1', name: 'weather', pieces: ['{"city"', ': "Ulm"}'] },
  { id: 'call_2', name: 'weather', pieces: ['{"city": ', '"Bonn"}'] },
];
export const DONE = 'Rain in both.';
// What `writer` answers: the pieces of a JSON object.
export const JSON_WORDS = ['{"city": ', '"Ulm", ', '"degrees": 7}'];
// How many deltas `cut` sends before it breaks off.
export const CUT_AFTER = 10;
export const MODELS = ['echo', 'acme/echo', 'tools', 'writer', 'vectors', 'tiny'];

// The vector of a text or of its tokens: its own length first. All of it is exact in 32 bits.
export const vectorOf = (one) => [one.length, 0.5, -0.25, 0.125];

export class Upstream {
  // The body of each request, in order.
  requests = [];

  static async start() {
    const upstream = new Upstream();
    upstream.server = createServer((request, response) => upstream.receive(request, response));
    await new Promise((resolve) => upstream.server.listen(0, '127.0.0.1', resolve));
    upstream.baseURL = `http://127.0.0.1:${upstream.server.address().port}/v1`;
    return upstream;
  }

  async stop() {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  async receive(request, response) {
    const parts = [];
    for await (const part of request) parts.push(part);
    if (request.method === 'GET') return json(response, 200, { object: 'list', data: [] });
    const body = JSON.parse(Buffer.concat(parts).toString());
    this.requests.push(body);
    if (request.url.endsWith('/embeddings')) return json(response, 200, embeddings(body));
    if (request.url.endsWith('/images/generations')) {
      if (body.prompt.includes('forbidden')) return refuse(response, 400, 'moderation_blocked');
      return json(response, 200, images(body));
    }
    if (body.model === 'tiny') return refuse(response, 400, 'context_length_exceeded');
    if (body.model === 'fails') return refuse(response, 500, 'server_error');
    if (body.model === 'busy-once' && this.requests.length === 1) {
      return refuse(response, 429, 'rate_limit_exceeded', { 'retry-after': '1' });
    }
    if (body.stream) return stream(response, body);
    const [message, finish_reason] = answer(body);
    const choices = Array.from({ length: body.n ?? 1 }, (_, index) => ({ index, message, finish_reason }));
    return json(response, 200, shape(body, 'chat.completion', { choices, usage: USAGE }));
  }
}

function json(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

function refuse(response, status, code, headers) {
  const error = { message: `the scripted provider says ${code}`, type: 'invalid_request_error', param: null, code };
  json(response, status, { error }, headers);
}

const callsTools = (body) => body.model === 'tools' && body.messages.at(-1).role !== 'tool';

function words(body) {
  if (body.model === 'tools') return [DONE];
  return body.model === 'writer' ? JSON_WORDS : WORDS;
}

function answer(body) {
  if (!callsTools(body)) return [{ role: 'assistant', content: words(body).join('') }, 'stop'];
  const tool_calls = CALLS.map(({ id, name, pieces }) => {
    return { id, type: 'function', function: { name, arguments: pieces.join('') } };
  });
  return [{ role: 'assistant', content: null, tool_calls }, 'tool_calls'];
}

const shape = (body, object, more, id = `chatcmpl-${randomBytes(12).toString('hex')}`) => {
  return { id, object, created: 1_700_000_000, model: body.model, ...more };
};

function stream(response, body) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const id = `chatcmpl-${randomBytes(12).toString('hex')}`;
  const send = (data) => response.write(`data: ${JSON.stringify(shape(body, 'chat.completion.chunk', data, id))}\n\n`);
  const delta = (delta, finish_reason = null) => send({ choices: [{ index: 0, delta, finish_reason }] });
  if (body.model === 'cut') {
    for (let number = 0; number < CUT_AFTER; number += 1) delta({ content: `${number} ` });
    // Once it is all written: cut, without the end of the body.
    return response.write('', () => response.socket.end());
  }
  delta({ role: 'assistant', content: '' });
  if (callsTools(body)) {
    CALLS.forEach(({ id, name, pieces }, index) => {
      delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] });
      for (const piece of pieces) delta({ tool_calls: [{ index, function: { arguments: piece } }] });
    });
    delta({}, 'tool_calls');
  } else {
    for (const word of words(body)) delta({ content: word });
    delta({}, 'stop');
  }
  if (body.stream_options?.include_usage) send({ choices: [], usage: USAGE });
  return response.end('data: [DONE]\n\n');
}

// A text, texts, the tokens of one text, or of several.
function inputs({ input }) {
  return typeof input === 'string' || typeof input[0] === 'number' ? [input] : input;
}

function embeddings(body) {
  const data = inputs(body).map((one, index) => {
    const vector = vectorOf(one);
    const packed = Buffer.from(new Float32Array(vector).buffer).toString('base64');
    return { object: 'embedding', index, embedding: body.encoding_format === 'base64' ? packed : vector };
  });
  return { object: 'list', data, model: body.model, usage: { prompt_tokens: 7, total_tokens: 7 } };
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}

// A grey PNG.
export function png(width, height) {
  const header = Buffer.from([0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0]);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  const row = Buffer.concat([Buffer.from([0]), Buffer.alloc(width, 128)]);
  const rows = deflateSync(Buffer.concat(Array.from({ length: height }, () => row)));
  const signature = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);
  return Buffer.concat([signature, chunk('IHDR', header), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]);
}

function images({ n, size = '1024x1024' }) {
  const [width, height] = size.split('x').map(Number);
  const b64_json = png(width, height).toString('base64');
  return { created: 1, data: Array.from({ length: n }, () => ({ b64_json })) };
}
