import { setImmediate } from 'node:timers/promises';
import { beforeEach, expect, it, vi } from 'vitest';
import type { ApiClient } from '../../../src/cluster/client/api-client.ts';
import { viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import type { Controller, Run } from '../../../src/controllers/controller.ts';
import { startPoolReview } from '../../../src/controllers/node-pools/pool-review.ts';
import { createReports } from '../../../src/controllers/reports.ts';
import { startPolicyStatus } from '../../../src/controllers/status/status-controller.ts';
import { createSubject } from '../../../src/runtime/source.ts';
import { captureLog } from '../captured-log.ts';
import { rule } from '../judge/node-drifts.ts';
import { policySet } from '../policy/policies.ts';
import { ALL_READ } from './readings.ts';
import { runOf } from './run.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
  return () => vi.useRealTimers();
});

const SPEC = rule('Restore', { key: 'dedicated', effect: 'NoSchedule', ensure: 'Always' });

/** The evaluation of policies waits for the event loop between two policies, which fake timers do not turn. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    await setImmediate();
  }
}

/** A leader to which the API server answers every request with an error. */
function failingLeader() {
  const stopping = new AbortController();
  const request = vi.fn(async () => {
    throw new Error('the API server is unavailable');
  });
  const policy = viewPolicy('TaintPolicy', {
    metadata: { name: 'p', uid: 'u', generation: 1, resourceVersion: '1' },
    spec: SPEC,
  });
  const snapshot = { policies: [], compiled: policySet({ taint: { p: SPEC } }), versions: new Set<string>() };
  const options = {
    client: { request, now: () => new Date() } as unknown as ApiClient,
    namespace: 'taintkeeper',
    nodes: { ...ALL_READ, entries: () => [], changes: createSubject<never>(), news: createSubject() },
    nodeRecords: { recordOf: () => undefined, changes: createSubject<string>() },
    daemonSets: { ...ALL_READ, entries: () => [], unreadable: () => [], changes: createSubject<never>() },
    policies: {
      snapshot: () => snapshot,
      objects: () => [policy],
      changes: createSubject(),
      statusChanges: createSubject(),
    },
    rights: { permits: () => true, changes: createSubject() },
    audit: false,
    reports: createReports(),
    patchedBy: () => [],
    stuckPods: () => [],
    recordEvent: () => {},
  };
  return { run: runOf(stopping, captureLog().log), options, request, stop: () => stopping.abort() };
}

type Options = ReturnType<typeof failingLeader>['options'];

it.each<{
  what: string;
  start: (run: Run, options: Options) => Controller;
  trigger: (options: Options) => void;
}>([
  {
    what: 'the review of node pools, by a new policy',
    start: startPoolReview,
    trigger: ({ policies }) => policies.changes.next(),
  },
  {
    what: 'the review of node pools, by a new right',
    start: startPoolReview,
    trigger: ({ rights }) => rights.changes.next(),
  },
  {
    what: 'the writer of statuses, by what a controller reports',
    start: startPolicyStatus,
    trigger({ reports }) {
      const changes = createSubject();
      reports.add('nodes', { changes });
      changes.next();
    },
  },
])('the back-off after failures is cut short: $what', async ({ start, trigger }) => {
  const { run, options, request, stop } = failingLeader();
  const controller = start(run, options);
  // By then the back-off has reached its longest pause, which is 15 s at least. It begins with a failure.
  await pass(120_000);
  const earlier = request.mock.calls.length;
  expect(earlier).toBeGreaterThan(0);
  while (request.mock.calls.length === earlier) await pass(100);
  await pass(100);
  const before = request.mock.calls.length;
  trigger(options);
  await pass(6_000);
  expect(request.mock.calls.length).toBeGreaterThan(before);
  stop();
  await controller.stop();
});
