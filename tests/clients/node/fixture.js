// One server with a working provider for most tests, and separate servers for failing providers.

import { after, before } from 'node:test';

import { Muster } from './muster.js';
import { MODELS, Upstream } from './upstream.js';

// A server and its provider for all tests of a file: `muster`, `upstream`, `client`.
export function serverFixture() {
  const context = {};
  before(async () => {
    context.upstream = await Upstream.start();
    context.muster = await Muster.start(context.upstream.baseURL, MODELS);
    context.client = context.muster.client();
  });
  after(async () => {
    await context.muster?.stop();
    await context.upstream?.stop();
  });
  return context;
}

// A server whose only provider serves that model, with a breaker that no other test affects; both stop after the test.
export async function alone(test, model) {
  const upstream = await Upstream.start();
  test.after(() => upstream.stop());
  const muster = await Muster.start(upstream.baseURL, [model]);
  test.after(() => muster.stop());
  return { muster, upstream };
}
