import { X509Certificate } from 'node:crypto';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { issueCa, issueServing } from '../../../src/certs/issue.ts';
import type { ServableCertificates } from '../../../src/certs/servable-certificates.ts';
import type { ClusterNode } from '../../../src/cluster/objects/cluster-objects.ts';
import type { ClusterState } from '../../../src/controllers/cluster-state.ts';
import type { PageSources } from '../../../src/page/page-sources.ts';
import { certificateState } from '../../../src/page/replica-states.ts';
import { createStateFeed } from '../../../src/page/state-feed.ts';
import { VERSION } from '../../../src/version.ts';
import { policySet } from '../policy/policies.ts';
import { pageSources } from './page-sources.ts';

/** Every question is answered anew. */
const AT_ONCE = { build: 'b', maxAgeMs: 0, pauseMs: 0 };

const stateOf = async (feed: ReturnType<typeof createStateFeed>) => JSON.parse((await feed.current()).body);

it('says what the sources say, and nothing of nodes where they are not known', async () => {
  const before = Date.now();
  const { at, ...state } = await stateOf(createStateFeed(pageSources(), AT_ONCE));
  expect(state).toEqual({
    version: VERSION,
    build: 'b',
    replica: 'tk-1',
    mode: 'cluster',
    leader: { isThis: true, name: 'tk-1' },
    audit: false,
    checks: [{ name: 'policies', state: 'ok', detail: '1 in force' }],
    webhooks: [],
    policies: [],
    problems: [expect.objectContaining({ text: 'There are no policies: nothing is protected' })],
  });
  expect(Date.parse(at)).toBeGreaterThanOrEqual(before);
});

it('uses the clock of its sources, also for the certificate, whatever the clock of the machine says', async () => {
  const now = new Date('2026-03-14T12:00:00Z');
  const { cert } = await issueServing(await issueCa(now), ['taintkeeper.svc'], now);
  const certificates = { current: () => ({ certificate: new X509Certificate(cert) }) as ServableCertificates };
  vi.useFakeTimers({ toFake: ['Date'], now: now.getTime() + 91 * 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  const asked: number[] = [];
  const denials = (at: number) => {
    asked.push(at);
    return [];
  };
  const sources = pageSources({ now: () => now, certificate: () => certificateState(certificates, now) });
  const state = await stateOf(createStateFeed(sources, { ...AT_ONCE, denials }));
  expect(JSON.stringify(state.problems)).not.toContain('certificate');
  expect(state.at).toBe(now.toISOString());
  expect(asked).toEqual([now.getTime()]);
});

it('keeps the entity tag until something has changed, whatever the time', async () => {
  let detail = 'a';
  const feed = createStateFeed(pageSources({ checks: () => [{ name: 'policies', state: 'ok', detail }] }), AT_ONCE);
  const first = await feed.current();
  expect(await feed.current()).toEqual(first);
  detail = 'b';
  const second = await feed.current();
  expect(second.etag).not.toBe(first.etag);
  detail = 'a';
  expect((await feed.current()).etag).toBe(first.etag);
});

it('asks the sources once for many who ask at the same time, or soon after', async () => {
  let asked = 0;
  const leader = () => {
    asked++;
    return { isThis: true };
  };
  const feed = createStateFeed(pageSources({ leader }), { ...AT_ONCE, maxAgeMs: 60_000 });
  await Promise.all([feed.current(), feed.current(), feed.current()]);
  await feed.current();
  expect(asked).toBe(1);
});

it('passes an error of a source to the caller, and answers again once the source works', async () => {
  let broken = true;
  const checks = (): ReturnType<PageSources['checks']> => {
    if (broken) throw new Error('no');
    return [];
  };
  const feed = createStateFeed(pageSources({ checks }), AT_ONCE);
  await expect(feed.current()).rejects.toThrow('no');
  broken = false;
  expect(await stateOf(feed)).toMatchObject({ checks: [] });
});

describe('nodes and coverage', () => {
  function fed({ readMs = 0, ...options }: { pauseMs: number; readMs?: number }) {
    let reads = 0;
    let revision = 0;
    let synced = false;
    let names = ['n1'];
    const clusterState: ClusterState = {
      isSynced: () => synced,
      revision: () => revision,
      nodes() {
        reads++;
        if (readMs > 0) vi.advanceTimersByTime(readMs);
        const bare = { labels: {}, taints: [], allowRemoval: undefined, ready: true };
        return names.map((name): ClusterNode => ({ ...bare, name }));
      },
      daemonSets: () => [],
      isInConflict: () => false,
      startupOn: () => undefined,
    };
    const spec = { mode: 'Deny' as const, taints: [{ key: 'keep' }] };
    const led = {
      clusterState,
      policies: [{ kind: 'TaintPolicy' as const, name: 'p', spec }],
      compiled: policySet({ taint: { p: spec } }),
    };
    let leads = true;
    const feed = createStateFeed(pageSources({ cluster: () => (leads ? led : undefined) }), {
      build: 'b',
      maxAgeMs: 0,
      ...options,
    });
    return {
      feed,
      reads: () => reads,
      sync: () => {
        synced = true;
      },
      change(next: string[]) {
        names = next;
        revision++;
      },
      depose: () => {
        leads = false;
      },
    };
  }

  it('are there once they have been read, and until another one leads', async () => {
    const { feed, sync, depose } = fed({ pauseMs: 0 });
    expect(await stateOf(feed)).not.toHaveProperty('nodes');
    sync();
    expect(await stateOf(feed)).toMatchObject({
      nodes: { rows: [{ name: 'n1', cells: 'a' }] },
      coverage: { groups: [{ count: 1 }] },
    });
    depose();
    expect(await stateOf(feed)).not.toHaveProperty('nodes');
  });

  it('are read again only after a change', async () => {
    const { feed, sync, change, reads } = fed({ pauseMs: 0 });
    sync();
    await feed.current();
    await feed.current();
    expect(reads()).toBe(1);
    change(['n1', 'n2']);
    expect((await stateOf(feed)).nodes.rows).toHaveLength(2);
    expect(reads()).toBe(2);
  });

  it('are not read again within the pause, even after a change', async () => {
    const { feed, sync, change, reads } = fed({ pauseMs: 60_000 });
    sync();
    await feed.current();
    change(['n1', 'n2']);
    expect((await stateOf(feed)).nodes.rows).toHaveLength(1);
    expect(reads()).toBe(1);
  });

  it('are read less often if a read takes long', async () => {
    vi.useFakeTimers({ toFake: ['performance'] });
    onTestFinished(() => void vi.useRealTimers());
    const { feed, sync, change, reads } = fed({ pauseMs: 2_000, readMs: 5_000 });
    sync();
    await feed.current();
    change(['n1', 'n2']);
    vi.advanceTimersByTime(19_000);
    await feed.current();
    expect(reads()).toBe(1);
    vi.advanceTimersByTime(2_000);
    await feed.current();
    expect(reads()).toBe(2);
  });
});
