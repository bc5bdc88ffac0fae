// What most tests need: one server before one provider that works, and servers of their own for those that break.

import { after, before } from 'node:test';

import { Muster } from './muster.js';
import { MODELS, Upstream } from './upstream.js';

// A server and its provider for all tests of a file: `house.muster`, `house.upstream`, `house.client`.
export function house() {
  const house = {};
  before(async () => {
    house.upstream = await Upstream.start();
    house.muster = await Muster.start(house.upstream.baseURL, MODELS);
    house.client = house.muster.client();
  });
  after(async () => {
    await house.muster?.stop();
    await house.upstream?.stop();
  });
  return house;
}

// A server whose only provider is asked for that model, and a breaker that nobody else moves; both end with the test.
export async function alone(test, model) {
  const upstream = await Upstream.start();
  test.after(() => upstream.stop());
  const muster = await Muster.start(upstream.baseURL, [model]);
  test.after(() => muster.stop());
  return { muster, upstream };
}
