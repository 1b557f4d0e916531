import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Result } from '../../../src/judge/outcomes.ts';
import { LEVEL } from '../captured-log.ts';
import {
  CONTROL_PLANE_TAINT,
  daemonSetCreationReview,
  daemonSetObject,
  harmlessReview,
  nodeObject,
  nodeUpdateReview,
  TOLERATION_POLICY_YAML,
  taintPolicyYaml,
  taintRemovalReview,
} from '../reviews.ts';
import { SERVING_PAIR, startServer } from './running-server.ts';

it('a violation is one log line that names the user, the operation, the object and the policy', async () => {
  const { review, log } = await startServer();
  await review(taintRemovalReview());

  expect(log.lines()).toEqual([
    {
      level: LEVEL.warn,
      time: expect.any(Number),
      uid: 'uid-1',
      operation: 'UPDATE',
      kind: 'Node',
      name: 'cp-1',
      user: 'dev@example.com',
      origin: '127.0.0.1',
      policyKind: 'TaintPolicy',
      policy: 'keep-deny',
      fields: ['spec.taints[0]'],
      mode: 'Deny',
      change: 'Removal',
      result: 'Denied',
      audit: false,
      subjects: ['node-role.kubernetes.io/control-plane:NoSchedule'],
      msg: 'denied node-role.kubernetes.io/control-plane:NoSchedule on Node cp-1: TaintPolicy keep-deny, user dev@example.com',
    },
  ]);
});

it('a line lists 32 taints at most, and counts the others', async () => {
  const taints = Array.from({ length: 40 }, (_, n) => ({ key: `example.com/k${n}`, effect: 'NoExecute' }));
  const { review, log } = await startServer({
    policies: `apiVersion: taintkeeper.dev/v1alpha1\nkind: TaintPolicy\nmetadata: { name: p }\nspec: { mode: Deny, taints: [${taints.map(({ key }) => `{ key: ${key} }`)}] }`,
  });
  await review(nodeUpdateReview(taints, []));

  const names = taints.slice(0, 32).map(({ key }) => `${key}:NoExecute`);
  expect(log.lines()).toMatchObject([
    { subjects: names, fields: names.map((_, index) => `spec.taints[${index}]`), subjectsLeftOut: 8 },
  ]);
});

describe('a refusal that is repeated', () => {
  const atSecond = (seconds: number) => vi.advanceTimersByTime(seconds * 1000 - performance.now());

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['performance'] });
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is logged at most every ten seconds, with their number: Talos repeats one three times a second', async () => {
    const { review, log } = await startServer();
    const start = performance.now();
    for (let times = 0; times < 40; times += 1) {
      atSecond(start / 1000 + times / 3);
      await review(taintRemovalReview({ uid: `uid-${times}` }));
    }

    expect(log.lines().map(({ uid, repeated }) => ({ uid, repeated }))).toEqual([
      { uid: 'uid-0', repeated: undefined },
      { uid: 'uid-30', repeated: 30 },
    ]);
  });

  it.each([
    { why: 'another user', other: { userInfo: { username: 'other@example.com' } } },
    {
      why: 'another node',
      other: {
        name: 'cp-2',
        object: nodeObject([], { name: 'cp-2' }),
        oldObject: nodeObject([CONTROL_PLANE_TAINT], { name: 'cp-2' }),
      },
    },
    { why: 'another taint', other: { oldObject: nodeObject([{ ...CONTROL_PLANE_TAINT, effect: 'NoExecute' }]) } },
  ])('is another one with $why', async ({ other }) => {
    const { review, log } = await startServer({
      policies:
        'apiVersion: taintkeeper.dev/v1alpha1\nkind: TaintPolicy\nmetadata: { name: p }\nspec: { mode: Deny, taints: [{ key: node-role.kubernetes.io/control-plane }] }',
    });
    await review(taintRemovalReview());
    await review(taintRemovalReview());
    expect(log.lines()).toHaveLength(1);
    await review(taintRemovalReview(other));
    expect(log.lines()).toHaveLength(2);
  });

  it('only a refusal: each other outcome is a line', async () => {
    const { review, log } = await startServer({ policies: taintPolicyYaml('Restore') });
    for (let times = 0; times < 3; times += 1) await review(taintRemovalReview(), '/mutate');
    expect(log.lines().map(({ result }) => result)).toEqual(['Restored', 'Restored', 'Restored']);
  });
});

const RELEASE = { 'taintkeeper.dev/allow-removal': 'node-role.kubernetes.io/control-plane:NoSchedule' };
const RELEASING = nodeObject([CONTROL_PLANE_TAINT], { annotations: RELEASE });

it.each<{ result: Result; policies: string; body?: object; path: string; level: number }>([
  { result: 'Denied', policies: taintPolicyYaml('Deny'), path: '/validate', level: LEVEL.warn },
  { result: 'Audited', policies: taintPolicyYaml('Audit'), path: '/validate', level: LEVEL.warn },
  { result: 'Restored', policies: taintPolicyYaml('Restore'), path: '/mutate', level: LEVEL.info },
  {
    result: 'AllowedByExemption',
    policies: `${taintPolicyYaml('Deny')}  exempt: { users: ["dev@*"] }`,
    path: '/mutate',
    level: LEVEL.info,
  },
  {
    result: 'AllowedByAnnotation',
    policies: taintPolicyYaml('Deny'),
    body: taintRemovalReview({ oldObject: RELEASING }),
    path: '/validate',
    level: LEVEL.info,
  },
  {
    result: 'Reported',
    policies: TOLERATION_POLICY_YAML,
    body: daemonSetCreationReview([], { operation: 'UPDATE', oldObject: daemonSetObject([]) }),
    path: '/validate',
    level: LEVEL.warn,
  },
])('$result is logged once, at level $level, by $path', async ({ result, policies, body, path, level }) => {
  const { review, log } = await startServer({ policies });
  await review(body ?? taintRemovalReview(), path);

  expect(log.lines().length).toBeGreaterThan(0);
  for (const line of log.lines()) expect(line).toMatchObject({ result, level });
  expect(new Set(log.lines().map(({ subject }) => subject)).size).toBe(log.lines().length);
  const other = path === '/validate' ? '/mutate' : '/validate';
  const before = log.lines().length;
  await review(body ?? taintRemovalReview(), other);
  expect(log.lines().slice(before)).not.toContainEqual(expect.objectContaining({ result }));
});

