import { describe, expect, it } from 'vitest';
import { createDecisionLog } from '../../../src/page/decision-log.ts';
import { BODY_LIMIT_BYTES } from '../../../src/server/json-body.ts';
import type { JudgedRequest } from '../../../src/server/reviewer.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  daemonSetObject,
  harmlessReview,
  nodeObject,
  nodeUpdateReview,
  taintPolicyYaml,
  taintRemovalReview,
} from '../reviews.ts';
import { nested, reviewOfSize, withJson } from './review-texts.ts';
import { ALIVE, startServer } from './running-server.ts';

const OTHER_TAINT = { key: 'other', effect: 'NoSchedule' };

describe('a review is judged in spite of', () => {
  const proto = '{"__proto__":"x","constructor":"y","prototype":"z"}';

  it.each<{ why: string; body: unknown }>([
    { why: 'taints null', body: nodeUpdateReview([CONTROL_PLANE_TAINT], null) },
    {
      why: 'timeAdded null, as old API servers write it',
      body: nodeUpdateReview([{ ...CONTROL_PLANE_TAINT, timeAdded: null }], [{ ...OTHER_TAINT, timeAdded: null }]),
    },
    {
      why: 'a taint value null',
      body: nodeUpdateReview([{ ...CONTROL_PLANE_TAINT, value: null }], [{ ...OTHER_TAINT, value: null }]),
    },
    {
      why: 'label and annotation values null, and no generateName',
      body: taintRemovalReview({
        object: nodeObject([], { labels: { pool: null }, annotations: { note: null }, generateName: null }),
      }),
    },
    {
      // The API server checks its length only where a Node is created, and then without the dash at the end.
      why: 'a generateName that is longer than a name',
      body: taintRemovalReview({
        object: nodeObject([], { generateName: 'a'.repeat(100_000) }),
        oldObject: nodeObject([CONTROL_PLANE_TAINT], { generateName: `${'a'.repeat(253)}-` }),
      }),
    },
    { why: 'a name null', body: taintRemovalReview({ object: nodeObject([], { name: null }) }) },
    { why: 'taints missing', body: nodeUpdateReview([CONTROL_PLANE_TAINT], undefined) },
    {
      why: 'spec null',
      body: taintRemovalReview({ object: { metadata: { name: 'cp-1' }, spec: null } }),
    },
    { why: 'groups null', body: taintRemovalReview({ userInfo: { username: 'dev', groups: null } }) },
    { why: 'no user name (as in a misconfigured front proxy)', body: taintRemovalReview({ userInfo: {} }) },
    {
      why: '__proto__ and constructor as labels',
      body: withJson(taintRemovalReview({ object: nodeObject([], { labels: 'HERE' }) }), proto),
    },
    {
      why: '__proto__ and constructor as annotations',
      body: withJson(taintRemovalReview({ object: nodeObject([], { annotations: 'HERE' }) }), proto),
    },
    {
      why: '__proto__ at the top level',
      body: JSON.stringify(taintRemovalReview()).replace(
        '{',
        '{"__proto__":{"kind":"Node","request":null},"constructor":1,',
      ),
    },
    {
      why: '__proto__ in the request',
      body: JSON.stringify(taintRemovalReview()).replace('"request":{', '"request":{"__proto__":{"dryRun":true},'),
    },
    {
      why: '__proto__ in the object',
      body: withJson(
        taintRemovalReview({ object: 'HERE' }),
        `{"__proto__":{"spec":{"taints":[]}},"metadata":{"name":"cp-1"},"spec":{}}`,
      ),
    },
    { why: 'options nested 200 deep', body: withJson(taintRemovalReview({ options: 'HERE' }), nested(200)) },
    {
      why: 'an unread field nested 60,000 deep',
      body: withJson(taintRemovalReview({ object: { ...nodeObject([]), status: 'HERE' } }), nested(60_000)),
    },
    { why: 'a body just under the limit', body: reviewOfSize(BODY_LIMIT_BYTES - 1) },
    { why: 'a body of exactly the limit', body: reviewOfSize(BODY_LIMIT_BYTES) },
  ])('$why', async ({ body }) => {
    const server = await startServer();
    const response = await server.review(body);

    expect(response).toMatchObject({ uid: 'uid-1', allowed: false, status: { code: 403, reason: 'Forbidden' } });
    expect(response.status.message).toContain(
      'node cp-1: removing taint node-role.kubernetes.io/control-plane:NoSchedule',
    );
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  });

  it('a charset in the content type', async () => {
    const server = await startServer();
    const { status } = await server.post(harmlessReview(), {
      headers: { 'content-type': 'application/json; charset=utf-8' },
    });
    expect(status).toBe(200);
  });
});

