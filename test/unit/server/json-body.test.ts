import { expect, it } from 'vitest';
import { BODY_LIMIT_BYTES, subjectOf, WHOLE_BYTES } from '../../../src/server/json-body.ts';
import { LEVEL } from '../captured-log.ts';
import { CONTROL_PLANE_TAINT, nodeObject, taintPolicyYaml, taintRemovalReview } from '../reviews.ts';
import { withJson } from './review-texts.ts';
import { ALIVE, startServer } from './running-server.ts';

/** As many values as fit, of the kind that V8 makes the most of. */
const DENSE = `[${Array(300_000).fill('{"33":0}').join(',')}]`;
const TAINTS = Array(300_000).fill({ key: 'k', effect: 'NoExecute' });
/** Each has a key of four characters. */
const labels = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [n.toString(36).padStart(4, 'x'), '']));
const MORE_THAN_TWO_OBJECTS_HAVE = 550_000;

it.each([
  { where: 'in the status', object: { metadata: { name: 'cp-1' }, status: 'HERE' } },
  { where: 'in place of a name', object: { metadata: { name: 'HERE' } } },
  { where: 'in place of a label', object: { metadata: { name: 'cp-1', labels: { a: 'HERE' } } } },
  { where: 'in a field that nodes do not have', object: { metadata: { name: 'cp-1' }, unknown: 'HERE' } },
])('values $where that would fill the heap are never parsed', async ({ object }) => {
  const server = await startServer();
  const { status, text } = await server.post(withJson(taintRemovalReview({ object }), DENSE));

  // Judged, or told what is wrong with the review; the values are not in it.
  expect([200, 400]).toContain(status);
  expect(JSON.parse(text).response.uid).toBe('uid-1');
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it.each([
  { what: 'labels', make: () => ({ metadata: { name: 'cp-1', labels: labels(MORE_THAN_TWO_OBJECTS_HAVE) } }) },
  { what: 'taints', make: () => ({ metadata: { name: 'cp-1' }, spec: { taints: TAINTS } }) },
])('a review with more $what than etcd accepts is refused, and the log says what it was about', async ({ make }) => {
  const object = make();
  const server = await startServer();
  const answer = await server.post(taintRemovalReview({ object }));

  expect(answer).toMatchObject({
    status: 413,
    text: '{"error":"the body holds more than two objects have that etcd accepts"}',
  });
  expect(server.log.lines()).toEqual([
    expect.objectContaining({
      ...{ level: LEVEL.warn, path: '/validate', status: 413, origin: '127.0.0.1' },
      ...{ uid: 'uid-1', kind: 'Node', name: 'cp-1' },
      msg: 'unreadable request: the body holds more than two objects have that etcd accepts',
    }),
  ]);
});

it.each([
  { pool: 'a', allowed: false },
  { pool: 'b', allowed: true },
])('among 100,000 labels, the one that a policy asks for decides: $pool', async ({ pool, allowed }) => {
  const server = await startServer({
    policies: `${taintPolicyYaml('Deny')}  nodeSelector: { matchLabels: { pool: a } }`,
  });
  const node = nodeObject([CONTROL_PLANE_TAINT], { labels: { ...labels(100_000), pool } });
  const review = taintRemovalReview({ oldObject: node, object: { ...node, spec: {} } });

  expect(JSON.stringify(review).length).toBeGreaterThan(WHOLE_BYTES);
  expect((await server.review(review)).allowed).toBe(allowed);
});

it('a review that is too long to be read is refused, and the log says what it was about', async () => {
  const server = await startServer();
  const padding = 'x'.repeat(BODY_LIMIT_BYTES);
  expect((await server.post(taintRemovalReview({ options: padding }))).status).toBe(413);

  expect(server.log.lines()).toMatchObject([
    { status: 413, origin: '127.0.0.1', uid: 'uid-1', kind: 'Node', name: 'cp-1' },
  ]);
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('the log says where a review came from that is too long and names no length', async () => {
  const server = await startServer();
  const review = taintRemovalReview({ options: 'x'.repeat(BODY_LIMIT_BYTES) });
  expect((await server.post(review, { chunked: true })).status).toBe(413);

  expect(server.log.lines()).toMatchObject([{ status: 413, path: '/validate', origin: '127.0.0.1' }]);
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

it('an unfinished review is refused, whichever way it is read', async () => {
  const server = await startServer();
  for (const bytes of [1, WHOLE_BYTES]) {
    const text = JSON.stringify(taintRemovalReview({ options: 'x'.repeat(bytes) }));
    for (const cut of [1, 2, 20, Math.floor(text.length / 2)]) {
      const { status, text: answer } = await server.post(text.slice(0, -cut));
      expect([status, answer]).toEqual([400, expect.stringContaining('the body is not JSON')]);
    }
  }
});
