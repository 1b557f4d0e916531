import { describe, expect, it } from 'vitest';
import { trackCaTrust } from '../../src/certs/ca-trust.ts';
import type { ApiClient, RequestOptions } from '../../src/cluster/client/api-client.ts';
import { ApiError } from '../../src/cluster/client/api-error.ts';
import { viewPolicy } from '../../src/cluster/policies/policy-object.ts';
import { type LeaderOptions, startLeaderWork } from '../../src/leader.ts';
import { compilePolicies } from '../../src/policy/policy-set.ts';
import { createMetrics } from '../../src/replica/metrics.ts';
import { orAborted } from '../../src/runtime/abort.ts';
import { createSubject } from '../../src/runtime/source.ts';
import { captureLog } from './captured-log.ts';

/** An API server that never answers: requests end when the lease does. */
function unanswered(signal: AbortSignal) {
  const asked: string[] = [];
  const waiting = new Set<symbol>();
  const request = async (method: string, path: string, options: RequestOptions = {}) => {
    asked.push(`${method} ${path}`);
    const ending = options.signal ? AbortSignal.any([signal, options.signal]) : signal;
    const one = Symbol(path);
    waiting.add(one);
    return orAborted(new Promise(() => {}), ending).finally(() => waiting.delete(one));
  };
  const client = { request, now: () => new Date() } as unknown as ApiClient;
  const { log, lines } = captureLog();
  const snapshot = { policies: [], compiled: compilePolicies([]), versions: new Set<string>() };
  const none = { synced: Promise.resolve(), isSynced: () => true, changes: createSubject(), stop: async () => {} };
  const metrics = createMetrics('test');
  const options: LeaderOptions = {
    signal,
    client,
    namespace: 'taintkeeper',
    pod: 'a',
    service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
    audit: false,
    policies: {
      ...none,
      isComplete: () => true,
      kindsWithoutDefinition: () => [],
      unread: () => [],
      staleSince: () => undefined,
      snapshot: () => snapshot,
      statusChanges: createSubject(),
      objects: () => [],
    },
    webhooks: {
      ...none,
      tried: Promise.resolve(),
      problem: () => undefined,
      get: () => undefined,
      caBundles: () => [],
      trust: trackCaTrust(),
    },
    certificates: { current: () => ({ bundle: undefined }) as never, changes: createSubject() },
    secret: undefined,
    caOverlapMs: 0,
    webhookTimeoutSeconds: 2,
    defaultPolicies: 'defaults',
    ownerClusterRole: 'taintkeeper',
    giveWay: () => {},
    recordEvent: () => {},
    metrics,
    log,
  };
  return { options, asked, waiting, lines, metrics };
}

function startUnanswered(signal: AbortSignal) {
  const { options, ...rest } = unanswered(signal);
  return { work: startLeaderWork(options), ...rest };
}

it('ends all that a leader does, also what was never answered, without a word', async () => {
  const lease = new AbortController();
  const { work, asked, lines, metrics } = startUnanswered(lease.signal);
  await expect.poll(() => asked.length).toBeGreaterThan(5);
  lease.abort(new Error('lost'));
  await work.stop();
  expect(lines().map(({ msg }) => msg)).toEqual([]);
  expect(await metrics.registry.getSingleMetricAsString('taintkeeper_watch_connected')).not.toContain('{');
  expect(work.clusterState.isSynced()).toBe(false);
});

it('ends what was started when something cannot be', async () => {
  const { options, asked, waiting, metrics } = unanswered(new AbortController().signal);
  const changes = createSubject();
  const broken = {
    ...options.certificates,
    changes: {
      ...changes,
      subscribe() {
        throw new Error('broken');
      },
    },
  };
  expect(() => startLeaderWork({ ...options, certificates: broken })).toThrow('broken');
  await expect.poll(() => [...waiting]).toEqual([]);
  const count = asked.length;
  expect(count).toBeGreaterThan(0);
  await expect.poll(() => metrics.registry.getSingleMetricAsString('taintkeeper_watch_connected')).not.toContain('{');
  expect([asked.length, [...waiting]]).toEqual([count, []]);
});