it('names that every JavaScript object has are no labels', async () => {
  const server = await startServer({
    policies: `
apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: selected }
spec:
  mode: Deny
  nodeSelector: { matchExpressions: [{ key: constructor, operator: Exists }] }
  taints: [{ key: node-role.kubernetes.io/control-plane }]
`,
  });
  const labelled = nodeObject([CONTROL_PLANE_TAINT], { labels: { constructor: '' } });

  expect(await server.review(taintRemovalReview())).toMatchObject({ allowed: true });
  expect(await server.review(taintRemovalReview({ oldObject: labelled }))).toMatchObject({ allowed: false });
});

it('a DaemonSet update whose template is nested too deep to compare is a malformed one', async () => {
  const server = await startServer();
  const template = { spec: { tolerations: [], volumes: 'HERE' } };
  const object = { ...daemonSetObject([]), spec: { template } };
  const body = JSON.stringify(daemonSetCreationReview([], { operation: 'UPDATE', object, oldObject: object }));
  // Mutation compares the templates; validation does not look at them.
  const { status, text } = await server.post(body.replaceAll('"HERE"', nested(30_000)), { path: '/mutate' });

  expect(status).toBe(400);
  expect(JSON.parse(text)).toMatchObject({
    kind: 'AdmissionReview',
    response: {
      uid: 'uid-ds',
      allowed: false,
      status: { code: 400, reason: 'BadRequest', message: 'request.object: nested too deep' },
    },
  });
  expect(await server.aliveAnswer()).toEqual(ALIVE);
});

it('a fault of ours is not blamed on the object, whatever sort of error it is', async () => {
  const server = await startServer({ failing: new RangeError('Invalid array length') });
  const { status, text } = await server.post(JSON.stringify(taintRemovalReview()), { path: '/validate' });

  expect(status).toBe(500);
  expect(JSON.parse(text)).toMatchObject({ response: { allowed: false, status: { reason: 'InternalError' } } });
});

it.each([
  { why: 'an allowed', review: harmlessReview(), allowed: true, result: 'allowed' },
  { why: 'a denied', review: taintRemovalReview(), allowed: false, result: 'denied' },
])(
  '$why request is answered and counted once although nothing can be recorded of it',
  async ({ review, allowed, result }) => {
    const server = await startServer({
      onJudged() {
        throw new Error('on purpose');
      },
    });
    const { status, text } = await server.post(JSON.stringify(review), { path: '/validate' });

    expect(status).toBe(200);
    expect(JSON.parse(text)).toMatchObject({ response: { allowed } });
    const counted = await server.metrics.registry.getSingleMetricAsString('taintkeeper_admission_requests_total');
    expect(counted.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !line.endsWith(' 0'))).toEqual([
      expect.stringMatching(new RegExp(`result="${result}".* 1$`)),
    ]);
  },
);

it('fields of a taint that is put back lead no reader of the patch into a prototype', async () => {
  const judged: JudgedRequest[] = [];
  const server = await startServer({
    policies: taintPolicyYaml('Restore'),
    onJudged: (one) => judged.push(one),
  });
  const changed = { ...CONTROL_PLANE_TAINT, value: 'changed' };
  const body = withJson(
    nodeUpdateReview([{ ...CONTROL_PLANE_TAINT, x: 'HERE' }], [{ ...changed, x: {} }]),
    '{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}',
  ).replace('"x":', '"__proto__":{"polluted":true},"x":');
  const { allowed, patch } = await server.review(body, '/mutate');

  expect(allowed).toBe(true);
  const operations = JSON.parse(Buffer.from(patch, 'base64').toString());
  expect(operations.map(({ path }: { path: string }) => path)).toEqual(['/spec/taints/0']);
  // The page applies it, too.
  const log = createDecisionLog({ replica: 'a' });
  for (const one of judged) log.record(one);
  expect(log.latest().map(({ view }) => view().changes.length)).toEqual([1]);
  expect({}).not.toHaveProperty('polluted');
});
