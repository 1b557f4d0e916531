import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { ApiError, toApiError } from '../../../../src/cluster/client/api-error.ts';
import { createEventRecorder, type EventRecorder } from '../../../../src/cluster/events/event-recorder.ts';
import type { RecordedEvent } from '../../../../src/policy/reporting/recorded-event.ts';
import { captureLog } from '../../captured-log.ts';
import { absent } from '../client/absent.ts';
import { eventServer } from './event-server.ts';

beforeEach(() => {
  vi.useFakeTimers({ now: Date.parse('2026-01-01T00:00:00Z') });
});
const recorders: EventRecorder[] = [];
afterEach(async () => {
  const stops = recorders.splice(0).map((recorder) => recorder.stop());
  await vi.advanceTimersByTimeAsync(3_000);
  await Promise.all(stops);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

const POLICY_PATH = '/apis/taintkeeper.dev/v1alpha1/taintpolicies/p';
const DAEMON_SET_PATH = '/apis/apps/v1/namespaces/kube-system/daemonsets/cni';

function record(options: { identity?: string } = {}) {
  const server = eventServer({ [POLICY_PATH]: 'uid-p', [DAEMON_SET_PATH]: 'uid-cni' });
  const log = captureLog('debug');
  const recorder = createEventRecorder({ client: server.client, identity: options.identity ?? 'pod-1', log: log.log });
  recorders.push(recorder);
  return { server, log, recorder, events: () => [...server.events.values()] };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const MINUTE = 60_000;

function onNode(name: string, note = 'refused', more: Partial<RecordedEvent> = {}): RecordedEvent {
  return {
    regarding: { apiVersion: 'v1', kind: 'Node', name, uid: `uid-${name}` },
    type: 'Warning',
    reason: 'TaintRemovalDenied',
    action: 'DenyRequest',
    note,
    ...more,
  };
}
const onPolicy = (note: string): RecordedEvent => ({
  ...onNode('', note),
  regarding: { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', name: 'p' },
});
const onDaemonSet = (name = 'cni'): RecordedEvent => ({
  ...onNode(''),
  regarding: { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace: 'kube-system', name },
});

it('one event becomes one Event as the API server expects it', async () => {
  const { recorder, events } = record();
  recorder.record(onNode('n1'));
  await pass(1_000);
  expect(events()).toEqual([
    {
      apiVersion: 'events.k8s.io/v1',
      kind: 'Event',
      metadata: { namespace: 'default', name: expect.stringMatching(/^n1\.[0-9a-f]{16}$/) },
      eventTime: '2026-01-01T00:00:00.000000Z',
      reportingController: 'taintkeeper.dev/taintkeeper',
      reportingInstance: 'pod-1',
      regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'uid-n1' },
      type: 'Warning',
      reason: 'TaintRemovalDenied',
      action: 'DenyRequest',
      note: 'refused',
    },
  ]);
});

describe('equal events', () => {
  it('that come at once are written once, with their number', async () => {
    const { recorder, server, events } = record();
    for (let n = 0; n < 1_000; n++) recorder.record(onNode('n1'));
    await pass(MINUTE);
    expect(server.writes).toHaveLength(1);
    expect(events()[0]?.series?.count).toBe(1_000);
  });

  it('that go on are written every 30 s, and the last count is written', async () => {
    const { recorder, server, events } = record();
    for (let n = 0; n < 100; n++) {
      recorder.record(onNode('n1'));
      await pass(1_000);
    }
    expect(server.writes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH', 'PATCH']);
    await pass(30_000);
    expect(events()).toHaveLength(1);
    expect(events()[0]?.series).toEqual({ count: 100, lastObservedTime: '2026-01-01T00:01:39.000000Z' });
    const written = server.writes.length;
    await pass(10 * MINUTE);
    expect(server.writes).toHaveLength(written);
  });

  it.each([
    { why: 'within the window they are counted up', afterMinutes: 5, objects: 1 },
    { why: 'after it they are news again', afterMinutes: 7, objects: 2 },
  ])('that come late: $why', async ({ afterMinutes, objects }) => {
    const { recorder, events, server } = record();
    recorder.record(onNode('n1'));
    await pass(afterMinutes * MINUTE);
    recorder.record(onNode('n1'));
    await pass(MINUTE);
    expect(events()).toHaveLength(objects);
    expect(server.shown()).toBe(2);
  });

  it.each<[what: string, other: RecordedEvent]>([
    ['object', onNode('n2')],
    ['uid', onNode('n1', 'refused', { regarding: { ...onNode('n1').regarding, uid: 'another' } })],
    ['type', onNode('n1', 'refused', { type: 'Normal' })],
    ['reason', onNode('n1', 'refused', { reason: 'TaintRestored' })],
    ['action', onNode('n1', 'refused', { action: 'RestoreTaint' })],
    ['note', onNode('n1', 'another')],
  ])('are those that differ in nothing; not in their %s', async (_what, other) => {
    const { recorder, events } = record();
    recorder.record(onNode('n1'));
    recorder.record(other);
    await pass(5_000);
    expect(events()).toHaveLength(2);
  });

  it('whose Event was deleted get a new one', async () => {
    const { recorder, server, events } = record();
    recorder.record(onNode('n1'));
    await pass(2_000);
    const [name] = server.events.keys();
    server.events.clear();
    recorder.record(onNode('n1'));
    await pass(MINUTE);
    expect(events()).toHaveLength(1);
    expect([...server.events.keys()]).not.toEqual([name]);
    expect(events()[0]?.series?.count).toBe(2);
  });
});

it('more than ten notes on one object for one reason share an Event', async () => {
  const { recorder, events, server } = record();
  for (let n = 0; n < 500; n++) recorder.record(onPolicy(`Node n${n}: refused`));
  await pass(5 * MINUTE);
  expect(events()).toHaveLength(11);
  expect(events().at(-1)).toMatchObject({
    note: '(combined from similar events) Node n10: refused',
    series: { count: 490 },
  });
  expect(server.shown()).toBe(500);
});

describe('a flood', () => {
  it('on many objects is written within the rate limit, and the rest is discarded and counted', async () => {
    const { recorder, server } = record();
    for (let n = 0; n < 5_000; n++) recorder.record(onNode(`n${n}`));
    expect(recorder.dropped()).toBe(5_000 - 128);
    await pass(1_100);
    expect(server.writes).toHaveLength(20);
    await pass(MINUTE);
    expect(server.writes.length).toBeLessThanOrEqual(20 + 31);
    await pass(10 * MINUTE);
    expect(server.writes).toHaveLength(128);
    expect(server.shown() + recorder.dropped()).toBe(5_000);
  });

  it('that goes on for an hour stays within the rate limit, and what is known stays bounded', async () => {
    const { recorder, server } = record();
    for (let minute = 0; minute < 60; minute++) {
      for (let n = 0; n < 1_000; n++) recorder.record(onNode(`n${minute}-${n}`));
      await pass(MINUTE);
    }
    expect(server.writes.length).toBeLessThanOrEqual(20 + 60 * 30 + 1);
    expect(server.writes.length).toBeGreaterThan(60 * 29);
    await pass(10 * MINUTE);
    expect(server.shown() + recorder.dropped()).toBe(60_000);
  });

  it('after a quiet hour has no more than the burst, either', async () => {
    const { recorder, server } = record();
    await pass(60 * MINUTE);
    for (let n = 0; n < 100; n++) recorder.record(onNode(`n${n}`));
    await pass(1_100);
    expect(server.writes).toHaveLength(20);
  });

  it('leaves room again once it is over', async () => {
    const { recorder, server } = record();
    for (let n = 0; n < 1_000; n++) recorder.record(onNode(`n${n}`));
    await pass(10 * MINUTE);
    const dropped = recorder.dropped();
    recorder.record(onNode('afterwards'));
    await pass(5_000);
    expect(recorder.dropped()).toBe(dropped);
    expect([...server.events.values()].at(-1)?.regarding.name).toBe('afterwards');
  });
});

describe('the uid, by which kubectl describe finds Events', () => {
  it.each([
    { what: 'a policy', event: onPolicy('x'), uid: 'uid-p', read: [POLICY_PATH] },
    { what: 'a DaemonSet that was just created', event: onDaemonSet(), uid: 'uid-cni', read: [DAEMON_SET_PATH] },
    { what: 'what the request knew', event: onNode('n1'), uid: 'uid-n1', read: [] },
  ])('is looked up once: $what', async ({ event, uid, read }) => {
    const { recorder, server, events } = record();
    recorder.record(event);
    await pass(2_000);
    recorder.record(event);
    await pass(MINUTE);
    expect(events()).toMatchObject([{ regarding: { ...event.regarding, uid }, series: { count: 2 } }]);
    expect(server.reads).toEqual(read);
  });

  it.each([
    {
      what: 'a node is known by its name, as kubelets have it',
      event: onNode('n1', '', { regarding: { apiVersion: 'v1', kind: 'Node', name: 'n1' } }),
      uid: 'n1',
    },
    { what: 'a DaemonSet is left without', event: onDaemonSet('gone'), uid: undefined },
    {
      what: 'so is what is of another kind',
      event: onNode('', '', { regarding: { apiVersion: 'v1', kind: 'Pod', name: 'x' } }),
      uid: undefined,
    },
  ])('of what is not there: $what', async ({ event, uid }) => {
    const { recorder, events } = record();
    recorder.record(event);
    await pass(2_000);
    expect(events()[0]?.regarding.uid).toBe(uid);
  });
});

describe('an API server that does not do as it should', () => {
  const away = new Error('connect ECONNREFUSED');
  const status = (code: number, message = '') => new ApiError('POST', '/', code, '', message);
  /** As the admission plugin NamespaceLifecycle answers. */
  const terminating = {
    message:
      'events.events.k8s.io "n1.1" is forbidden: unable to create new content in namespace x because it is being terminated',
    reason: 'Forbidden',
    details: { causes: [{ reason: 'NamespaceTerminating', message: 'namespace x is being terminated' }] },
  };

  it.each([
    { why: 'away', answer: away },
    { why: 'overloaded', answer: status(429) },
    { why: 'broken', answer: status(500) },
    { why: 'silent', answer: 'silence' as const },
    { why: 'no longer knowing us', answer: status(401) },
  ])('is asked again later, and told the whole count: $why', async ({ answer }) => {
    const { recorder, server, events, log } = record();
    server.answer = () => answer;
    recorder.record(onNode('n1'));
    await pass(30_000);
    recorder.record(onNode('n1'));
    await pass(5_000);
    server.answer = () => undefined;
    await pass(20_000);
    expect(events()).toMatchObject([{ series: { count: 2 } }]);
    expect(recorder.dropped()).toBe(0);
    const messages = log.lines().map(({ msg }) => msg);
    expect(messages).toEqual([expect.stringContaining('Events are not written: '), 'Events are written again']);
  });

  it('for long is given up on', async () => {
    const { recorder, server } = record();
    server.answer = () => away;
    recorder.record(onNode('n1'));
    await pass(10 * MINUTE);
    expect(server.writes).toHaveLength(12);
    expect(recorder.dropped()).toBe(1);
  });

  it.each([
    { why: 'once', count: 1 },
    { why: 'and the count has grown since', count: 3 },
  ])('whose answer got lost does not get the Event twice: $why', async ({ count }) => {
    const { recorder, server, events } = record();
    server.answer = () => 'lost';
    recorder.record(onNode('n1'));
    await pass(2_000);
    server.answer = () => undefined;
    for (let n = 1; n < count; n++) recorder.record(onNode('n1'));
    await pass(MINUTE);
    expect(events()).toHaveLength(1);
    expect(server.shown()).toBe(count);
  });

  it.each([
    { why: 'the namespace is going', error: toApiError('POST', '/', 403, JSON.stringify(terminating)), level: 20 },
    { why: 'the namespace was deleted', error: absent('POST', '/api/v1/namespaces/gone'), level: 20 },
    { why: 'a proxy does not know the path', error: status(404), level: 40 },
    { why: 'the rights are missing', error: status(403, 'events.events.k8s.io is forbidden'), level: 40 },
    { why: 'the Event is not valid', error: status(422), level: 40 },
  ])('is not asked again when it refuses: $why', async ({ error, level }) => {
    const { recorder, server, log } = record();
    server.answer = () => error;
    recorder.record(onNode('n1'));
    await pass(5 * MINUTE);
    expect(server.writes).toHaveLength(1);
    expect(recorder.dropped()).toBe(1);
    expect(log.lines().map((line) => line.level)).toEqual([level]);
  });

  it('that grants no rights is complained of once, with advice', async () => {
    const { recorder, server, log } = record();
    server.answer = () => status(403, 'forbidden');
    for (let n = 0; n < 50; n++) recorder.record(onNode(`n${n}`));
    await pass(5 * MINUTE);
    expect(log.lines()).toHaveLength(1);
    expect(log.lines()[0]?.msg).toContain('allow create and patch of events in group events.k8s.io');
  });
});

describe('what cannot be shown as it is', () => {
  it('a long note is cut to 1,024 bytes, between characters, and control characters are spelled out', async () => {
    const { recorder, events } = record();
    recorder.record(onNode('n1', `a\n${'ü'.repeat(1_000)}`));
    await pass(2_000);
    const { note = '' } = events()[0] ?? {};
    expect(Buffer.byteLength(note)).toBeLessThanOrEqual(1_024);
    expect(Buffer.byteLength(note)).toBeGreaterThan(1_020);
    expect(note).toMatch(/^a\\u\{a\}ü+\.\.\.$/);
  });

  it('a long identity is cut to 128 bytes', async () => {
    const { recorder, events } = record({ identity: 'x'.repeat(300) });
    recorder.record(onNode('n1'));
    await pass(2_000);
    expect(events()).toMatchObject([{ reportingInstance: `${'x'.repeat(125)}...` }]);
  });

  it("the object's name is not in the Event's where it is too long to be followed by anything", async () => {
    const { recorder, events } = record();
    recorder.record(onNode('n'.repeat(240)));
    await pass(2_000);
    expect(events()[0]?.metadata.name).toMatch(/^taintkeeper\.[0-9a-f]{16}$/);
  });

  it.each([
    { why: 'no object has such a long name', object: { name: 'n'.repeat(254) } },
    { why: 'or none', object: { name: '' } },
    { why: 'or one with other characters', object: { name: 'Not_A_Name' } },
    { why: 'a name that would lead to another path', object: { name: '..' } },
    { why: 'a name with a path', object: { name: '../secrets/taintkeeper-certs' } },
    { why: 'a name with a query', object: { name: 'n1?fieldSelector=x' } },
    { why: 'a name that is encoded', object: { name: '%2e%2e' } },
    { why: 'a namespace that would lead to another path', object: { name: 'n1', namespace: '..' } },
    { why: 'a namespace with a path', object: { name: 'n1', namespace: 'default/events/../../kube-system' } },
  ])('is discarded without a request to the API server: $why', async ({ object }) => {
    const { recorder, server } = record();
    const regarding = { apiVersion: 'apps/v1', kind: 'DaemonSet', ...object };
    recorder.record(onNode('', '', { regarding }));
    recorder.record(onNode('n1', '', { reviewed: { ...regarding, uid: 'uid-1' } }));
    await pass(MINUTE);
    expect(recorder.dropped()).toBe(2);
    expect([...server.writes, ...server.reads]).toEqual([]);
  });
});

describe('an Event of a review', () => {
  const N1_PATH = '/api/v1/nodes/n1';
  const N1 = { apiVersion: 'v1', kind: 'Node', name: 'n1' };
  const reviewed = (uid: string, note = 'refused') => {
    const object = { ...N1, uid };
    return [
      onNode('n1', note, { regarding: object, reviewed: object }),
      { ...onPolicy(`Node n1: ${note}`), reviewed: object },
    ];
  };
  function recordReviews() {
    const server = eventServer({ [POLICY_PATH]: 'uid-p', [N1_PATH]: 'uid-n1' });
    const log = captureLog('debug');
    const recorder = createEventRecorder({ client: server.client, identity: 'pod-1', log: log.log });
    recorders.push(recorder);
    const review = (uid: string, note?: string, origin = '10.0.0.1') => {
      for (const event of reviewed(uid, note)) recorder.record(event, origin);
    };
    return { server, log, recorder, review, events: () => [...server.events.values()] };
  }

  it('is written once the API server has the object with that uid, which is read once', async () => {
    const { server, review, events } = recordReviews();
    review('uid-n1');
    await pass(2_000);
    expect(events().map(({ regarding }) => regarding.uid)).toEqual(['uid-n1', 'uid-p']);
    expect(server.reads).toEqual([N1_PATH, POLICY_PATH]);
  });

  it('is not written, nor that of the policy, where the object has another uid', async () => {
    const { server, review, recorder, log } = recordReviews();
    review('made-up');
    await pass(5 * MINUTE);
    expect([server.writes, server.reads]).toEqual([[], [N1_PATH]]);
    expect(recorder.dropped()).toBe(0);
    expect(log.lines().map(({ msg }) => msg)).toEqual([expect.stringContaining('does not have the objects')]);
  });

  it('is not written, nor that of the policy, where there is no such object', async () => {
    const { server, recorder } = recordReviews();
    const ghost = { ...N1, name: 'ghost', uid: 'uid-ghost' };
    recorder.record(onNode('ghost', 'x', { regarding: ghost, reviewed: ghost }), '10.0.0.1');
    recorder.record({ ...onPolicy('x'), reviewed: ghost }, '10.0.0.1');
    await pass(5 * MINUTE);
    expect([server.writes, server.reads]).toEqual([[], ['/api/v1/nodes/ghost']]);
  });

  it('is counted apart from a forged one that only the uid tells from it', async () => {
    const { review, events } = recordReviews();
    for (let n = 0; n < 5; n++) review('made-up', 'refused', '10.0.0.66');
    review('uid-n1');
    await pass(5_000);
    expect(events().map(({ regarding, series }) => [regarding.name, series])).toEqual([
      ['n1', undefined],
      ['p', undefined],
    ]);
  });

  it('is pushed out by no forger: thousands of reviews of other objects and users from one address', async () => {
    const { server, recorder, review, events } = recordReviews();
    const forge = (n: number) => {
      const ghost = { ...N1, name: `ghost-${n}`, uid: `uid-${n}` };
      recorder.record(onNode(ghost.name, `user-${n}`, { regarding: ghost, reviewed: ghost }), '10.0.0.66');
    };
    for (let n = 0; n < 3_000; n++) forge(n);
    review('uid-n1', 'refused (user dev)');
    for (let n = 3_000; n < 6_000; n++) forge(n);
    await pass(5_000);
    expect(events().map(({ note }) => note)).toEqual(['refused (user dev)', 'Node n1: refused (user dev)']);
    // The forger's share is bounded as well: a read for a token.
    await pass(MINUTE);
    expect(server.reads.length).toBeLessThanOrEqual(20 + 33);
  });

  it('is not combined with those that a forger made up about the same object', async () => {
    const { review, events } = recordReviews();
    for (let n = 0; n < 100; n++) review('uid-n1', `user-${n}`, '10.0.0.66');
    review('uid-n1', 'refused (user dev)');
    await pass(5 * MINUTE);
    expect(events().map(({ note }) => note)).toEqual(
      expect.arrayContaining(['refused (user dev)', 'Node n1: refused (user dev)']),
    );
  });

  it('keeps its place in a flood that goes on, and the noisy origin gets its turns, too', async () => {
    const { recorder, review, events, server } = recordReviews();
    for (let n = 0; n < 600; n++) {
      const ghost = { ...N1, name: `ghost-${n}`, uid: `uid-${n}` };
      recorder.record(onNode(ghost.name, 'x', { regarding: ghost, reviewed: ghost }), '10.0.0.66');
      if (n === 300) review('uid-n1');
      await pass(5);
    }
    await pass(5_000);
    expect(events()).toHaveLength(2);
    expect(server.reads.filter((path) => path.includes('ghost')).length).toBeGreaterThan(1);
  });
});

describe('an Event of this process', () => {
  const PODS = 200;
  /** Each of many pods forges a review about another object. */
  function flood(recorder: EventRecorder, round: number) {
    for (let pod = 0; pod < PODS; pod++) {
      const ghost = { apiVersion: 'v1', kind: 'Node', name: `ghost-${pod}-${round}`, uid: `uid-${pod}` };
      recorder.record(onNode(ghost.name, 'x', { regarding: ghost, reviewed: ghost }), `10.0.${pod}.66`);
    }
  }

  it('is pushed out by no reviews, from however many addresses', async () => {
    const { recorder, events } = record();
    for (let n = 0; n < 20; n++) recorder.record(onNode(`n${n}`));
    for (let round = 0; round < 4; round++) flood(recorder, round);
    await pass(5 * MINUTE);
    expect(events().filter(({ regarding }) => /^n\d+$/.test(regarding.name))).toHaveLength(20);
  });

  it('takes turns with all reviews together, so that it does not wait for hundreds of addresses', async () => {
    const { recorder, events, server } = record();
    flood(recorder, 0);
    await pass(5_000);
    recorder.record(onNode('n1'));
    recorder.record(onNode('n2'));
    await pass(10_000);
    expect(events().map(({ regarding }) => regarding.name)).toEqual(['n1', 'n2']);
    expect(server.reads.length).toBeGreaterThan(20);
  });
});

describe('stopping', () => {
  it('writes what is still to be written', async () => {
    const { recorder, server, events } = record();
    recorder.record(onNode('n1'));
    await pass(2_000);
    recorder.record(onNode('n1'));
    recorder.record(onNode('n2'));
    await recorder.stop();
    expect(events()).toMatchObject([{ series: { count: 2 } }, { regarding: { name: 'n2' } }]);
    expect(server.writes).toHaveLength(3);
  });

  it('keeps to the rate limit, and counts what it leaves', async () => {
    const { recorder, server } = record();
    for (let n = 0; n < 100; n++) recorder.record(onNode(`n${n}`));
    await recorder.stop();
    expect(server.writes).toHaveLength(20);
    expect(recorder.dropped()).toBe(80);
  });

  it('waits two seconds for a silent API server, and no longer', async () => {
    const { recorder, server } = record();
    server.answer = () => 'silence';
    for (let n = 0; n < 10; n++) recorder.record(onNode(`n${n}`));
    await pass(1_500);
    let over = false;
    recorder.stop().then(() => {
      over = true;
    });
    await pass(2_001);
    expect(over).toBe(true);
    expect(recorder.dropped()).toBe(10);
  });

  it('is final: later events are discarded', async () => {
    const { recorder, server } = record();
    await recorder.stop();
    recorder.record(onNode('n1'));
    await pass(MINUTE);
    expect(server.writes).toEqual([]);
    expect(recorder.dropped()).toBe(1);
  });
});
