import { afterEach, describe, expect, it, vi } from 'vitest';
import { createDecisionLog } from '../../../src/page/decision-log.ts';
import type { PageDecision } from '../../../src/page/state.ts';
import { daemonSetRequest, nodeRequest } from '../admission/requests.ts';
import { judged, nodeObject, taint } from './judged.ts';

const NOW = new Date('2026-11-21T10:00:00Z');

const removal = (key: string, value = '') =>
  nodeRequest({ object: nodeObject([]), oldObject: nodeObject([taint(key, value)]) });

function logOf(options: { capacity?: number } = {}) {
  return createDecisionLog({ replica: 'tk-1', now: () => NOW, ...options });
}

const viewsOf = (log: ReturnType<typeof logOf>): PageDecision[] => log.latest().map(({ view }) => view());

it('a prepared decision is kept when the returned function is called, with the time of the request', () => {
  let now = NOW;
  const log = createDecisionLog({ replica: 'tk-1', now: () => now });
  const keep = log.prepare(judged(removal('keep'), 'validate'));
  now = new Date('2026-11-21T10:00:05Z');
  log.record(judged(removal('keep'), 'validate'));
  expect(viewsOf(log)).toMatchObject([{ time: '2026-11-21T10:00:05.000Z' }]);
  keep();
  expect(viewsOf(log)).toMatchObject([{}, { id: expect.stringMatching(/\/1$/), time: '2026-11-21T10:00:00.000Z' }]);
});

it('has the denied requests of components in the last hour, and not those of people', () => {
  let at = NOW.getTime();
  const log = createDecisionLog({ replica: 'tk-1', now: () => new Date(at) });
  const deny = (username: string, name: string, origin?: string) =>
    log.record(judged({ ...removal('keep'), name, userInfo: { username } }, 'validate', origin));
  deny('system:node:old', 'n0');
  at += 1_800_000;
  deny('system:serviceaccount:ops:labeller', 'n1');
  deny('system:serviceaccount:ops:labeller', 'n2', '10.0.0.2');
  deny('dev@example.com', 'n3');
  deny('system:admin', 'n4');
  log.record(judged({ ...removal('dedicated'), userInfo: { username: 'system:node:n5' } }));
  const labeller = {
    ...{ user: 'system:serviceaccount:ops:labeller', count: 2, policies: ['deny'], objects: ['n1', 'n2'] },
    origins: ['10.0.0.1', '10.0.0.2'],
  };
  expect(log.denials(at)).toEqual([
    { user: 'system:node:old', count: 1, policies: ['deny'], objects: ['n0'], origins: ['10.0.0.1'] },
    labeller,
  ]);
  expect(log.denials(at + 1_800_000)).toEqual([labeller]);
  // The clock was wrong, and was set back.
  expect(log.denials(at - 86_400_000)).toEqual([]);
});

