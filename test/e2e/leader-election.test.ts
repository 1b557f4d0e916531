import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { type ApiClient, connect } from '../../src/cluster/client/api-client.ts';
import { ApiError } from '../../src/cluster/client/api-error.ts';
import { electLeader, type LeaderElection } from '../../src/cluster/lease/leader-election.ts';
import { LEADER_TIMINGS, type LeaderTimings } from '../../src/cluster/lease/leader-timings.ts';
import type { Leadership } from '../../src/cluster/lease/leadership.ts';
import type { LeaseSpec } from '../../src/cluster/lease/lease.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { describeWithControlPlane } from '../control-plane/describe-with-control-plane.ts';
import { launch, type Supervised } from '../control-plane/process.ts';
import { startTcpProxy } from '../control-plane/tcp-proxy.ts';
import { admin, serviceAccount, type User } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWorkspace } from '../control-plane/workspace.ts';
import { captureLog } from '../unit/captured-log.ts';

/** How often a leader is stopped in its work. */
const STOPS = 3;
/** Looks often; a machine that is busy for seconds loses no lease by it. */
const OFTEN: LeaderTimings = { ...LEADER_TIMINGS, retryPeriodMs: 300 };
/** Between the end of a term that is not renewed and the end of its lease there is as much time as a busy machine may need. */
const SHORT: LeaderTimings = { leaseDurationMs: 8_000, renewDeadlineMs: 4_000, retryPeriodMs: 300 };
/** How long to wait for what comes much sooner. */
const TIMEOUT_MS = 30_000;
/** The duration of the Lease that is given to a holder that does not exist. */
const SHORT_LEASE_SECONDS = 2;

