import type { ServerResponse } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { type WatchCache, watchResource } from '../../../../src/cluster/watch/watch-cache.ts';
import { captureLog } from '../../captured-log.ts';
import { collectGarbage } from '../../collect-garbage.ts';
import { eventually } from '../../eventually.ts';
import { answer, clientFor, startFakeApi } from '../client/fake-api.ts';

const NODES = 400;
/** Two cores may be shared by all test files. */
const TIMEOUT_MS = 30_000;
/** What a real node has most of: names of images. */
const IMAGES = Array.from({ length: 100 }, (_, index) => ({
  names: [`${'image/'.repeat(60)}${index}`],
  sizeBytes: index,
}));
const NODE_BYTES = 38_000;

const node = (index: number) => ({
  metadata: {
    name: `node-with-a-rather-long-name-${index}`,
    uid: `00000000-0000-4000-8000-${String(index).padStart(12, '0')}`,
    resourceVersion: String(1_000_000 + index),
    labels: { 'kubernetes.io/hostname': `node-with-a-rather-long-name-${index}` },
  },
  status: { images: IMAGES },
});

function heapInUse(): number {
  for (let i = 0; i < 5; i++) collectGarbage();
  return process.memoryUsage().heapUsed;
}

/** Of each node, the labels are kept. It ends with the running test. */
function watchLabels(client: ApiClient): WatchCache<object> {
  const cache = watchResource({
    client,
    path: '/api/v1/nodes',
    log: captureLog().log,
    project: (object) => (object as ReturnType<typeof node>).metadata.labels,
  });
  onTestFinished(() => cache.stop());
  return cache;
}

it('keeps what was projected, and nothing of the objects and texts that it comes from', {
  timeout: TIMEOUT_MS,
}, async () => {
  const api = await startFakeApi(({ query }, response) => {
    if (query.watch) return response.flushHeaders();
    const from = Number(query.continue ?? 0);
    const to = from + Number(query.limit);
    const rest = to < NODES ? { continue: String(to) } : {};
    const items = Array.from({ length: Math.min(to, NODES) - from }, (_, index) => node(from + index));
    return answer(response, { metadata: { resourceVersion: '2000000', ...rest }, items });
  });
  const { client } = await clientFor(api.url);
  await client.request('GET', '/api/v1/nodes', { query: { limit: 1 } });
  expect(JSON.stringify(node(1)).length).toBeGreaterThan(NODE_BYTES);

  const before = heapInUse();
  const cache = watchLabels(client);
  await cache.synced;
  const perNode = (heapInUse() - before) / NODES;
  expect(cache.size).toBe(NODES);
  // About 1,100 bytes; a page's text alone, were it kept, would be 10,000.
  expect(perNode).toBeLessThan(3_000);
});

it('keeps nothing of the latest event while no other one comes', { timeout: TIMEOUT_MS }, async () => {
  let watch: ServerResponse | undefined;
  const api = await startFakeApi(({ query }, response) => {
    if (!query.watch) return answer(response, { metadata: { resourceVersion: '1' }, items: [] });
    response.flushHeaders();
    watch = response;
  });
  const { client } = await clientFor(api.url);
  const cache = watchLabels(client);
  await eventually(() => expect(watch).toBeDefined());
  const before = heapInUse();
  const { metadata } = node(1);
  const images = Array(300_000).fill({ names: null });
  watch?.write(`${JSON.stringify({ type: 'ADDED', object: { metadata, status: { images } } })}\n`);
  images.length = 0;
  await eventually(() => expect(cache.size).toBe(1));
  // The event takes 12 MB.
  expect(heapInUse() - before).toBeLessThan(3_000_000);
});