it('reports problems in the order in which the controllers are started: a status names the first', async () => {
  const lease = new AbortController();
  const { options } = unanswered(lease.signal);
  const policy = viewPolicy('TaintPolicy', {
    metadata: { name: 'p', uid: 'u', generation: 1, resourceVersion: '1' },
    spec: {
      mode: 'Deny',
      backstop: 'Native',
      taints: [
        { key: 'dedicated', effect: 'NoSchedule' },
        {
          key: 'example.com/preparing',
          effect: 'NoSchedule',
          ensure: 'UntilReady',
          readyWhen: { daemonSets: [{ namespace: 'kube-system', name: 'cni' }] },
        },
      ],
    },
  });
  const policies = policy.inForce ? [policy.inForce.policy] : [];
  const snapshot = { policies, compiled: compilePolicies(policies), versions: new Set<string>() };
  const client = {
    now: () => new Date(),
    async request(method: string, path: string) {
      if (path.endsWith('/selfsubjectaccessreviews')) return { status: { allowed: false } };
      if (path.endsWith('/nodes') || path.endsWith('/daemonsets'))
        return { metadata: { resourceVersion: '1' }, items: [] };
      throw new ApiError(method, path, 500, 'InternalError', 'unavailable');
    },
    async *lines(_path: string, { signal }: { signal: AbortSignal }) {
      yield await orAborted(new Promise(() => {}), signal);
    },
  } as unknown as ApiClient;
  const seen: string[][] = [];
  const work = startLeaderWork({
    ...options,
    client,
    policies: { ...options.policies, snapshot: () => snapshot, objects: () => [policy] },
    webhooks: { ...options.webhooks, get: () => ({ metadata: { name: 'taintkeeper' } }) as never },
    metrics: { ...options.metrics, stalled: (problems) => seen.push(problems.map(({ reason }) => reason)) },
  });
  await expect.poll(() => seen).not.toEqual([]);
  await work.stop();
  expect(seen[0]).toEqual(['NotPermitted', 'DaemonSetNotFound', 'BackstopNotInForce']);
});

describe('a leader that may not list', () => {
  const RULE = { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' };
  const taintPolicy = viewPolicy('TaintPolicy', {
    metadata: { name: 'p', uid: 'u', generation: 1, resourceVersion: '1' },
    spec: { mode: 'Restore', taints: [RULE] },
  });

  it.each([
    { what: 'DaemonSets', refused: '/daemonsets' },
    { what: 'webhook configurations', refused: undefined },
  ])('$what repairs nodes, and writes the status of their policy', async ({ refused }) => {
    const lease = new AbortController();
    const { options } = unanswered(lease.signal);
    const writes: string[] = [];
    const client = {
      now: () => new Date(),
      isClockConfirmed: () => true,
      async request(method: string, path: string) {
        if (refused !== undefined && path.endsWith(refused)) throw new ApiError(method, path, 403, 'Forbidden', 'no');
        if (path.endsWith('/selfsubjectaccessreviews')) return { status: { allowed: false } };
        if (method === 'GET' && path === '/api/v1/nodes') {
          const node = { metadata: { name: 'n1', uid: 'n1', resourceVersion: '1' }, spec: {}, status: {} };
          return { metadata: { resourceVersion: '1' }, items: [node] };
        }
        if (method === 'GET') return { metadata: { resourceVersion: '1' }, items: [] };
        writes.push(`${method} ${path}`);
        return { metadata: { name: 'n1', resourceVersion: '2' }, spec: { taints: [] } };
      },
      async *lines(_path: string, { signal }: { signal: AbortSignal }) {
        yield await orAborted(new Promise(() => {}), signal);
      },
    } as unknown as ApiClient;
    const policies = taintPolicy.inForce ? [taintPolicy.inForce.policy] : [];
    const snapshot = { policies, compiled: compilePolicies(policies), versions: new Set<string>() };
    const isUnread = refused === undefined;
    const work = startLeaderWork({
      ...options,
      client,
      policies: { ...options.policies, snapshot: () => snapshot, objects: () => [taintPolicy] },
      webhooks: {
        ...options.webhooks,
        ...(isUnread ? { synced: new Promise(() => {}), isSynced: () => false, problem: () => 'forbidden' } : {}),
      },
    });
    try {
      await expect.poll(() => writes).toContain('PATCH /api/v1/nodes/n1');
      const status = 'PATCH /apis/taintkeeper.dev/v1alpha1/taintpolicies/p/status';
      await expect.poll(() => writes).toContain(status);
    } finally {
      lease.abort(new Error('over'));
      await work.stop();
    }
  });
});