it('what one policy adds is one line with all of it', async () => {
  const { review, log } = await startServer();
  await review(daemonSetCreationReview([]), '/mutate');

  expect(log.lines()).toMatchObject([
    {
      fields: ['spec.tolerations[0]', 'spec.tolerations[1]'],
      subjects: ['node-role.kubernetes.io/master:NoSchedule', 'node-role.kubernetes.io/control-plane:NoSchedule'],
      msg:
        'added node-role.kubernetes.io/master:NoSchedule, node-role.kubernetes.io/control-plane:NoSchedule ' +
        'on DaemonSet kube-flannel/kube-flannel-ds: TolerationPolicy cni, user dev@example.com',
    },
  ]);
});

it('a message names eight taints, the fields of its line all of them', async () => {
  const { review, log } = await startServer({ policies: taintPolicyYaml('Deny') });
  const taints = Array.from({ length: 12 }, (_, n) => ({ ...CONTROL_PLANE_TAINT, effect: `NoSchedule${n}` }));
  await review(nodeUpdateReview(taints, []), '/validate');

  expect(log.lines()).toMatchObject([
    {
      subjects: taints.map(({ key, effect }) => `${key}:${effect}`),
      msg: expect.stringContaining('and 5 more on Node'),
    },
  ]);
});

it.each([
  { why: 'a request without violation', body: harmlessReview() },
  { why: 'a dry run', body: taintRemovalReview({ dryRun: true }) },
  { why: 'a dry run of an object that cannot be read', body: nodeUpdateReview([], 7, { dryRun: true }) },
])('$why leaves no line', async ({ body }) => {
  const { review, log } = await startServer();
  await review(body);

  expect(log.lines()).toEqual([]);
});

// What a terminal would take for a new line, for colours, or for text from right to left.
const FORGED = 'n\r\n{"level":50,"msg":"forged"}\u001B[31m\u009B31m\u2028\u202E\u0000';

it.each<{ where: string; body: unknown }>([
  { where: 'the uid', body: taintRemovalReview({ uid: FORGED }) },
  { where: 'the uid of what cannot be read', body: taintRemovalReview({ uid: FORGED, operation: 7 }) },
  { where: 'the name', body: taintRemovalReview({ name: FORGED }) },
  { where: 'the user', body: taintRemovalReview({ userInfo: { username: FORGED } }) },
  { where: 'the namespace', body: daemonSetCreationReview([], { namespace: `kube-flannel${FORGED}` }) },
  {
    where: 'the taint',
    body: nodeUpdateReview(
      [
        { ...CONTROL_PLANE_TAINT, value: FORGED },
        { ...CONTROL_PLANE_TAINT, effect: FORGED },
      ],
      [],
    ),
  },
  { where: 'the apiVersion', body: { ...taintRemovalReview(), apiVersion: FORGED } },
  { where: 'an object that cannot be read', body: taintRemovalReview({ object: nodeObject(FORGED) }) },
])('control characters in $where forge no line and reach no terminal', async ({ body }) => {
  const { post, log } = await startServer({
    policies: `${taintPolicyYaml('Deny')}---\n${everyNamespacePolicy}`,
  });
  await post(body, { path: '/validate' });
  await post(body, { path: '/mutate' });

  expect(log.lines().length).toBeGreaterThan(0);
  for (const line of log.lines()) {
    expect(line.msg).not.toBe('forged');
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
    expect(Object.values(line).join('')).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u2028\u202E]/);
  }
});

const everyNamespacePolicy = `apiVersion: taintkeeper.dev/v1alpha1
kind: TolerationPolicy
metadata: { name: everywhere }
spec:
  mode: Audit
  daemonSets: { namespaces: ['*'] }
`;

it('warnings and messages that reach the requester hold no control characters either', async () => {
  const server = await startServer({ policies: taintPolicyYaml('Deny') });
  const { status } = await server.review(
    nodeUpdateReview([{ ...CONTROL_PLANE_TAINT, value: FORGED }], [], {
      oldObject: nodeObject([{ ...CONTROL_PLANE_TAINT, value: FORGED }], { name: FORGED }),
    }),
  );

  expect(status.message).toContain('removing taint');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for.
  expect(status.message).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u2028\u202E]/);
});

it('nothing of the private key is logged, whatever fails', async () => {
  const server = await startServer({ level: 'debug' });
  await server.review(taintRemovalReview());
  await server.post('not JSON');
  await server.post({});

  const secret = SERVING_PAIR.key.split('\n')[1] ?? '';
  expect(secret).not.toBe('');
  expect(server.log.text()).not.toContain(secret);
  expect(server.log.text()).not.toContain('PRIVATE KEY');
});
