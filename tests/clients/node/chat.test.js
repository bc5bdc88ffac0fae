// The official client for Node, unmodified, against a provider behind Muster: chats, whole and streamed.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { serverFixture } from './fixture.js';
import { ANSWER, USAGE, WORDS } from './upstream.js';

const prompt = { messages: [{ role: 'system', content: 'Be brief.' }, { role: 'user', content: 'Greet me.' }] };
const it = serverFixture();

test('a chat', async () => {
  const reply = await it.client.chat.completions.create({ model: 'echo', ...prompt, temperature: 0.25 });
  assert.equal(reply.object, 'chat.completion');
  assert.equal(reply.model, 'echo');
  assert.deepEqual(reply.choices.map(({ index, message, finish_reason }) => [index, message.content, finish_reason]), [
    [0, ANSWER, 'stop'],
  ]);
  const { prompt_tokens, completion_tokens, total_tokens } = reply.usage;
  assert.deepEqual({ prompt_tokens, completion_tokens, total_tokens }, USAGE);
  assert.ok(reply._request_id);
  const request = it.upstream.requests.at(-1);
  assert.deepEqual([request.messages, request.temperature], [prompt.messages, 0.25]);
});

test('two answers to one question', async () => {
  const reply = await it.client.chat.completions.create({ model: 'echo', ...prompt, n: 2 });
  assert.deepEqual(reply.choices.map(({ index, message }) => [index, message.content]), [[0, ANSWER], [1, ANSWER]]);
});

test('a stream', async () => {
  const stream = await it.client.chat.completions.create({ model: 'echo', ...prompt, stream: true });
  const choices = [];
  for await (const chunk of stream) {
    assert.equal(chunk.object, 'chat.completion.chunk');
    choices.push(...chunk.choices);
  }
  assert.equal(choices[0].delta.role, 'assistant');
  assert.deepEqual(choices.map((choice) => choice.delta.content).filter(Boolean), WORDS);
  assert.equal(choices.at(-1).finish_reason, 'stop');
});

test('a stream with usage', async () => {
  const request = { model: 'echo', ...prompt, stream: true, stream_options: { include_usage: true } };
  let last;
  for await (const chunk of await it.client.chat.completions.create(request)) last = chunk;
  assert.deepEqual(last.choices, []);
  assert.equal(last.usage.total_tokens, USAGE.total_tokens);
});

test('the stream helper', async () => {
  const stream = it.client.chat.completions.stream({ model: 'echo', ...prompt });
  const deltas = [];
  stream.on('content', (delta) => deltas.push(delta));
  assert.equal(await stream.finalContent(), ANSWER);
  assert.deepEqual(deltas.filter(Boolean), WORDS);
  const final = await stream.finalChatCompletion();
  assert.equal(final.choices[0].finish_reason, 'stop');
});

for (const prefix of ['', '/openai/v1']) {
  test(`by the address ${prefix || 'without /v1'}`, async () => {
    const client = it.muster.client({ prefix });
    const reply = await client.chat.completions.create({ model: 'echo', ...prompt });
    assert.equal(reply.choices[0].message.content, ANSWER);
  });
}

test('the list of models, and one of them', async () => {
  const models = [];
  for await (const model of it.client.models.list()) models.push(model);
  const ids = models.map((model) => model.id);
  for (const id of ['echo', 'acme/echo', 'vectors']) assert.ok(ids.includes(id), `${id} is not in ${ids}`);
  assert.ok(models.every(({ object, owned_by, created }) => object === 'model' && owned_by && Number.isInteger(created)));
  // The client writes the slash as %2F.
  for (const id of ['echo', 'acme/echo']) assert.equal((await it.client.models.retrieve(id)).id, id);
});
