// The Responses API, of a provider that has no such thing.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';

import { alone, serverFixture } from './fixture.js';
import { ANSWER, CALLS, CUT_AFTER, USAGE, WORDS } from './upstream.js';

const it = serverFixture();

test('a response', async () => {
  const request = { model: 'echo', instructions: 'Be brief.', input: 'Greet me.', max_output_tokens: 64 };
  const reply = await it.client.responses.create(request);
  assert.deepEqual([reply.object, reply.status, reply.output_text], ['response', 'completed', ANSWER]);
  assert.deepEqual([reply.usage.input_tokens, reply.usage.output_tokens, reply.usage.total_tokens], Object.values(USAGE));
  const messages = it.upstream.requests.at(-1).messages.map(({ role, content }) => [role, content]);
  assert.deepEqual(messages, [['system', 'Be brief.'], ['user', 'Greet me.']]);
});

test('a stream of events', async () => {
  const events = [];
  for await (const event of await it.client.responses.create({ model: 'echo', input: 'Greet me.', stream: true })) {
    events.push(event);
  }
  assert.deepEqual(events.map((event) => event.sequence_number), [...events.keys()]);
  assert.deepEqual([events[0].type, events.at(-1).type], ['response.created', 'response.completed']);
  const deltas = events.filter((event) => event.type === 'response.output_text.delta');
  assert.deepEqual(deltas.map((event) => event.delta), WORDS);
  assert.equal(events.at(-1).response.usage.total_tokens, USAGE.total_tokens);
});

test('the stream helper', async () => {
  const final = await it.client.responses.stream({ model: 'echo', input: 'Greet me.' }).finalResponse();
  assert.deepEqual([final.status, final.output_text], ['completed', ANSWER]);
});

test('tools', async () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' } } };
  const tools = [{ type: 'function', name: 'weather', parameters, strict: false }];
  const reply = await it.client.responses.create({ model: 'tools', input: 'Weather?', tools });
  const calls = reply.output.filter((item) => item.type === 'function_call');
  const fields = calls.map((call) => [call.call_id, call.name, call.arguments]);
  assert.deepEqual(fields, CALLS.map(({ id, name, pieces }) => [id, name, pieces.join('')]));
});

test('a stream that breaks off', async (context) => {
  const { muster } = await alone(context, 'cut');
  const stream = await muster.client().responses.create({ model: 'cut', input: 'Count.', stream: true });
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const event of stream) {
        assert.notEqual(event.type, 'response.completed');
        if (event.type === 'response.output_text.delta') seen.push(event.delta);
      }
    },
    (error) => error instanceof OpenAI.APIError && error.code === 'provider_failed',
  );
  assert.deepEqual(seen, Array.from({ length: CUT_AFTER }, (_, number) => `${number} `));
});
