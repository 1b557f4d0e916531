import { setImmediate } from 'node:timers/promises';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { viewPolicy } from '../../../../src/cluster/policies/policy-object.ts';
import { createReports } from '../../../../src/controllers/reports.ts';
import { startPolicyStatus } from '../../../../src/controllers/status/status-controller.ts';
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

/** Policies `a`, `b` and `c`, none of which has a status. The API server refuses that of `a` until told otherwise. */
function startWithRefusal(onEvaluation: () => void = () => {}, pruned?: string) {
  const stored = new Map<string, unknown>();
  const spec: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['*'] } };
  const tried: unknown[] = [];
  const counted: number[] = [];
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
      if (pruned === undefined) return undefined;
      const sent = Object.entries(body.at(-1)?.value ?? {});
      const status = Object.fromEntries(sent.filter(([field]) => field !== pruned));
      stored.set(path.split('/').at(-2) ?? '', status);
      return { status };
    },
  };
  const reports = createReports();
  const news = createSubject();
  reports.add('nodes', { changes: news, conditions: () => [] });
  const snapshot = {
    policies: [],
    compiled: policySet({ toleration: Object.fromEntries(NAMES.map((name) => [name, spec])) }),
    versions: new Set<string>(),
  };
  const options = {
    client: client as unknown as ApiClient,
    namespace: 'taintkeeper',
    nodes: { ...ALL_READ, entries: () => [], news: createSubject() },
    daemonSets: { ...ALL_READ, entries: () => [], unreadable: () => [], changes: createSubject<never>() },
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
      onEvaluation();
      return [];
    },
  };
  const stopping = new AbortController();
  const { log, lines } = captureLog();
  const run = runOf(stopping, log, { violating: (findings) => void counted.push(findings.length) });
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
    lines,
    accept() {
      refuses = false;
    },
  };
}

it('a status that the API server refuses delays none of the others, and is tried again by itself', async () => {
  const { tried, sentTimes, counted, lines, accept } = startWithRefusal();
  await expect.poll(() => tried.slice(0, 4)).toEqual(['a', 'b', 'c', 'a']);
  expect(lines().map(({ msg }) => msg)).toEqual([expect.stringMatching(/^policy-status-write: a: .*Too long/)]);
  expect(counted).toEqual([3]);
  accept();
  await expect.poll(() => lines().at(-1)?.msg).toBe('policy-status-write: it works again');
  // Each of the others was written once.
  expect(tried.filter((name) => name !== 'a')).toEqual(['b', 'c']);
  expect([...sentTimes]).toEqual(['2020-01-01T00:00:00Z']);
});

it('a status of which an older definition prunes a field is written once', async () => {
  vi.useFakeTimers();
  let evaluations = 0;
  const { tried, accept, news } = startWithRefusal(() => void evaluations++, 'matched');
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
  const { news, lines, accept } = startWithRefusal(() => {
    evaluations++;
    if (evaluations === 4) news.next();
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

/** Time passes. Evaluations make pauses that are not timers. */
async function pass(ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 100) {
    await vi.advanceTimersByTimeAsync(100);
    for (let turn = 0; turn < 5; turn++) await setImmediate();
  }
}
