import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { type ClusterDaemonSet, projectDaemonSet } from '../../../../src/cluster/objects/cluster-objects.ts';
import { viewPolicy } from '../../../../src/cluster/policies/policy-object.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { startPolicyStatus } from '../../../../src/controllers/status/status-controller.ts';
import type { PolicyStatus } from '../../../../src/policy/reporting/policy-status.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { captureLog } from '../../captured-log.ts';
import { policySet } from '../../policy/policies.ts';
import { ALL_READ } from '../readings.ts';
import { runOf } from '../run.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const NAMES = ['a', 'b', 'c'];
/** By the API server's clock, which is not that of this machine. */
const API_TIME = new Date('2020-01-01T00:00:00Z');

interface Rig {
  readonly onEvaluation?: () => void;
  /** The field of a status that the definition does not have. */
  readonly pruned?: string;
  /** The names of DaemonSets that lack the tolerations of the policies. */
  readonly daemonSets?: readonly string[];
}

/** Policies `a`, `b` and `c`, none of which has a status. The API server refuses that of `a` until told otherwise. */
function startStatus({ onEvaluation, pruned, daemonSets = [] }: Rig = {}) {
  const stored = new Map<string, PolicyStatus>();
  const spec: TolerationPolicySpec = {
    mode: 'Mutate',
    daemonSets: { namespaces: ['*'] },
    tolerations: [{ key: 'k', operator: 'Exists' }],
  };
  const tried: unknown[] = [];
  const counted: Readonly<Record<string, number>>[] = [];
  const pending = new Set<string>();
  const sentTimes = new Set<unknown>();
  let refuses = true;
  const client = {
    now: () => API_TIME,
    async request(method: string, path: string, { body = [] }: { body?: readonly { value: object }[] } = {}) {
      tried.push(path.split('/').at(-2));
      if (refuses && path.endsWith('/a/status')) {
        throw new ApiError(method, path, 422, 'Invalid', 'status.conditions[0].message: Too long');
      }
      const { conditions = [] } = (body.at(-1)?.value ?? {}) as {
        conditions?: readonly { lastTransitionTime: string }[];
      };
      for (const { lastTransitionTime } of conditions) sentTimes.add(lastTransitionTime);
      const sent = Object.entries(body.at(-1)?.value ?? {});
      const status = Object.fromEntries(sent.filter(([field]) => field !== pruned));
      stored.set(path.split('/').at(-2) ?? '', status as PolicyStatus);
      return { status };
    },
  };
  const reports = createReports();
  const news = createSubject();
  reports.add('nodes', { changes: news, conditions: ({ name }) => (pending.has(name) ? 'pending' : []) });
  const snapshot = {
    policies: [],
    compiled: policySet({ toleration: Object.fromEntries(NAMES.map((name) => [name, spec])) }),
    versions: new Set<string>(),
  };
  const options = {
    client: client as unknown as ApiClient,
    namespace: 'taintkeeper',
    nodes: { ...ALL_READ, entries: () => [], news: createSubject() },
    daemonSets: {
      ...ALL_READ,
      entries: () => daemonSets.map(daemonSetEntry).values(),
      unreadable: () => [],
      changes: createSubject<never>(),
    },
    nodeRecords: { recordOf: () => undefined, changes: createSubject<string>() },
    policies: {
      objects: () =>
        NAMES.map((name) =>
          viewPolicy('TolerationPolicy', {
            metadata: { name, uid: name, generation: 1, resourceVersion: '1' },
            spec,
            status: stored.get(name),
          }),
        ),
      snapshot: () => snapshot,
      statusChanges: createSubject(),
    },
    audit: false,
    reports,
    patchedBy: () => [],
    stuckPods() {
      onEvaluation?.();
      return [];
    },
  };
  const stopping = new AbortController();
  const { log, lines } = captureLog();
  const run = runOf(stopping, log, {
    violating: (findings) =>
      void counted.push(Object.fromEntries(findings.map(({ policy, count }) => [policy, count]))),
  });
  const controller = startPolicyStatus(run, options);
  onTestFinished(() => {
    stopping.abort();
    return controller.stop();
  });
  return {
    news,
    tried,
    sentTimes,
    counted,
    pending,
    violatorsOf: (name: string) => stored.get(name)?.violators,
    lines,
    accept() {
      refuses = false;
    },
  };
}

it('a status that the API server refuses delays none of the others, and is tried again by itself', async () => {
  const { tried, sentTimes, counted, lines, accept } = startStatus();
  await expect.poll(() => tried.slice(0, 4)).toEqual(['a', 'b', 'c', 'a']);
  expect(lines().map(({ msg }) => msg)).toEqual([expect.stringMatching(/^policy-status-write: a: .*Too long/)]);
  expect(counted).toEqual([{ a: 0, b: 0, c: 0 }]);
  accept();
  await expect.poll(() => lines().at(-1)?.msg).toBe('policy-status-write: it works again');
  // Each of the others was written once.
  expect(tried.filter((name) => name !== 'a')).toEqual(['b', 'c']);
  expect([...sentTimes]).toEqual(['2020-01-01T00:00:00Z']);
});

it('a status of which an older definition prunes a field is written once', async () => {
  vi.useFakeTimers();
  let evaluations = 0;
  const { tried, accept, news } = startStatus({ onEvaluation: () => void evaluations++, pruned: 'matched' });
  accept();
  while (evaluations < 4) {
    news.next();
    await pass(1_000);
  }
  expect(tried).toEqual(['a', 'b', 'c']);
});

it('news that comes during an evaluation cuts the back-off of a refused status short at the next one', async () => {
  vi.useFakeTimers();
  // The longest pauses.
  vi.spyOn(Math, 'random').mockReturnValue(1);
  let evaluations = 0;
  const { news, lines, accept } = startStatus({
    onEvaluation() {
      evaluations++;
      if (evaluations === 4) news.next();
    },
  });
  // One each minute: the back-off is at its longest pause by then.
  while (evaluations < 4) await pass(100);
  // The next one is due five seconds after the news.
  await pass(4_800);
  expect(evaluations).toBe(4);
  accept();
  await pass(300);
  expect(evaluations).toBe(5);
  expect(lines().at(-1)?.msg).toBe('policy-status-write: it works again');
});

it('a policy that controllers are still to report on keeps its violators and its count', async () => {
  vi.useFakeTimers();
  const names = Array.from({ length: 12 }, (_, index) => `d${index + 10}`);
  const { tried, counted, pending, violatorsOf, news, accept } = startStatus({ daemonSets: names });
  accept();
  const evaluateAgain = async () => {
    news.next();
    await pass(6_000);
  };
  await evaluateAgain();
  const named = names.slice(0, 10).map((name) => `apps/${name}`);
  expect(violatorsOf('a')).toEqual(named);
  pending.add('a');
  await evaluateAgain();
  pending.delete('a');
  await evaluateAgain();
  expect(counted.slice(-2)).toEqual(Array(2).fill({ a: 12, b: 12, c: 12 }));
  expect(violatorsOf('a')).toEqual(named);
  expect(tried).toEqual(['a', 'b', 'c']);
});

function daemonSetEntry(name: string): Entry<ClusterDaemonSet> {
  const id = { namespace: 'apps', name, uid: name, resourceVersion: '1' };
  const value = projectDaemonSet({ metadata: id, spec: { selector: {}, template: { metadata: {}, spec: {} } } });
  return { ...id, value };
}

/** Time passes. Evaluations make pauses that are not timers. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
  }
}
