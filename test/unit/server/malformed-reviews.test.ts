import { describe, expect, it } from 'vitest';
import { LEVEL } from '../captured-log.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  harmlessReview,
  nodeObject,
  nodeUpdateReview,
} from '../reviews.ts';
import { nested, withJson } from './review-texts.ts';
import { ALIVE, startServer } from './running-server.ts';

describe('a review with a uid that cannot be judged is answered with HTTP 400, that uid and the field that is wrong', () => {
  it.each<{ why: string; body: unknown; message: string | RegExp }>([
    {
      why: 'v1beta1',
      body: { ...harmlessReview(), apiVersion: 'admission.k8s.io/v1beta1' },
      message:
        'expected apiVersion admission.k8s.io/v1, got admission.k8s.io/v1beta1: set admissionReviewVersions to ["v1"]',
    },
    {
      why: 'another kind',
      body: { ...harmlessReview(), kind: 'ConversionReview' },
      message: 'expected an AdmissionReview',
    },
    { why: 'no resource', body: harmlessReview({ resource: undefined }), message: 'request: resource is missing' },
    { why: 'no user', body: harmlessReview({ userInfo: null }), message: 'request.userInfo: expected a map, got null' },
    { why: 'object null', body: harmlessReview({ object: null }), message: 'request.object: expected a map, got null' },
    {
      why: 'object missing',
      body: harmlessReview({ object: undefined }),
      message: 'request.object: expected a map, got nothing',
    },
    {
      why: 'object a list',
      body: harmlessReview({ object: [] }),
      message: 'request.object: expected a map, got a list',
    },
    {
      why: 'old object null',
      body: harmlessReview({ oldObject: null }),
      message: 'request.oldObject: expected a map, got null',
    },
    {
      why: 'taints no list',
      body: nodeUpdateReview([], { key: 'a' }),
      message: 'request.object.spec.taints: expected a list, got a map',
    },
    {
      why: 'taints text',
      body: nodeUpdateReview([], 'a:NoSchedule'),
      message: 'request.object.spec.taints: expected a list, got "a:NoSchedule"',
    },
    {
      why: 'a taint without key',
      body: nodeUpdateReview([], [CONTROL_PLANE_TAINT, { effect: 'NoSchedule' }]),
      message: 'request.object.spec.taints[1]: key is missing',
    },
    {
      why: 'a taint without effect in the old object',
      body: nodeUpdateReview([{ key: 'a' }], []),
      message: 'request.oldObject.spec.taints[0]: effect is missing',
    },
    {
      why: 'a taint null',
      body: nodeUpdateReview([], [null]),
      message: 'request.object.spec.taints[0]: expected a map, got null',
    },
    {
      why: 'a taint value that is a number',
      body: nodeUpdateReview([], [{ ...CONTROL_PLANE_TAINT, value: 1 }]),
      message: 'request.object.spec.taints[0].value: expected a string, got 1',
    },
    {
      why: 'a label that is a number',
      body: harmlessReview({ object: nodeObject([], { labels: { pool: 3 } }) }),
      message: 'request.object.metadata.labels.pool: expected a string, got 3',
    },
    {
      why: 'a name that is a list',
      body: harmlessReview({ object: nodeObject([], { name: ['cp-1'] }) }),
      message: 'request.object.metadata.name: expected a string, got a list',
    },
    {
      why: 'a DaemonSet without spec',
      body: daemonSetCreationReview([], { object: { metadata: {} } }),
      message: 'request.object: spec is missing',
    },
    {
      why: 'tolerations no list',
      body: daemonSetCreationReview('all'),
      message: 'request.object.spec.template.spec.tolerations: expected a list, got "all"',
    },
    {
      why: 'labels nested 60,000 deep',
      body: withJson(harmlessReview({ object: nodeObject([], { labels: { deep: 'HERE' } }) }), nested(60_000)),
      message: 'request.object.metadata.labels.deep: expected a string, got a list',
    },
    {
      why: 'taints nested 60,000 deep',
      body: withJson(nodeUpdateReview([], 'HERE'), nested(60_000)),
      message: 'request.object.spec.taints[0]: expected a map, got a list',
    },
  ])('$why', async ({ body, message }) => {
    const server = await startServer();
    for (const path of ['/validate', '/mutate']) {
      const { status, text } = await server.post(body, { path });

      expect(status).toBe(400);
      expect(JSON.parse(text)).toEqual({
        apiVersion: 'admission.k8s.io/v1',
        kind: 'AdmissionReview',
        response: {
          uid: (typeof body === 'string' ? JSON.parse(body) : (body as { request: { uid: string } })).request?.uid,
          allowed: false,
          status: {
            status: 'Failure',
            code: 400,
            reason: 'BadRequest',
            message: typeof message === 'string' ? message : expect.stringMatching(message),
          },
        },
      });
    }
    expect(await server.aliveAnswer()).toEqual(ALIVE);
  });
});

