import { describe, expect, it } from 'vitest';
import type { TaintMode } from '../../../src/policy/taint-policy.ts';
import { CLIENT_TIMEOUTS } from '../../../src/server/client-timeouts.ts';
import { MOST_PARTS, MOST_TEXTS } from '../../../src/server/json-body.ts';
import { LEVEL } from '../captured-log.ts';
import { eventually } from '../eventually.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  nodeObject,
  nodeUpdateReview,
  taintPolicyYaml,
  taintRemovalReview,
} from '../reviews.ts';
import { openTls, readAnswer } from './raw-connections.ts';
import { reviewOfSize } from './review-texts.ts';
import { ALIVE, startServer } from './running-server.ts';

const MIB = 1024 * 1024;
/** `status.runtimeHandlers` with two false booleans: 8.2 bytes of JSON for each byte that etcd stores. */
const handlers = (count: number) =>
  Array.from({ length: count }, () => ({
    name: '',
    features: { recursiveReadOnlyMounts: false, userNamespaces: false },
  }));
const withHandlers = (taints: readonly object[]) => ({
  ...nodeObject(taints),
  status: { runtimeHandlers: handlers(156_000) },
});
const filledNode = taintRemovalReview({
  oldObject: withHandlers([CONTROL_PLANE_TAINT]),
  object: withHandlers([]),
});

describe('a review that is too large', () => {
  it('of a Node that etcd accepts is denied, and the message says what to do', async () => {
    const server = await startServer();
    const { status, text } = await server.post(filledNode);

    expect(text).not.toContain('etcd accepts');
    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({
      kind: 'AdmissionReview',
      response: { uid: 'uid-1', allowed: false, status: { code: 403, reason: 'Forbidden' } },
    });
    expect(JSON.parse(text).response.status.message).toBe(
      'node cp-1: the request is denied, because its review is too large to check: it has more than 2 MiB, 20,000 fields, 20,000 lists and maps, or 45,000 texts. ' +
        'Find what fills the Node: kubectl get node cp-1 -o json. Remove that, and try again',
    );
    expect(server.log.lines()).toEqual([
      expect.objectContaining({
        ...{ level: LEVEL.warn, path: '/validate', origin: '127.0.0.1', allowed: false },
        ...{ uid: 'uid-1', kind: 'Node', name: 'cp-1' },
        msg: 'a review is too large',
      }),
    ]);
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  });

  it.each<{ why: string; mode: TaintMode; path: string; allowed: boolean }>([
    { why: 'its policies and its phase', mode: 'Restore', path: '/validate', allowed: false },
    { why: 'its phase', mode: 'Restore', path: '/mutate', allowed: true },
    { why: 'its policies', mode: 'Audit', path: '/validate', allowed: true },
  ])('of a Node is judged by $why: mode $mode, $path', async ({ mode, path, allowed }) => {
    const server = await startServer({ policies: taintPolicyYaml(mode) });
    const response = await server.review(filledNode, path);

    expect(response).toMatchObject({ uid: 'uid-1', allowed });
    if (allowed) expect(response.warnings).toEqual([expect.stringContaining('too large')]);
  });

  it.each(['/mutate', '/validate'])('of a DaemonSet passes unpatched, with a warning: %s', async (path) => {
    const server = await startServer();
    const response = await server.review(daemonSetCreationReview([], { options: 'x'.repeat(20 * MIB) }), path);

    expect(response).toEqual({
      uid: 'uid-ds',
      allowed: true,
      warnings: ['taintkeeper cannot check DaemonSet kube-flannel-ds: its review is too large'],
    });
    expect(server.log.lines()).toMatchObject([{ level: LEVEL.warn, kind: 'DaemonSet', allowed: true }]);
  });

  it.each([
    { what: 'more bytes than are read', body: () => reviewOfSize(2 * MIB + 1) },
    {
      what: 'more lists than are parsed',
      body: () => taintRemovalReview({ options: Array(MOST_PARTS + 1).fill([1, 2, 3, 4]) }),
    },
    {
      what: 'more fields than are parsed',
      body: () =>
        taintRemovalReview({
          options: Object.fromEntries(Array.from({ length: MOST_PARTS + 1 }, (_, n) => [`f${n}`, 0])),
        }),
    },
    { what: 'more texts than are parsed', body: () => taintRemovalReview({ options: Array(MOST_TEXTS + 1).fill('') }) },
    {
      what: 'more maps than are parsed',
      body: () => taintRemovalReview({ options: Array(MOST_PARTS + 1).fill({ 33: 0 }) }),
    },
  ])('because of $what is denied', async ({ body }) => {
    const server = await startServer();
    expect(await server.review(body())).toMatchObject({
      allowed: false,
      status: { message: expect.stringContaining('too large') },
    });
  });

  it('is an error while the policies are not known, so that the failurePolicy decides', async () => {
    const server = await startServer({ failing: new Error('not read yet') });
    const { status, text } = await server.post(filledNode);

    expect(status).toBe(500);
    expect(JSON.parse(text)).toMatchObject({ response: { uid: 'uid-1', allowed: false, status: { code: 500 } } });
  });

  it('without a uid at its beginning is refused', async () => {
    const server = await startServer();
    const { status, text } = await server.post(Buffer.alloc(3 * MIB, ' '));

    expect(status).toBe(413);
    expect(JSON.parse(text)).toEqual({
      error: 'the body is too large, and does not begin as a review of an API server',
    });
  });
});

it('28 large requests at the same time are all judged, whichever is finished first', async () => {
  // A busy machine may take long to send them.
  const server = await startServer({ timeouts: { ...CLIENT_TIMEOUTS, bodyMs: 60_000, slowChecks: 1_000 } });
  const text = reviewOfSize(1.9 * MIB);
  const head = `POST /validate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n`;
  const clients = await Promise.all(Array.from({ length: 28 }, () => openTls(server.port)));
  const answers = clients.map(readAnswer);
  for (const client of clients) client.write(head + text.slice(0, -1));
  const inFlight = server.metrics.registry.getSingleMetric('taintkeeper_admission_in_flight');
  await eventually(async () => expect((await inFlight?.get())?.values[0]?.value).toBe(28));
  for (const client of clients.toReversed()) client.write(text.slice(-1));

  for (const answer of await Promise.all(answers)) {
    expect(answer).toContain('HTTP/1.1 200');
    expect(answer).toContain('removing taint node-role.kubernetes.io/control-plane');
  }
});

it('a node of usual size is judged while others are too large', async () => {
  const server = await startServer();
  const [large, usual] = await Promise.all([
    server.review(filledNode),
    server.review(nodeUpdateReview([CONTROL_PLANE_TAINT], [])),
  ]);
  expect([large.status.message, usual.status.message]).toEqual([
    expect.stringContaining('too large'),
    expect.stringContaining('removing taint'),
  ]);
});
