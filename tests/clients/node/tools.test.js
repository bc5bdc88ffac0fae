// Tools and structured output.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { zodFunction, zodResponseFormat } from 'openai/helpers/zod';
import { z } from 'zod';

import { serverFixture } from './fixture.js';
import { CALLS, DONE, JSON_WORDS } from './upstream.js';

const QUESTION = { role: 'user', content: 'How is the weather in Ulm and Bonn?' };
const parameters = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const tools = [{ type: 'function', function: { name: 'weather', description: 'The weather.', parameters } }];
const EXPECTED = CALLS.map(({ id, name, pieces }) => [id, name, pieces.join('')]);
const summaries = (calls) => calls.map((call) => [call.id, call.function.name, call.function.arguments]);
const it = serverFixture();

test('two calls at once and their results', async () => {
  const complete = (messages) => it.client.chat.completions.create({ model: 'tools', messages, tools });
  const { message, finish_reason } = (await complete([QUESTION])).choices[0];
  assert.equal(finish_reason, 'tool_calls');
  assert.deepEqual(summaries(message.tool_calls), EXPECTED);
  assert.deepEqual(it.upstream.requests.at(-1).tools, tools);
  const results = CALLS.map(({ id }) => ({ role: 'tool', tool_call_id: id, content: 'rain' }));
  assert.equal((await complete([QUESTION, message, ...results])).choices[0].message.content, DONE);
  const turns = it.upstream.requests.at(-1).messages;
  assert.deepEqual(turns.map((turn) => turn.role), ['user', 'assistant', 'tool', 'tool']);
});

test('the stream helper puts the calls together', async () => {
  const stream = it.client.chat.completions.stream({ model: 'tools', messages: [QUESTION], tools });
  const final = await stream.finalChatCompletion();
  assert.deepEqual(summaries(final.choices[0].message.tool_calls), EXPECTED);
  assert.equal(final.choices[0].finish_reason, 'tool_calls');
});

for (const stream of [false, true]) {
  test(`runTools calls the functions and continues, ${stream ? 'streamed' : 'whole'}`, async () => {
    const cities = [];
    const weather = ({ city }) => {
      cities.push(city);
      return 'rain';
    };
    const runner = it.client.chat.completions.runTools({
      model: 'tools',
      messages: [QUESTION],
      stream,
      tools: [{ type: 'function', function: { name: 'weather', parameters, parse: JSON.parse, function: weather } }],
    });
    assert.equal(await runner.finalContent(), DONE);
    assert.deepEqual(cities, ['Ulm', 'Bonn']);
    const results = it.upstream.requests.at(-1).messages.filter((turn) => turn.role === 'tool');
    assert.deepEqual(results.map((turn) => [turn.tool_call_id, turn.content]), CALLS.map(({ id }) => [id, 'rain']));
  });
}

test('a tool described by zod is parsed', async () => {
  const tool = zodFunction({ name: 'weather', parameters: z.object({ city: z.string() }) });
  const reply = await it.client.chat.completions.parse({ model: 'tools', messages: [QUESTION], tools: [tool] });
  const parsed = reply.choices[0].message.tool_calls.map((call) => call.function.parsed_arguments);
  assert.deepEqual(parsed, [{ city: 'Ulm' }, { city: 'Bonn' }]);
});

const Report = z.object({ city: z.string(), degrees: z.number().int() });
const REPORT = { city: 'Ulm', degrees: 7 };
const writer = {
  model: 'writer',
  messages: [{ role: 'user', content: 'Report.' }],
  response_format: zodResponseFormat(Report, 'report'),
};

function checkRequest(request) {
  const { type, json_schema } = request.response_format;
  assert.deepEqual([type, json_schema.name, json_schema.strict], ['json_schema', 'report', true]);
  assert.deepEqual(Object.keys(json_schema.schema.properties), ['city', 'degrees']);
}

test('a JSON schema is requested, and the answer parsed', async () => {
  const reply = await it.client.chat.completions.parse(writer);
  assert.deepEqual(reply.choices[0].message.parsed, REPORT);
  checkRequest(it.upstream.requests.at(-1));
});

test('the same as it comes', async () => {
  const stream = it.client.chat.completions.stream(writer);
  const summaries = [];
  stream.on('content', (delta) => summaries.push(delta));
  assert.deepEqual((await stream.finalChatCompletion()).choices[0].message.parsed, REPORT);
  assert.deepEqual(summaries.filter(Boolean), JSON_WORDS);
  checkRequest(it.upstream.requests.at(-1));
});