describe('an object that cannot be read is one line in the log that says which one, whose, and who sent it:', () => {
  const where = { level: LEVEL.warn, time: expect.any(Number), origin: '127.0.0.1' };

  it.each<{ why: string; body: unknown; line: object }>([
    {
      why: 'a Node',
      body: nodeUpdateReview([], 7),
      line: {
        uid: 'uid-1',
        resource: 'nodes',
        name: 'cp-1',
        user: 'dev@example.com',
        msg: 'malformed object: request.object.spec.taints: expected a list, got 7',
      },
    },
    {
      why: 'a DaemonSet',
      body: daemonSetCreationReview(7),
      line: {
        uid: 'uid-ds',
        resource: 'daemonsets',
        namespace: 'kube-flannel',
        name: 'kube-flannel-ds',
        user: 'dev@example.com',
        msg: 'malformed object: request.object.spec.template.spec.tolerations: expected a list, got 7',
      },
    },
    {
      why: 'a Node with control characters in all it says of itself',
      body: nodeUpdateReview([], 7, {
        uid: 'u\u001B',
        name: 'n\u202E',
        userInfo: { username: 'd\n' },
        namespace: '\u009B',
      }),
      line: {
        uid: 'u\\u{1b}',
        resource: 'nodes',
        namespace: '\\u{9b}',
        name: 'n\\u{202e}',
        user: 'd\\u{a}',
        msg: 'malformed object: request.object.spec.taints: expected a list, got 7',
      },
    },
    {
      why: 'a review of another version',
      body: { ...harmlessReview(), apiVersion: 'v2' },
      line: { uid: 'uid-1', msg: expect.stringMatching(/^malformed review: expected apiVersion .*, got v2: /) },
    },
  ])('$why', async ({ body, line }) => {
    const server = await startServer();
    for (const path of ['/validate', '/mutate']) await server.post(body, { path });

    expect(server.log.lines()).toEqual([
      { ...where, path: '/validate', ...line },
      { ...where, path: '/mutate', ...line },
    ]);
  });

  it('nothing but at level debug in a dry run', async () => {
    const server = await startServer({ level: 'debug' });
    await server.post(nodeUpdateReview([], 7, { dryRun: true }));

    expect(server.log.lines()).toMatchObject([
      { level: LEVEL.debug, msg: expect.stringMatching(/^malformed object: /) },
    ]);
  });
});

describe('of texts of any length that a forged review has, the log and the answer have the beginning, or nothing:', () => {
  const long = '\u007F'.repeat(300_000);

  it.each<{ why: string; body: unknown }>([
    { why: 'the uid of a review that is none', body: { ...harmlessReview({ uid: long }), kind: 'X' } },
    { why: 'the uid', body: nodeUpdateReview([], 7, { uid: long }) },
    { why: 'the user', body: nodeUpdateReview([], 7, { userInfo: { username: long } }) },
    { why: 'the name', body: nodeUpdateReview([], 7, { name: long }) },
    { why: 'a label', body: harmlessReview({ object: nodeObject([], { labels: { [long]: 3 } as never }) }) },
    { why: 'a value', body: nodeUpdateReview([], long) },
    { why: 'the version', body: { ...harmlessReview(), apiVersion: long } },
    { why: 'a text that is no JSON', body: `"${long}` },
  ])('$why', async ({ body }) => {
    const server = await startServer();
    for (const path of ['/validate', '/mutate']) {
      const { status, text } = await server.post(body, { path });

      expect(status).toBe(400);
      expect(text.length).toBeLessThan(4_096);
    }
    expect(server.log.lines()).toHaveLength(2);
    for (const line of server.log.lines()) expect(JSON.stringify(line).length).toBeLessThan(16_384);
  });
});
