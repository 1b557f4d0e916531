import fc from 'fast-check';
import { expect, it } from 'vitest';
import { countValues, MAX_JSON_VALUES } from '../../../src/server/json-body.ts';
import { taintDropReview } from '../reviews.ts';
import { nested, withJson } from './review-texts.ts';
import { ALIVE, startServer } from './running-server.ts';

function valuesIn(value: unknown): number {
  const parts = typeof value === 'object' && value !== null ? Object.values(value) : [];
  return parts.reduce((sum: number, part) => sum + valuesIn(part), 1);
}

it('never counts less than there are', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      expect(countValues(JSON.stringify(value))).toBeGreaterThanOrEqual(valuesIn(value));
    }),
  );
});

it.each([
  { text: '1', count: 1 },
  { text: '{}', count: 2 },
  { text: '{"a":[1,2]}', count: 4 },
  { text: nested(9), count: 10 },
])('counts no more than $count for $text', ({ text, count }) => {
  expect(countValues(text)).toBe(count);
});

it('a body that would fill the heap is refused before it is parsed; one of that length with few values is not', async () => {
  const server = await startServer();
  const full = `[${Array(MAX_JSON_VALUES).fill('{"16":0}').join(',')}]`;
  const refused = await server.post(withJson(taintDropReview({ options: 'HERE' }), full));

  expect(refused).toMatchObject({ status: 413, text: '{"error":"the body has more than 250,000 JSON values"}' });
  expect(
    (await server.post(withJson(taintDropReview({ options: 'HERE' }), JSON.stringify('x'.repeat(full.length))))).status,
  ).toBe(200);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});
