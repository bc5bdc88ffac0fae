// Embeddings: by default the client requests base64 and decodes it.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import OpenAI from 'openai';

import { serverFixture } from './fixture.js';
import { vectorOf } from './upstream.js';

const it = serverFixture();

test('the default encoding', async () => {
  const reply = await it.client.embeddings.create({ model: 'vectors', input: ['one', 'three'] });
  assert.deepEqual([reply.object, reply.model], ['list', 'vectors']);
  assert.deepEqual(reply.data.map(({ index, embedding }) => [index, [...embedding]]), [
    [0, vectorOf('one')],
    [1, vectorOf('three')],
  ]);
  assert.deepEqual([reply.usage.prompt_tokens, reply.usage.total_tokens], [7, 7]);
});

test('plain numbers', async () => {
  const reply = await it.client.embeddings.create({ model: 'vectors', input: 'one', encoding_format: 'float' });
  assert.deepEqual(reply.data[0].embedding, vectorOf('one'));
});

test('a text that is tokens already', async () => {
  const reply = await it.client.embeddings.create({ model: 'vectors', input: [5, 6, 7] });
  assert.deepEqual([...reply.data[0].embedding], vectorOf([5, 6, 7]));
});

test('nothing to embed', async () => {
  await assert.rejects(it.client.embeddings.create({ model: 'vectors', input: [] }), OpenAI.BadRequestError);
});