describeWithControlPlane('leader election', {}, (cp) => {
  const cleanups: (() => Promise<unknown> | unknown)[] = [];
  let count = 0;
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
  });

  const newLease = () => `lease-${++count}`;
  const leasePath = (name: string) => `/apis/coordination.k8s.io/v1/namespaces/default/leases/${name}`;
  const leaseOf = async (name: string) =>
    (await cp().request<{ spec: LeaseSpec }>(admin, 'GET', leasePath(name))).body.spec;

  async function newClient(kubeconfig: string): Promise<ApiClient> {
    const client = await connect({ kubeconfig, userAgent: 'leader-election.test' });
    cleanups.push(() => client.close());
    return client;
  }

  /** The same kubeconfig, but for another way to the API server. */
  function throughProxy(kubeconfig: string, url: string): string {
    const workspace = createWorkspace('proxied');
    cleanups.push(() => workspace.remove());
    return workspace.write('kubeconfig.json', readFileSync(kubeconfig, 'utf8').replaceAll(cp().url, url));
  }

  /** One of several candidates, with a client of its own, what it asked, and when its terms began and ended. */
  async function candidate(name: string, identity: string, timings: Partial<LeaderTimings>, kubeconfig?: string) {
    const { client, looks } = recordLooks(await newClient(kubeconfig ?? (await cp().kubeconfigFile(admin))));
    const log = captureLog();
    const terms: { leadership: Leadership; began: number; ended?: number }[] = [];
    const lead = (leadership: Leadership) =>
      new Promise<void>((resolve) => {
        const term: (typeof terms)[number] = { leadership, began: performance.now() };
        terms.push(term);
        leadership.signal.addEventListener('abort', () => {
          term.ended = performance.now();
          resolve();
        });
      });
    const election = electLeader({ client, namespace: 'default', name, identity, log: log.log, lead, timings });
    cleanups.push(() => election.stop());
    return { election, terms, looks, log };
  }

  const leads = (election: LeaderElection) =>
    waitUntil(() => election.isLeader() || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'it does not lead',
    });

  it('of three that start at once one leads at once; when it stops, another one takes over at its next look', async () => {
    const name = newLease();
    const candidates = await Promise.all(['a', 'b', 'c'].map((identity) => candidate(name, identity, {})));
    const leading = () => candidates.filter(({ election }) => election.isLeader());
    const start = performance.now();
    await waitUntil(() => leading()[0], { timeoutMs: TIMEOUT_MS, otherwise: () => 'no candidate leads' });
    const tookMs = performance.now() - start;
    expect(leading()).toHaveLength(1);
    const [first] = leading();
    expect(first?.looks[0]).toEqual({ holder: undefined, took: true });

    const stopping = performance.now();
    await first?.election.stop();
    const releasedMs = performance.now() - stopping;
    await waitUntil(() => leading()[0], { timeoutMs: TIMEOUT_MS, otherwise: () => 'no candidate took over' });
    const handedOverMs = performance.now() - stopping;
    expect(leading()).toHaveLength(1);
    const [second] = leading();
    expect(second).not.toBe(first);
    // It looks every 1.0 to 1.2 s, and does not wait for the end of the lease, which lasts 15.
    expect(second?.looks.at(-1)).toEqual({ holder: '', took: true });
    expect(second?.looks.slice(0, -1).filter(({ holder }) => holder === '')).toEqual([]);
    expect(handedOverMs).toBeLessThan(LEADER_TIMINGS.leaseDurationMs);
    expect(second?.terms[0]?.began).toBeGreaterThan(first?.terms[0]?.ended ?? Number.POSITIVE_INFINITY);
    expect(await leaseOf(name)).toMatchObject({
      holderIdentity: second?.election.leader(),
      leaseDurationSeconds: 15,
      leaseTransitions: 1,
    });
    process.stdout.write(
      `leader after ${tookMs.toFixed()} ms, released in ${releasedMs.toFixed()} ms, next leader after ${handedOverMs.toFixed()} ms\n`,
    );
  });

  it('kubectl shows the holder, and the times are ones that Kubernetes takes', async () => {
    const name = newLease();
    const { election } = await candidate(name, 'host_1234', {});
    await leads(election);
    const { stdout } = await cp().kubectl(['get', 'lease', name, '--no-headers']);
    expect(stdout).toMatch(new RegExp(`^${name}\\s+host_1234\\s`));
  });

  describe('a change that a user makes to the Lease', () => {
    it.each<{
      what: string;
      change: (cp: ControlPlane, path: string) => Promise<unknown>;
      noticed: string;
      /** The holder that is found, once or again and again, until the lease is free. */
      found: string | undefined;
      freeAfterMs: number;
    }>([
      {
        what: 'deleted',
        change: (cp, path) => cp.request(admin, 'DELETE', path),
        noticed: 'the Lease was deleted',
        found: undefined,
        freeAfterMs: 0,
      },
      {
        what: 'given to a holder that does not exist',
        change: (cp, path) =>
          merge(cp, path, { spec: { holderIdentity: 'unknown', leaseDurationSeconds: SHORT_LEASE_SECONDS } }),
        noticed: 'the lease is held by unknown',
        found: 'unknown',
        freeAfterMs: SHORT_LEASE_SECONDS * 1_000,
      },
      {
        what: 'emptied',
        change: (cp, path) => merge(cp, path, { spec: null }),
        noticed: 'the lease was given up',
        found: undefined,
        freeAfterMs: 0,
      },
    ])('is noticed, and made good again: $what', async ({ change, noticed, found, freeAfterMs }) => {
      const name = newLease();
      const { election, terms, looks } = await candidate(name, 'a', OFTEN);
      await leads(election);
      const changing = performance.now();
      await change(cp(), leasePath(name));
      await waitUntil(() => terms[0]?.ended, { timeoutMs: TIMEOUT_MS, otherwise: () => 'not noticed' });
      expect(terms[0]?.leadership.signal.reason).toMatchObject({ message: noticed });
      await leads(election);
      expect(terms).toHaveLength(2);
      expect((await leaseOf(name)).holderIdentity).toBe('a');
      // The first look made it the leader; the second, after a renewal that was refused, showed what was done.
      const [, seen, ...after] = looks;
      expect(seen).toEqual({ holder: found, took: false });
      expect(after.at(-1)).toEqual({ holder: found, took: true });
      if (freeAfterMs === 0) expect(after).toHaveLength(1);
      expect((terms[1]?.began ?? 0) - changing).toBeGreaterThan(freeAfterMs);
    });

    it('a label or an annotation does not end the term', async () => {
      const name = newLease();
      const { election, terms } = await candidate(name, 'a', OFTEN);
      await leads(election);
      const { renewTime } = await leaseOf(name);
      for (let n = 0; n < 5; n++) await merge(cp(), leasePath(name), { metadata: { annotations: { n: String(n) } } });
      await waitUntil(async () => ((await leaseOf(name)).renewTime === renewTime ? undefined : true), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => 'not renewed any more',
      });
      expect(terms).toHaveLength(1);
      expect(election.isLeader()).toBe(true);
    });
  });

  it('a leader whose way to the API server goes silent gives up in time, before another one leads, and comes back', async () => {
    const name = newLease();
    await using proxy = await startTcpProxy(cp().url);
    const kubeconfig = await cp().kubeconfigFile(admin);
    const cutOff = await candidate(name, 'a', SHORT, throughProxy(kubeconfig, proxy.url));
    await leads(cutOff.election);
    const other = await candidate(name, 'b', SHORT);
    await waitUntil(() => (cutOff.election.isLeader() && other.election.leader()) || undefined, {
      timeoutMs: TIMEOUT_MS,
      otherwise: () => 'a does not lead, or b does not see who leads',
    });

    proxy.pause();
    // On a slow machine, a term may have ended before.
    const earlier = cutOff.terms.slice(0, -1);
    const term = cutOff.terms.at(-1);
    const { renewTime = '' } = await leaseOf(name);
    await leads(other.election);
    const { acquireTime = '' } = await leaseOf(name);
    const ended = term?.ended ?? Number.POSITIVE_INFINITY;
    // Nobody may take it any earlier, and by then the one before has long given up.
    expect(Date.parse(acquireTime) - Date.parse(renewTime)).toBeGreaterThanOrEqual(SHORT.leaseDurationMs);
    expect(performance.timeOrigin + ended).toBeLessThan(Date.parse(renewTime) + SHORT.leaseDurationMs);
    expect(other.terms[0]?.began).toBeGreaterThan(ended);
    expect(cutOff.election.isLeader()).toBe(false);

    proxy.resume();
    await other.election.stop();
    await leads(cutOff.election);
    expect(cutOff.terms).toHaveLength(earlier.length + 2);
  });

  it('without the rights it says which ones are missing, and leads once it has them', async () => {
    const name = newLease();
    const user = serviceAccount('default', 'elector');
    const { election, log } = await candidate(name, 'a', OFTEN, await cp().kubeconfigFile(user));
    const advice = 'allow get, create and update of leases.coordination.k8s.io in namespace default';
    await waitUntil(() => log.text().includes(advice) || undefined, { timeoutMs: TIMEOUT_MS, otherwise: log.text });
    await grantLeases(cp(), user);
    await leads(election);
    expect(log.lines().filter(({ level }) => level === 40)).toHaveLength(1);
    expect(log.text()).toContain('leader election works again');
  });

  it('a leader that was stopped until the next one has written writes nothing more', async () => {
    await cp().request(admin, 'POST', '/api/v1/namespaces/default/configmaps', {
      body: { metadata: { name: 'written' } },
    });
    const kubeconfig = await cp().kubeconfigFile(admin);
    const workspace = createWorkspace('leader');
    cleanups.push(() => workspace.remove());
    const start = async (identity: string): Promise<Supervised> => {
      const script = join(import.meta.dirname, 'leader-process.ts');
      const process_ = await launch(identity, process.execPath, [script, kubeconfig, identity], {
        logFile: workspace.logFile(identity),
      });
      cleanups.push(() => {
        resume(process_);
        return process_.stop(5_000);
      });
      return process_;
    };
    const path = '/api/v1/namespaces/default/configmaps/written';
    const written = async () => {
      const { body } = await cp().request<{ data?: { by?: string } }>(admin, 'GET', path);
      return (body.data?.by ?? '').split(' ').filter((entry) => entry !== '');
    };
    const writer = async (count: number, not?: string) =>
      waitUntil(
        async () => {
          const entries = await written();
          const [last] = entries.at(-1)?.split('.') ?? [];
          return entries.length >= count && last !== undefined && last !== not ? last : undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => `no process ${not ? `except ${not} ` : ''}writes` },
      );
    /** The one that leads, stopped in the middle of its term. */
    const stopLeader = () =>
      waitUntil(
        async () => {
          const leader = await writer((await written()).length + 20);
          const stopped = processes.find(({ name }) => name === leader);
          if (!stopped) throw new Error(`${leader} is not one of ours`);
          stopped.signal('SIGSTOP');
          const begun = occurrences(stopped.log(), `"msg":"the leader is ${leader}"`);
          const ended = occurrences(stopped.log(), '"msg":"no longer the leader');
          if (begun > ended) return stopped;
          // It may have ended meanwhile: then this is about nothing.
          stopped.signal('SIGCONT');
          return undefined;
        },
        { timeoutMs: TIMEOUT_MS, otherwise: () => 'no process leads for long enough to be stopped' },
      );

    const processes = await Promise.all(['a', 'b'].map(start));
    // Again and again, each time at another point of its work.
    for (let round = 0; round < STOPS; round++) {
      const stopped = await stopLeader();
      const runs = occurrences(stopped.log(), '"msg":"led"');
      await writer(0, stopped.name);
      // The next one has written, and goes on while the one before wakes up.
      stopped.signal('SIGCONT');
      await waitUntil(() => (occurrences(stopped.log(), '"msg":"led"') > runs ? true : undefined), {
        timeoutMs: TIMEOUT_MS,
        otherwise: () => stopped.failure('goes on leading').message,
      });
    }
    const entries = await written();
    const terms = entries.filter((entry, index) => entry !== entries[index - 1]);
    expect(terms.length).toBeGreaterThan(STOPS);
    // No term has a write after the first one of the next term.
    expect(terms).toEqual([...new Set(terms)]);
  });
});

