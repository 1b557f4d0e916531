import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { electLeader, type LeaderElection } from '../../../../src/cluster/lease/leader-election.ts';
import type { Leadership } from '../../../../src/cluster/lease/leadership.ts';
import { captureLog } from '../../captured-log.ts';
import { type LeaseServer, leaseServer } from './lease-server.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
const started: LeaderElection[] = [];
afterEach(async () => {
  const stops = started.splice(0).map((election) => election.stop());
  await vi.advanceTimersByTimeAsync(20_000);
  await Promise.all(stops);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

/** One process of several that share a server; what it leads ends as soon as it has to, unless told otherwise. */
function candidate(
  server: LeaseServer,
  identity: string,
  lead = (leadership: Leadership) =>
    new Promise<void>((resolve) => leadership.signal.addEventListener('abort', () => resolve())),
) {
  const client = server.client();
  const log = captureLog();
  const terms: Leadership[] = [];
  const leaders: (string | undefined)[] = [];
  const election = electLeader({
    client,
    namespace: 'taintkeeper',
    name: 'taintkeeper-leader',
    identity,
    log: log.log,
    lead(leadership) {
      terms.push(leadership);
      return lead(leadership);
    },
    onChange: (leader) => leaders.push(leader),
  });
  started.push(election);
  const messages = () => log.lines().map(({ msg }) => msg);
  return { election, client, terms, leaders, log, messages, held: () => terms.at(-1)?.held() ?? false };
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms);
const OTHER_HOLDER = { holderIdentity: 'other', leaseDurationSeconds: 15, leaseTransitions: 4 };

describe('taking the lease', () => {
  it('of three that start at once, one leads within a second, and all know who', async () => {
    const server = leaseServer();
    const candidates = ['a', 'b', 'c'].map((identity) => candidate(server, identity));
    await pass(1_000);

    const leading = candidates.filter(({ election }) => election.isLeader());
    expect(leading).toHaveLength(1);
    expect(leading[0]?.held()).toBe(true);
    const leader = server.spec()?.holderIdentity;
    for (const { election, leaders } of candidates) {
      expect(election.leader()).toBe(leader);
      expect(leaders).toEqual([leader]);
    }
  });

  it('a holder that is alive is left alone, however old the times in the Lease are', async () => {
    const server = leaseServer();
    const renew = (n: number) =>
      server.put({
        ...OTHER_HOLDER,
        acquireTime: '2001-01-01T00:00:00.000000Z',
        renewTime: `2001-01-01T00:00:00.00000${n}Z`,
      });
    renew(0);
    const { election } = candidate(server, 'a');
    for (let n = 1; n <= 6; n++) {
      await pass(10_000);
      renew(n);
    }
    expect(election.isLeader()).toBe(false);
    expect(election.leader()).toBe('other');
  });

  it.each([
    { why: 'the times say that it has just been renewed', renewTime: '2999-01-01T00:00:00.000000Z' },
    { why: 'the times say that it expired long ago', renewTime: '2001-01-01T00:00:00.000000Z' },
  ])(
    'a holder that is dead is waited for as long as its lease lasts, from when it was first seen: $why',
    async ({ renewTime }) => {
      const server = leaseServer();
      server.put({ ...OTHER_HOLDER, renewTime });
      const { election } = candidate(server, 'a');
      await pass(14_900);
      expect(election.isLeader()).toBe(false);
      await pass(1_400);
      expect(election.isLeader()).toBe(true);
      expect(server.spec()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 5 });
    },
  );

  it('that the process before it in the same pod has left behind is taken once two renewals are missed', async () => {
    const server = leaseServer();
    server.put({ ...OTHER_HOLDER, holderIdentity: 'pod-1_before' });
    const { election } = candidate(server, 'pod-1_after');
    const other = candidate(server, 'pod-2_other');
    await pass(3_900);
    expect(election.isLeader()).toBe(false);
    await pass(1_400);
    expect(election.isLeader()).toBe(true);
    await pass(30_000);
    expect(election.isLeader()).toBe(true);
    expect(other.terms).toEqual([]);
  });

  it('of a namesake that is alive is left alone', async () => {
    const server = leaseServer();
    const one = candidate(server, 'host_1');
    await pass(100);
    const other = candidate(server, 'host_2');
    await pass(60_000);
    expect(one.terms).toHaveLength(1);
    expect(one.held()).toBe(true);
    expect(other.terms).toEqual([]);
  });

  it('a label on the Lease does not pass for a sign of life', async () => {
    const server = leaseServer();
    server.put(OTHER_HOLDER);
    const { election } = candidate(server, 'a');
    for (let n = 0; n < 4; n++) {
      await pass(4_100);
      server.touch();
    }
    expect(election.isLeader()).toBe(true);
  });

  it('a wall clock that is set forward makes no lease expire', async () => {
    const server = leaseServer();
    server.put(OTHER_HOLDER);
    const { election } = candidate(server, 'a');
    await pass(1_000);
    vi.setSystemTime(Date.now() + 3_600_000);
    await pass(10_000);
    expect(election.isLeader()).toBe(false);
  });

  it('a lease that was given up is taken at once', async () => {
    const server = leaseServer();
    server.put({ holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 4 });
    const { election } = candidate(server, 'a');
    await pass(10);
    expect(election.isLeader()).toBe(true);
  });

  it('a candidate takes an empty Lease, such as a user may apply', async () => {
    const server = leaseServer();
    server.put({});
    const { election } = candidate(server, 'a');
    await pass(10);
    expect(election.isLeader()).toBe(true);
  });
});

describe('keeping the lease', () => {
  it('is renewed every two seconds, and its times and transitions are those of one term', async () => {
    const server = leaseServer();
    const { terms, client } = candidate(server, 'a');
    await pass(100);
    const first = server.spec();
    await pass(60_000);
    expect(terms).toHaveLength(1);
    expect(terms[0]?.held()).toBe(true);
    expect(server.spec()).toMatchObject({ acquireTime: first?.acquireTime, leaseTransitions: first?.leaseTransitions });
    expect(server.spec()?.renewTime).not.toBe(first?.renewTime);
    expect(client.requests.filter((method) => method === 'PUT')).toHaveLength(30);
  });

  it.each<{ why: string; weather: 'away' | 'silent' | 'forbidden' }>([
    { why: 'connections are refused', weather: 'away' },
    { why: 'nothing is answered', weather: 'silent' },
    { why: 'rights were taken away', weather: 'forbidden' },
  ])('without a renewal the term ends after 10 s, before another candidate leads: $why', async ({ weather }) => {
    const server = leaseServer();
    const leader = candidate(server, 'a');
    await pass(100);
    const other = candidate(server, 'b');
    const tookOver = { after: -1 };
    leader.client.weather = weather;
    const start = performance.now();
    leader.terms[0]?.signal.addEventListener('abort', () => {
      tookOver.after = performance.now() - start;
      expect(other.election.isLeader()).toBe(false);
    });
    await pass(8_000);
    expect(leader.held()).toBe(true);
    await pass(9_500);
    expect(tookOver.after).toBeGreaterThan(7_900);
    expect(tookOver.after).toBeLessThanOrEqual(10_001);
    expect(leader.election.isLeader()).toBe(false);
    expect(leader.election.leader()).toBeUndefined();
    expect(other.election.isLeader()).toBe(true);
  });

  it('one renewal that is not answered does not end the term, although it was carried out', async () => {
    const server = leaseServer();
    const { terms, client } = candidate(server, 'a');
    await pass(100);
    client.weather = 'unanswered';
    await pass(3_000);
    client.weather = 'served';
    await pass(60_000);
    expect(terms).toHaveLength(1);
    expect(terms[0]?.held()).toBe(true);
  });

  it('a label on the Lease does not end the term', async () => {
    const server = leaseServer();
    const { terms } = candidate(server, 'a');
    await pass(100);
    server.touch();
    await pass(20_000);
    expect(terms).toHaveLength(1);
    expect(terms[0]?.held()).toBe(true);
  });

  it.each<{ why: string; spec: object | undefined; recoversWithinMs: number }>([
    { why: 'the Lease was deleted', spec: undefined, recoversWithinMs: 4_000 },
    { why: 'the lease was given up', spec: { holderIdentity: '' }, recoversWithinMs: 4_000 },
    { why: 'the lease is held by other', spec: OTHER_HOLDER, recoversWithinMs: 19_000 },
  ])(
    'a user who changes or deletes the Lease ends the term, and another term begins: $why',
    async ({ why, spec, recoversWithinMs }) => {
      const server = leaseServer();
      const { terms, messages, held } = candidate(server, 'a');
      await pass(100);
      server.put(spec);
      await pass(2_100);
      expect(terms[0]?.held()).toBe(false);
      expect(messages()).toContain(`no longer the leader: ${why}`);
      await pass(recoversWithinMs - 2_100);
      expect(terms).toHaveLength(2);
      expect(held()).toBe(true);
    },
  );
});

describe('the Lease is deleted between a read and the write that follows it, which is no fault', () => {
  it('as a candidate takes it', async () => {
    const server = leaseServer();
    server.put({ ...OTHER_HOLDER, holderIdentity: '' });
    const { client, held, messages } = candidate(server, 'a');
    client.beforeUpdates = [() => server.put(undefined)];
    await pass(2_000);
    expect(held()).toBe(true);
    expect(messages()).toEqual(['the leader is a']);
  });

  it('as the leader renews it after a conflict', async () => {
    const server = leaseServer();
    const { client, terms, messages } = candidate(server, 'a');
    await pass(100);
    client.beforeUpdates = [() => server.touch(), () => server.put(undefined)];
    await pass(2_100);
    expect(terms[0]?.held()).toBe(false);
    expect(messages().slice(1, 2)).toEqual(['no longer the leader: the Lease was deleted']);
  });

  it('as the leader releases it', async () => {
    const server = leaseServer();
    const { client, election, messages } = candidate(server, 'a');
    await pass(100);
    client.beforeUpdates = [() => server.put(undefined)];
    const stopped = election.stop();
    await pass(100);
    await stopped;
    expect(server.spec()).toBeUndefined();
    expect(messages().slice(1)).toEqual(['no longer the leader: it was told to stop', 'there is no leader']);
  });
});

describe('a process that stood still', () => {
  it.each([
    {
      why: 'the wall clock alone shows it: a suspended machine',
      move: (ms: number) => void vi.setSystemTime(Date.now() + ms),
    },
    {
      why: 'the monotonic clock alone shows it: the wall clock was set back',
      move: (ms: number) => {
        const now = performance.now();
        vi.spyOn(performance, 'now').mockImplementation(() => now + ms);
      },
    },
  ])('is told at once that it no longer leads, before any timer has fired: $why', async ({ move }) => {
    const server = leaseServer();
    const { terms, election } = candidate(server, 'a');
    await pass(100);
    const [term] = terms;
    move(9_000);
    expect(term?.held()).toBe(true);
    move(9_000);
    expect(term?.held()).toBe(false);
    expect(term?.signal.aborted).toBe(true);
    expect(term?.remainingMs()).toBe(0);
    expect(election.isLeader()).toBe(false);
    vi.restoreAllMocks();
  });
});

describe('what is led', () => {
  it('is never run twice at a time: the next term waits for the end of the run before', async () => {
    const server = leaseServer();
    const ends: (() => void)[] = [];
    const { terms, messages } = candidate(server, 'a', () => new Promise((resolve) => ends.push(resolve)));
    await pass(100);
    server.put(undefined);
    await pass(60_000);
    expect(terms).toHaveLength(1);
    expect(messages().filter((msg) => msg.includes('leader work is still running'))).toHaveLength(1);
    ends[0]?.();
    await pass(2_000);
    expect(terms).toHaveLength(2);
    expect(terms[1]?.held()).toBe(true);
    ends[1]?.();
  });

  it('that fails gives the lease up for another process to try', async () => {
    const server = leaseServer();
    const failing = candidate(server, 'a', async () => {
      throw new Error('broken');
    });
    await pass(10);
    const other = candidate(server, 'b');
    await pass(3_000);
    expect(failing.terms).toHaveLength(1);
    expect(failing.log.lines()).toContainEqual(
      expect.objectContaining({ err: expect.objectContaining({ message: 'broken' }) }),
    );
    expect(other.election.isLeader()).toBe(true);
  });

  it('that fails is tried again by the only process there is', async () => {
    const { terms } = candidate(leaseServer(), 'a', async () => {
      throw new Error('broken');
    });
    await pass(40_000);
    expect(terms.length).toBeGreaterThanOrEqual(2);
    expect(terms.length).toBeLessThanOrEqual(4);
  });
});

describe('stopping', () => {
  it('ends the run first, then gives the lease up, and the next one leads within about a second', async () => {
    const server = leaseServer();
    const order: string[] = [];
    const leader = candidate(server, 'a', async ({ signal }) => {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      await new Promise((resolve) => setTimeout(resolve, 500));
      order.push(`run ended, ${server.spec()?.holderIdentity} in the Lease`);
    });
    await pass(10);
    const next = candidate(server, 'b');
    await pass(5_000);
    const stopped = leader.election.stop();
    expect(leader.held()).toBe(false);
    await pass(510);
    await stopped;
    expect(order).toEqual(['run ended, a in the Lease']);
    await pass(1_300);
    expect(next.election.isLeader()).toBe(true);
    const given = server.history.findIndex((spec) => spec?.holderIdentity === '');
    expect(server.history.slice(given)).toMatchObject([
      { holderIdentity: '', leaseDurationSeconds: 1, leaseTransitions: 0 },
      { holderIdentity: 'b', leaseDurationSeconds: 15, leaseTransitions: 1 },
    ]);
  });

  it('gives up a lease that was taken without the answer arriving', async () => {
    const server = leaseServer();
    const { client, election } = candidate(server, 'a');
    client.weather = 'unanswered';
    await pass(1_000);
    expect(election.isLeader()).toBe(false);
    expect(server.spec()?.holderIdentity).toBe('a');
    client.weather = 'served';
    const stopped = election.stop();
    await pass(100);
    await stopped;
    expect(server.spec()?.holderIdentity).toBe('');
  });

  it('does not give the lease up under a run that does not end', async () => {
    const server = leaseServer();
    const { election } = candidate(server, 'a', () => new Promise(() => {}));
    await pass(100);
    const stopped = election.stop();
    await pass(15_100);
    await stopped;
    expect(server.spec()?.holderIdentity).toBe('a');
  });

  it('of one that does not lead asks the API server nothing', async () => {
    const server = leaseServer();
    server.put(OTHER_HOLDER);
    const { election, client } = candidate(server, 'a');
    await pass(100);
    const before = client.requests.length;
    await election.stop();
    expect(client.requests.length).toBe(before);
  });

  it('takes two seconds at most when the API server does not answer', async () => {
    const { election, client } = candidate(leaseServer(), 'a');
    await pass(100);
    client.weather = 'silent';
    let over = false;
    election.stop().then(() => {
      over = true;
    });
    await pass(2_100);
    expect(over).toBe(true);
  });
});

describe('faults', () => {
  it('are logged when they begin, change and end, not each time', async () => {
    const { client, messages, log } = candidate(leaseServer(), 'a');
    client.weather = 'away';
    await pass(30_000);
    client.weather = 'forbidden';
    await pass(30_000);
    client.weather = 'served';
    await pass(3_000);
    expect(log.lines().filter(({ level }) => level === 40)).toHaveLength(2);
    expect(messages()[0]).toContain('connect ECONNREFUSED');
    expect(messages()[1]).toContain(
      'leader election with Lease taintkeeper/taintkeeper-leader is not allowed: allow get, create and update of leases.coordination.k8s.io in namespace taintkeeper',
    );
    expect(messages().slice(2)).toEqual(['leader election works again', 'the leader is a']);
  });

  it('does not say that it works again when it stops and has nothing to give up', async () => {
    const { client, election, messages } = candidate(leaseServer(), 'a');
    client.weather = 'away';
    await pass(30_000);
    const stopped = election.stop();
    await pass(20_000);
    await stopped;
    expect(messages()).toEqual([expect.stringContaining('connect ECONNREFUSED')]);
  });

  it('in the callback for changes do not stop the election', async () => {
    const log = captureLog();
    const election = electLeader({
      client: leaseServer().client(),
      namespace: 'n',
      name: 'l',
      identity: 'a',
      log: log.log,
      lead: async ({ signal }) => {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
      },
      onChange: () => {
        throw new Error('broken');
      },
    });
    started.push(election);
    await pass(30_000);
    expect(election.isLeader()).toBe(true);
  });
});

it.each([
  { why: 'the deadline is not before the end of the lease', timings: { leaseDurationMs: 10_000 } },
  { why: 'there is no time for a second renewal', timings: { renewDeadlineMs: 2_000 } },
  { why: 'a Lease counts in seconds', timings: { leaseDurationMs: 15_500 } },
  { why: 'no pause at all', timings: { retryPeriodMs: 0 } },
])('timings that could go wrong are refused: $why', ({ timings }) => {
  const { log } = captureLog();
  const client = leaseServer().client();
  const options = { client, namespace: 'n', name: 'l', identity: 'a', log, lead: async () => {} };
  expect(() => electLeader({ ...options, timings })).toThrow(RangeError);
});