describe('the decision log records', () => {
  it('a denial: who asked for what, and why it was denied', () => {
    const log = logOf();
    log.record(judged(removal('keep'), 'validate'));

    expect(viewsOf(log)).toEqual([
      {
        id: expect.stringMatching(/^tk-1\/[0-9a-f]{8}\/0$/),
        time: '2026-11-21T10:00:00.000Z',
        uid: '705ab4f5-6393-11e8-b7cc-42010a800002',
        replica: 'tk-1',
        phase: 'validate',
        operation: 'UPDATE',
        kind: 'Node',
        name: 'n1',
        user: 'dev',
        origin: '10.0.0.1',
        result: 'denied',
        message: expect.stringMatching(/^node n1: removing taint keep:NoSchedule is not allowed \(TaintPolicy "deny"/),
        warnings: [],
        violations: [
          {
            policyKind: 'TaintPolicy',
            policy: 'deny',
            field: 'spec.taints[0]',
            mode: 'Deny',
            ...{ change: 'Removal', result: 'Denied', audit: false, outcome: 'denied' },
            subject: 'keep:NoSchedule',
          },
        ],
        violationsLeftOut: 0,
        changes: [],
        changesLeftOut: false,
        unlisted: 0,
      },
    ]);
  });

  it('a patch: what was asked for, and what it was made into', () => {
    const log = logOf();
    const [gpu, other] = [taint('dedicated', 'gpu'), taint('other')];
    log.record(
      judged(
        nodeRequest({
          object: nodeObject([other]),
          oldObject: nodeObject([gpu, other]),
        }),
      ),
    );

    expect(viewsOf(log)).toMatchObject([
      { result: 'patched', changes: [{ path: '/spec/taints', before: [other], after: [other, gpu] }] },
    ]);
  });

  it('a DaemonSet with its namespace', () => {
    const log = logOf();
    log.record(judged(daemonSetRequest({ object: { metadata: { name: 'cni' }, spec: { template: { spec: {} } } } })));

    expect(viewsOf(log)).toMatchObject([
      {
        kind: 'DaemonSet',
        namespace: 'kube-system',
        name: 'cni',
        operation: 'CREATE',
        result: 'patched',
        changes: [
          {
            path: '/spec/template/spec/tolerations',
            after: [{ key: 'node-role.kubernetes.io/master' }, { key: 'node-role.kubernetes.io/control-plane' }],
          },
        ],
      },
    ]);
  });

  it('an audited removal, which passes', () => {
    const log = logOf();
    log.record(judged(removal('watched'), 'validate'));

    expect(viewsOf(log)).toMatchObject([{ result: 'allowed', violations: [{ result: 'Audited' }] }]);
  });

  it.each([
    { why: 'nothing to say', request: nodeRequest({ object: nodeObject([]), oldObject: nodeObject([]) }) },
    { why: 'a dry run, such as the one of doctor', request: { ...removal('keep'), dryRun: true } },
    { why: 'not ours', request: { ...removal('keep'), resource: { group: '', version: 'v1', resource: 'pods' } } },
  ])('nothing: $why', ({ request }) => {
    const log = logOf();
    log.record(judged(request, 'validate'));
    expect(log.latest()).toEqual([]);
  });
});

describe('bounds', () => {
  afterEach(() => void vi.useRealTimers());

  it('of a user who repeats a request without end, a burst and then five a second: others keep their places', () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const log = logOf();
    const refused = (username: string) =>
      log.record(judged({ ...removal('keep'), userInfo: { username } }, 'validate'));
    const listed = (username: string) => viewsOf(log).filter(({ user }) => user === username);

    refused('dev');
    for (let n = 0; n < 300; n++) refused('controller');
    expect(listed('controller')).toHaveLength(100);
    expect(listed('dev')).toHaveLength(1);

    vi.advanceTimersByTime(1_000);
    for (let n = 0; n < 10; n++) refused('controller');
    expect(listed('controller')).toHaveLength(105);
    expect(viewsOf(log).slice(-5)).toMatchObject([{ unlisted: 200 }, ...Array(4).fill({ unlisted: 0 })]);

    refused('dev');
    expect(viewsOf(log).at(-1)).toMatchObject({ user: 'dev', unlisted: 0 });
  });

  it("a forger with thousands of users takes none of the others' places, nor makes them begin anew", () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    const log = logOf();
    const refused = (username: string, origin: string) =>
      log.record(judged({ ...removal('keep'), userInfo: { username } }, 'validate', origin));
    for (const user of ['dev', 'ops']) refused(user, '10.0.0.1');
    for (let n = 0; n < 150; n++) refused('controller', '10.0.0.1');
    for (let n = 0; n < 5_000; n++) refused(`forged-${n}`, '10.0.0.66');

    const users = viewsOf(log).map(({ user }) => user);
    expect(users.filter((user) => !user.startsWith('forged-'))).toEqual([
      'dev',
      'ops',
      ...Array(98).fill('controller'),
    ]);
    expect(users).toHaveLength(200);
    // Its limit is still known.
    refused('controller', '10.0.0.1');
    expect(viewsOf(log).map(({ user }) => user)).toEqual(users);
  });

  it('forgets the oldest', () => {
    const log = logOf({ capacity: 3 });
    for (const uid of ['a', 'b', 'c', 'd', 'e']) log.record(judged({ ...removal('keep'), uid }, 'validate'));
    expect(viewsOf(log).map(({ uid }) => uid)).toEqual(['c', 'd', 'e']);
  });

  it('keeps little of a request that is large in every way', () => {
    const log = logOf();
    const many = Array.from({ length: 100 }, (_, index) => taint(`dedicated`, `v${index}`)).map((one, index) => ({
      ...one,
      effect: `E${index}`,
    }));
    const long = 'x'.repeat(1_000_000);
    log.record(
      judged({
        ...nodeRequest({ object: nodeObject([]), oldObject: nodeObject(many) }),
        uid: long,
        name: long,
        userInfo: { username: long },
      }),
    );

    const [view] = viewsOf(log);
    expect(view).toMatchObject({ result: 'patched', violationsLeftOut: 84 });
    expect(JSON.stringify(view).length).toBeLessThan(16_000);
    expect(view?.user).toBe(`${'x'.repeat(512)}…`);
  });
});

it('tells followers of each one, until they have heard enough', () => {
  const log = logOf();
  const heard: string[] = [];
  const end = log.follow(({ view }) => heard.push(view().uid));
  log.record(judged({ ...removal('keep'), uid: 'first' }, 'validate'));
  end();
  log.record(judged({ ...removal('keep'), uid: 'second' }, 'validate'));
  expect(heard).toEqual(['first']);
});
