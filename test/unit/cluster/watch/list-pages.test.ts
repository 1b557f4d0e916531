import { expect, it } from 'vitest';
import { listPages, MAX_PAGE_BYTES } from '../../../../src/cluster/watch/list-pages.ts';
import { clientFor, startFakeApi } from '../client/fake-api.ts';

const KB = 1_000;

/** What is read of a list of objects with these sizes in bytes. */
async function listed(sizes: readonly number[], pageSize: number) {
  const api = await startFakeApi(({ query }, response) => {
    const from = Number(query.continue ?? 0);
    const until = Math.min(sizes.length, from + Number(query.limit));
    const items = sizes
      .slice(from, until)
      .map((size, index) => ({ metadata: { name: `n${from + index}` }, pad: 'x'.repeat(size) }));
    const metadata = { resourceVersion: '7', ...(until < sizes.length ? { continue: `${until}` } : {}) };
    const body = JSON.stringify({ metadata, items });
    response.writeHead(200, { 'content-type': 'application/json' }).end(body);
  });
  const { client } = await clientFor(api.url);
  const names: string[] = [];
  let most = 0;
  const options = { query: {}, pageSize, signal: new AbortController().signal };
  for await (const { items } of listPages(client, '/api/v1/nodes', options)) {
    names.push(...items.map((item) => (item as { metadata: { name: string } }).metadata.name));
    most = Math.max(most, JSON.stringify(items).length);
  }
  const limits = api.received.map(({ query }) => `${query.continue ?? 0}+${query.limit}`);
  return { names, most, limits };
}

const all = (count: number) => Array.from({ length: count }, (_, index) => `n${index}`);

it('a list of ordinary objects is read in pages of the asked size', async () => {
  const { names, limits } = await listed(Array(6).fill(40 * KB), 4);
  expect(names).toEqual(all(6));
  expect(limits).toEqual(['0+4', '4+4']);
});

it('large objects are read in smaller pages, and each once', async () => {
  const { names, most, limits } = await listed(Array(6).fill(900 * KB), 4);
  expect(names).toEqual(all(6));
  expect(most).toBeLessThanOrEqual(MAX_PAGE_BYTES);
  expect(limits).toEqual(['0+4', '0+2', '2+2', '4+2']);
});

it('one object that exceeds a page is read alone, and pages grow again after it', async () => {
  const sizes = [...Array(20).fill(1 * KB)];
  sizes[1] = 2 * MAX_PAGE_BYTES;
  const { names, limits } = await listed(sizes, 4);
  expect(names).toEqual(all(20));
  expect(limits).toEqual(['0+4', '0+2', '0+1', '1+1', '2+1', '3+1', '4+2', '6+2', '8+2', '10+2', '12+4', '16+4']);
});
