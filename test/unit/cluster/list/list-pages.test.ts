import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { listObjects } from '../../../../src/cluster/list/list-objects.ts';
import { listPages, tokenAfter } from '../../../../src/cluster/list/list-pages.ts';
import { answer, clientFor, type Handler, refusal, startFakeApi } from '../client/fake-api.ts';

const PATH = '/api/v1/nodes';
const MOST_BYTES = 2 * 1024 * 1024;
const PAGE_SIZE = 100;

const textOf = (bytes: number) => 'x'.repeat(bytes);
const nameOf = (item: unknown) => (item as { name: number }).name;

/** An API server with objects of these sizes, in bytes. It records the limit and the size of each answer. */
async function serverWith(sizes: readonly number[]) {
  const answers: { limit: number; bytes: number }[] = [];
  const api = await startFakeApi(({ query }, response) => {
    const from = Number(query.continue ?? 0);
    const to = from + Number(query.limit);
    const rest = to < sizes.length ? { continue: String(to) } : {};
    const items = sizes.slice(from, to).map((bytes, index) => ({ name: from + index, text: textOf(bytes) }));
    answers.push({ limit: Number(query.limit), bytes: items.reduce((sum, { text }) => sum + text.length, 0) });
    answer(response, { metadata: { resourceVersion: '7', ...rest }, items });
  });
  const { client } = await clientFor(api.url);
  return {
    client,
    answers,
    limits: () => answers.map(({ limit }) => limit),
    pages(pageSize = PAGE_SIZE) {
      return listPages(client, PATH, { query: {}, pageSize, signal: new AbortController().signal });
    },
  };
}

async function namesOf(pages: AsyncIterable<{ items: readonly unknown[] }>): Promise<number[][]> {
  const names: number[][] = [];
  for await (const { items } of pages) names.push(items.map(nameOf));
  return names;
}

const upTo = (count: number) => Array.from({ length: count }, (_, index) => index);

describe('a list', () => {
  it('of small objects begins with a small page, and goes on with pages of the requested size', async () => {
    const { pages, limits } = await serverWith(Array(300).fill(100));
    expect((await namesOf(pages())).flat()).toEqual(upTo(300));
    expect(limits()).toEqual([25, 50, 100, 100, 100]);
  });

  it('of objects that fill a page begins with less than a page, and repeats no request', async () => {
    const { pages, limits } = await serverWith(Array(200).fill(40_000));
    expect((await namesOf(pages(250))).flat()).toEqual(upTo(200));
    expect(limits()).toEqual([25, 39, 39, 39, 39, 39]);
  });

  it('has no page above the bound, except for one object alone', async () => {
    const { pages, answers } = await serverWith(Array(30).fill(600_000));
    const names = await namesOf(pages());
    expect(names.flat()).toEqual(upTo(30));
    expect(Math.max(...names.map(({ length }) => length))).toBeLessThanOrEqual(3);
    expect(answers.slice(0, 4).map(({ limit }) => limit)).toEqual([25, 12, 6, 3]);
    // Once the size of the objects is known, no further answer is too large.
    expect(answers.slice(3).every(({ bytes }) => bytes <= MOST_BYTES)).toBe(true);
  });

  it('gets one object that is larger than the bound', async () => {
    const { pages, limits } = await serverWith([100, 5_000_000, 100]);
    expect((await namesOf(pages())).flat()).toEqual([0, 1, 2]);
    expect(limits().slice(0, 5)).toEqual([25, 12, 6, 3, 1]);
  });

  it('has larger pages again once the large objects are past', async () => {
    const { pages, limits } = await serverWith([...Array(10).fill(3_000_000), ...Array(500).fill(100)]);
    expect((await namesOf(pages())).flat()).toEqual(upTo(510));
    expect(limits().slice(0, 15)).toEqual([25, 12, 6, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]);
    expect(limits().slice(15)).toEqual([2, 4, 8, 16, 32, 64, 100, 100, 100, 100]);
  });

  it('of objects of any sizes has each object once, in order', async () => {
    const sizes = fc.array(fc.oneof(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 0, max: 3_000_000 })), {
      maxLength: 60,
    });
    await fc.assert(
      fc.asyncProperty(sizes, fc.integer({ min: 1, max: 60 }), async (bytes, pageSize) => {
        const { pages } = await serverWith(bytes);
        const names = await namesOf(pages(pageSize));
        expect(names.flat()).toEqual(upTo(bytes.length));
        for (const page of names) {
          const total = page.reduce((sum, name) => sum + (bytes[name] as number), 0);
          expect(page.length <= 1 || total <= MOST_BYTES).toBe(true);
        }
      }),
      { numRuns: 15 },
    );
  });

  it('keeps no object of a page once the next page is requested', async () => {
    const { pages } = await serverWith(Array(60).fill(100));
    const seen: (readonly unknown[])[] = [];
    for await (const { items } of pages()) {
      expect(seen.map(({ length }) => length)).toEqual(seen.map(() => 0));
      expect(items.length).toBeGreaterThan(0);
      seen.push(items);
    }
    expect(seen).toHaveLength(2);
  });

  it('by listObjects is bounded as well', async () => {
    const { client, answers } = await serverWith(Array(20).fill(1_000_000));
    expect(await listObjects(client, PATH, nameOf)).toEqual(upTo(20));
    expect(answers.at(-1)?.bytes).toBeLessThanOrEqual(MOST_BYTES);
  });
});