/** One reading of the Lease, and whether it, or a renewal that came of it, was written afterwards. */
interface Look {
  /** Undefined where there is no Lease, or none with a holder; '' for one that was given up. */
  readonly holder: string | undefined;
  took: boolean;
}

/** The same client, and what it has seen of the Lease. */
function recordLooks(client: ApiClient): { client: ApiClient; looks: Look[] } {
  const looks: Look[] = [];
  const recording: ApiClient = {
    ...client,
    async request<T>(...[method, path, options]: Parameters<ApiClient['request']>): Promise<T> {
      try {
        const lease = await client.request<T & { spec?: LeaseSpec }>(method, path, options);
        const last = looks.at(-1);
        if (method === 'GET') looks.push({ holder: lease.spec?.holderIdentity, took: false });
        else if (last) last.took = true;
        return lease;
      } catch (error) {
        if (method === 'GET' && error instanceof ApiError && error.status === 404)
          looks.push({ holder: undefined, took: false });
        throw error;
      }
    },
  };
  return { client: recording, looks };
}

function resume({ pid, exit }: Supervised): void {
  if (!exit) process.kill(pid, 'SIGCONT');
}

function occurrences(text: string, part: string): number {
  return text.split(part).length - 1;
}

/** What the elector says that it needs, and nothing else. */
async function grantLeases(cp: ControlPlane, { name }: User): Promise<void> {
  const [namespace, account] = name.split(':').slice(2);
  const metadata = { name: 'elector' };
  const rbac = `/apis/rbac.authorization.k8s.io/v1/namespaces/${namespace}`;
  const rules = [{ apiGroups: ['coordination.k8s.io'], resources: ['leases'], verbs: ['get', 'create', 'update'] }];
  await cp.request(admin, 'POST', `${rbac}/roles`, { body: { metadata, rules } });
  await cp.request(admin, 'POST', `${rbac}/rolebindings`, {
    body: {
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ kind: 'ServiceAccount', namespace, name: account }],
    },
  });
}

function merge(cp: ControlPlane, path: string, body: object) {
  return cp.request(admin, 'PATCH', path, { body, contentType: MERGE_PATCH });
}
