// Pictures: links, base64, several at once, typed errors, and pictures within chats.

import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';

import OpenAI from 'openai';

import { Muster } from './muster.js';
import { Upstream, png } from './upstream.js';

const model = 'gpt-image-2';
const chatModel = 'echo';
const it = {};
before(async () => {
  it.upstream = await Upstream.start();
  it.muster = await Muster.start(it.upstream.baseURL, [model, chatModel]);
  it.client = it.muster.client();
});
after(async () => {
  await it.muster?.stop();
  await it.upstream?.stop();
});

test('links need no key', async () => {
  const reply = await it.client.images.generate({ model, prompt: 'a red boat', n: 4, size: '1024x1792' });
  assert.equal(reply.data.length, 4);
  for (const { url } of reply.data) {
    const response = await fetch(url);
    assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'image/png']);
    assert.deepEqual(Buffer.from(await response.arrayBuffer()), png(1024, 1792));
  }
});

test('base64', async () => {
  const asked = { model, prompt: 'a red boat', n: 4, size: '1024x1024', response_format: 'b64_json' };
  const reply = await it.client.images.generate(asked);
  const pictures = reply.data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'));
  assert.deepEqual(pictures, Array.from({ length: 4 }, () => png(1024, 1024)));
});

test('typed errors', async () => {
  const refused = async (fields, kind, code) => {
    const asked = it.client.images.generate({ model, prompt: 'a red boat', ...fields });
    await assert.rejects(asked, (error) => error instanceof kind && error.code === code);
  };
  await refused({ size: '256x256' }, OpenAI.BadRequestError, 'unsupported_value');
  await refused({ prompt: 'something forbidden' }, OpenAI.BadRequestError, 'content_policy_violation');
  await refused({ model: 'no-such-model' }, OpenAI.NotFoundError, 'model_not_found');
});

test('pictures of chats go on as data, and come from public addresses only', async () => {
  const chat = (url) =>
    it.client.chat.completions.create({
      model: chatModel,
      messages: [{ role: 'user', content: [{ type: 'image_url', image_url: { url } }] }],
    });
  const url = `data:image/png;base64,${png(3, 2).toString('base64')}`;
  assert.ok((await chat(url)).choices[0].message.content);
  assert.deepEqual(it.upstream.requests.at(-1).messages[0].content[0].image_url, { url });
  const refused = (error) => error instanceof OpenAI.BadRequestError && error.code === 'url_not_allowed';
  await assert.rejects(chat('http://169.254.169.254/latest/meta-data/'), refused);
});