const TOKEN = 'the-token';
const refused = (status: number, continueToken?: string) =>
  new ApiError('GET', PATH, status, '', '', continueToken === undefined ? {} : { continueToken });

describe('after a failed page', () => {
  it.each([
    { why: 'a lost connection', error: new Error('the connection was closed'), next: TOKEN },
    { why: 'an answer that is no list', error: new SyntaxError('not JSON'), next: TOKEN },
    { why: 'an API server that fails', error: refused(500), next: TOKEN },
    { why: 'an API server that is busy', error: refused(429), next: TOKEN },
    { why: 'credentials that are renewed', error: refused(401), next: TOKEN },
    { why: 'the fourth failure', error: refused(500), attempt: 4, next: TOKEN },
    { why: 'too many failures', error: refused(500), attempt: 5, next: undefined },
    { why: 'a refusal', error: refused(403), next: undefined },
    { why: 'a path that is no longer served', error: refused(404), next: undefined },
    { why: 'the first page', error: refused(500), token: undefined, next: undefined },
    { why: 'an expired list that cannot continue', error: refused(410), next: undefined },
    { why: 'an expired list that can continue', error: refused(410, 'newer'), next: 'newer' },
    { why: 'an expired list that expires again and again', error: refused(410, 'newer'), attempt: 5, next: undefined },
  ])('$why, the list continues with the token $next', ({ error, next, attempt = 1, ...given }) => {
    expect(tokenAfter(error, 'token' in given ? given.token : TOKEN, attempt)).toBe(next);
  });

  /** A server with 8 objects, whose requests `instead` may answer. */
  async function serverOfEight(instead: (path: string | undefined, response: Parameters<Handler>[1]) => boolean) {
    const asked: (string | undefined)[] = [];
    const api = await startFakeApi(({ query }, response) => {
      asked.push(query.continue);
      if (instead(query.continue, response)) return;
      const [from = 0, version = '7'] = (query.continue ?? '0@7')
        .split('@')
        .map((part, index) => (index ? part : Number(part)));
      const to = Number(from) + 2;
      const rest = to < 8 ? { continue: `${to}@${version}` } : {};
      const items = upTo(8)
        .slice(Number(from), to)
        .map((name) => ({ name }));
      answer(response, { metadata: { resourceVersion: version, ...rest }, items });
    });
    const { client } = await clientFor(api.url);
    return { asked, pages: listPages(client, PATH, { query: {}, pageSize: 2, signal: new AbortController().signal }) };
  }

  it('that page is requested again, and no other one', async () => {
    const failing = new Set(['4@7', '6@7']);
    const { asked, pages } = await serverOfEight((token, response) => {
      if (!failing.delete(token ?? '')) return false;
      if (token === '4@7') response.writeHead(500).end();
      else response.destroy();
      return true;
    });
    expect((await namesOf(pages)).flat()).toEqual(upTo(8));
    expect(asked).toEqual([undefined, '2@7', '4@7', '4@7', '6@7', '6@7']);
  });

  it('because the list has expired, the rest is read in a newer state', async () => {
    const { asked, pages } = await serverOfEight((token, response) => {
      if (token !== '4@7') return false;
      answer(response, { ...refusal(410, 'Expired', 'too old'), metadata: { continue: '4@9' } }, 410);
      return true;
    });
    const versions: string[] = [];
    const names: number[] = [];
    for await (const { items, resourceVersion } of pages) {
      versions.push(resourceVersion);
      names.push(...items.map(nameOf));
    }
    expect(names).toEqual(upTo(8));
    expect(versions).toEqual(['7', '7', '9', '9']);
    expect(asked).toEqual([undefined, '2@7', '4@7', '4@9', '6@9']);
  });
});
