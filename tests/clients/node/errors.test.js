// The official client raises each of our errors as its own typed exception, and retries where the response requests it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';

import { alone, serverFixture } from './fixture.js';
import { newKey } from './muster.js';
import { ANSWER, CUT_AFTER } from './upstream.js';

const messages = [{ role: 'user', content: 'Hello?' }];
const complete = (client, model = 'echo', more = {}) => client.chat.completions.create({ model, messages, ...more });
const it = serverFixture();

// Checks the class of an error and its fields.
async function refused(promise, kind, status, type, code) {
  const error = await promise.then(() => assert.fail('it was not refused'), (error) => error);
  assert.ok(error instanceof kind, `${error.constructor.name}: ${error.message}`);
  assert.deepEqual([error.status, error.type, error.code], [status, type, code]);
  assert.ok(error.requestID, 'no request id');
  return error;
}

test('400: a value out of its bounds names its field', async () => {
  const request = complete(it.client, 'echo', { temperature: 2.5 });
  const error = await refused(request, OpenAI.BadRequestError, 400, 'invalid_request_error', 'invalid_value');
  assert.equal(error.param, 'temperature');
});

test('400: a prompt that is too long for the provider', async () => {
  const code = 'context_length_exceeded';
  await refused(complete(it.client, 'tiny'), OpenAI.BadRequestError, 400, 'invalid_request_error', code);
});

test('401: a wrong key', async () => {
  const client = it.muster.client({ apiKey: newKey() });
  await refused(complete(client), OpenAI.AuthenticationError, 401, 'invalid_request_error', 'invalid_api_key');
});

test('403: a key without the scope', async () => {
  const client = it.muster.client({ apiKey: await it.muster.makeKey({ scopes: ['memory'] }) });
  await refused(complete(client), OpenAI.PermissionDeniedError, 403, 'permission_error', 'insufficient_permissions');
});

test('404: an unknown model', async () => {
  const request = complete(it.client, 'no-such-model');
  await refused(request, OpenAI.NotFoundError, 404, 'invalid_request_error', 'model_not_found');
});

test('429: the limit of a plan', async () => {
  // The plan `free` of interface B: 3 request a minute.
  const client = it.muster.client({ apiKey: await it.muster.makeKey({ scopes: ['chat'], plan_b: 'free' }) });
  for (let count = 0; count < 3; count += 1) await complete(client);
  const error = await refused(complete(client), OpenAI.RateLimitError, 429, 'rate_limit_error', 'rate_limit_exceeded');
  const wait = Number(error.headers.get('retry-after'));
  assert.ok(wait >= 1 && wait <= 60, `${wait}`);
});

for (const stream of [false, true]) {
  test(`502: a provider that fails, ${stream ? 'streamed' : 'whole'}`, async (context) => {
    const { muster } = await alone(context, 'fails');
    const request = complete(muster.client(), 'fails', { stream });
    await refused(request, OpenAI.InternalServerError, 502, 'server_error', 'provider_failed');
  });

  test(`a provider that is busy at first: the client waits as requested and retries, ${stream ? 'streamed' : 'whole'}`, async (context) => {
    const { muster, upstream } = await alone(context, 'busy-once');
    const begun = performance.now();
    const reply = await complete(muster.client({ maxRetries: 2 }), 'busy-once', { stream });
    const took = performance.now() - begun;
    let text = '';
    if (stream) for await (const chunk of reply) text += chunk.choices[0].delta.content ?? '';
    else text = reply.choices[0].message.content;
    assert.equal(text, ANSWER);
    assert.equal(upstream.requests.length, 2);
    // `Retry-After: 1`; a timer may fire a moment early.
    assert.ok(took >= 990, `it waited ${took} ms`);
  });
}

test('429: every provider limits the rate', { timeout: 20_000 }, async (context) => {
  const { muster, upstream } = await alone(context, 'busy-once');
  await assert.rejects(complete(muster.client(), 'busy-once'), OpenAI.RateLimitError);
  // The provider requests a pause of a second. Its breaker is updated after the answer.
  while ((await muster.breakers()).includes('closed'));
  const request = complete(muster.client(), 'busy-once');
  const error = await refused(request, OpenAI.RateLimitError, 429, 'rate_limit_error', 'rate_limit_exceeded');
  assert.equal(error.headers.get('retry-after'), '1');
  assert.equal(upstream.requests.length, 1);
});

test('what a retry cannot mend is not retried', async () => {
  const before = it.upstream.requests.length;
  await assert.rejects(complete(it.muster.client({ maxRetries: 5 }), 'tiny'), OpenAI.BadRequestError);
  assert.equal(it.upstream.requests.length, before + 1);
});

test('a stream that breaks off', async (context) => {
  const { muster } = await alone(context, 'cut');
  const stream = await complete(muster.client(), 'cut', { stream: true });
  const seen = [];
  await assert.rejects(
    async () => {
      for await (const chunk of stream) {
        assert.equal(chunk.choices[0].finish_reason, null);
        seen.push(chunk.choices[0].delta.content);
      }
    },
    (error) => error instanceof OpenAI.APIError && error.code === 'provider_failed',
  );
  // What was sent is delivered, once; then the truth.
  assert.deepEqual(seen.filter(Boolean), Array.from({ length: CUT_AFTER }, (_, number) => `${number} `));
});
