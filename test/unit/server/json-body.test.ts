import { expect, it } from 'vitest';
import { subjectOf } from '../../../src/server/json-body.ts';
import { CONTROL_PLANE_TAINT, nodeObject, taintPolicyYaml, taintRemovalReview } from '../reviews.ts';
import { startServer } from './running-server.ts';

/** Each has a key of four characters. */
const labels = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [n.toString(36).padStart(4, 'x'), '']));

it.each([
  { pool: 'a', allowed: false },
  { pool: 'b', allowed: true },
])('among 9,000 labels, the one that a policy asks for decides: $pool', async ({ pool, allowed }) => {
  const server = await startServer({
    policies: `${taintPolicyYaml('Deny')}  nodeSelector: { matchLabels: { pool: a } }`,
  });
  const node = nodeObject([CONTROL_PLANE_TAINT], { labels: { ...labels(9_000), pool } });
  const review = taintRemovalReview({ oldObject: node, object: { ...node, spec: {} } });

  expect((await server.review(review)).allowed).toBe(allowed);
});

it.each([
  { what: 'the beginning of a UTF-8 character', body: Buffer.from([0xc3]), subject: {} },
  { what: 'another order', body: Buffer.from('{"name":"n","request":{"uid":"u"}}'), subject: { uid: 'u', name: 'n' } },
  {
    what: 'a uid that would forge lines and colours',
    body: Buffer.from('{"request":{"uid":"a\n\u001B[31m","name":"\u202Eb"}}'),
    subject: { uid: 'a\\u{a}\\u{1b}[31m', name: '\\u{202e}b' },
  },
  { what: 'a name of any length', body: Buffer.from(`{"name":"${'n'.repeat(2_000)}"}`), subject: {} },
])('what the log says of $what is short and printable', ({ body, subject }) => {
  expect(subjectOf(body)).toEqual(subject);
});

it('an unfinished review is refused', async () => {
  const server = await startServer();
  const text = JSON.stringify(taintRemovalReview());
  for (const cut of [1, 2, 20, Math.floor(text.length / 2)]) {
    const { status, text: answer } = await server.post(text.slice(0, -cut));
    expect([status, answer]).toEqual([400, expect.stringContaining('the body is not JSON')]);
  }
});
