import { expect, it } from 'vitest';
import type { ApiClient } from '../../../../src/cluster/client/api-client.ts';
import { ApiError } from '../../../../src/cluster/client/api-error.ts';
import { viewPolicy } from '../../../../src/cluster/policy-object.ts';
import { createReports, type Report, type ReportedProblem } from '../../../../src/controllers/reports.ts';
import { policyStatus } from '../../../../src/controllers/status/policy-status.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import type { PolicyStatus } from '../../../../src/policy/policy-status.ts';
import type { TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import type { TolerationRestrictionSpec } from '../../../../src/policy/toleration-restriction.ts';
import { createSubject } from '../../../../src/runtime/source.ts';
import { policySet } from '../../policy/policies.ts';
import { nodeEntry } from '../nodes/node-entries.ts';

interface Cluster {
  readonly taint?: Record<string, TaintPolicySpec>;
  readonly toleration?: Record<string, TolerationPolicySpec>;
  readonly restriction?: Record<string, TolerationRestrictionSpec>;
  readonly nodes?: readonly ReturnType<typeof nodeEntry>[];
}

/** Runs once on policies without a status. `refuses` is the name of a policy whose status the API server refuses. */
async function run(cluster: Cluster, report: Report, refuses?: string) {
  const { taint = {}, toleration = {}, restriction = {}, nodes = [] } = cluster;
  const kinds = { TaintPolicy: taint, TolerationPolicy: toleration, TolerationRestriction: restriction };
  const objects = Object.entries(kinds).flatMap(([kind, specs]) =>
    Object.entries(specs).map(([name, spec]) =>
      viewPolicy(kind as keyof typeof kinds, {
        metadata: { name, uid: `${kind}-${name}`, generation: 1, resourceVersion: '1' },
        spec,
      }),
    ),
  );
  /** What was written, by resource and name. */
  const written = new Map<string, PolicyStatus>();
  const client = {
    async request(method: string, path: string, { body }: { body: readonly { path: string; value: unknown }[] }) {
      const [resource, name] = path.split('/').slice(-3, -1);
      if (name === refuses) throw new ApiError(method, path, 403, 'Forbidden', 'denied by a webhook');
      const status = body.find((operation) => operation.path === '/status')?.value;
      written.set(`${resource}/${name}`, status as PolicyStatus);
    },
  };
  const reports = createReports();
  reports.add(report);
  const snapshot = {
    policies: [],
    compiled: policySet({ taint, toleration, restriction }),
    versions: new Set<string>(),
  };
  /** How many policies and problems the metrics have. */
  const counted = { violating: 0, stalled: [] as string[] };
  const outcome = policyStatus(
    {
      client: client as unknown as ApiClient,
      namespace: 'taintkeeper',
      nodes: { entries: () => nodes, news: createSubject() },
      daemonSets: { entries: () => [], changes: createSubject<never>() },
      synced: Promise.resolve(),
      nodeRecords: { recordOf: () => undefined, changes: createSubject<string>() },
      policies: { objects: () => objects, snapshot: () => snapshot, statusChanges: createSubject() },
      audit: false,
      reports,
      awaitingEviction: () => 0,
      patchedBy: () => [],
      stuckPods: () => [],
      onEvaluated: undefined,
    },
    {
      violating(findings) {
        counted.violating = findings.length;
      },
      awaitingEviction: () => {},
      stalled(problems) {
        counted.stalled = problems.map(({ kind, policy, reason }) => `${kind} ${policy} ${reason}`);
      },
    },
  )();
  const fault = await outcome.then(
    () => undefined,
    (error: Error) => error.message,
  );
  return { fault, written, counted };
}

/** The condition Stalled of each written status, where it is True. */
function stalledIn(written: ReadonlyMap<string, PolicyStatus>): Record<string, string> {
  return Object.fromEntries(
    [...written].flatMap(([policy, { conditions = [] }]) =>
      conditions
        .filter(({ type, status }) => type === 'Stalled' && status === 'True')
        .map(({ reason, message }) => [policy, `${reason}: ${message}`]),
    ),
  );
}

const MUTATE: TolerationPolicySpec = { mode: 'Mutate', daemonSets: { namespaces: ['*'] } };
const PROTECT: TaintPolicySpec = { mode: 'Restore', taints: [{ key: 'dedicated', restrict: ['Removal'] }] };
const RESTRICTION: TolerationRestrictionSpec = { mode: 'Audit', taints: [{ key: 'dedicated' }] };
const requiring = (value: string, pool = 'gpu'): TaintPolicySpec => ({
  mode: 'Restore',
  nodeSelector: { matchLabels: { pool } },
  taints: [{ key: 'dedicated', value, effect: 'NoSchedule', ensure: 'Always' }],
});
const nodeOf = (labels: Record<string, string>, taints: readonly Taint[] = []) => {
  const entry = nodeEntry('n1', taints);
  return { ...entry, value: { ...entry.value, labels } };
};
const CONTRADICTION =
  'TaintPolicies p and q select node n1 and require dedicated=a:NoSchedule and dedicated=b:NoSchedule: ' +
  'a node that carries neither gets dedicated=a:NoSchedule, because both are in mode Restore, and p comes first by name; ' +
  'a node that carries one of them keeps it';

it.each<{
  what: string;
  cluster: Cluster;
  problems?: readonly ReportedProblem[];
  stalled: Record<string, string>;
  counted: readonly string[];
}>([
  {
    what: 'a problem, on the policy of its kind and name alone',
    cluster: { taint: { p: PROTECT, q: PROTECT }, toleration: { p: MUTATE } },
    problems: [{ kind: 'TaintPolicy', policy: 'p', reason: 'RepairRefused', message: 'refused' }],
    stalled: { 'taintpolicies/p': 'RepairRefused: refused' },
    counted: ['TaintPolicy p RepairRefused'],
  },
  {
    what: 'several problems of one policy together, with the reason of the first',
    cluster: { taint: { p: PROTECT } },
    problems: [
      { kind: 'TaintPolicy', policy: 'p', reason: 'NotPermitted', message: 'one' },
      { kind: 'TaintPolicy', policy: 'p', reason: 'RepairRefused', message: 'other' },
    ],
    stalled: { 'taintpolicies/p': 'NotPermitted: one; other' },
    counted: ['TaintPolicy p NotPermitted', 'TaintPolicy p RepairRefused'],
  },
  {
    what: 'no problem of a TolerationRestriction, which only the metric has',
    cluster: { taint: { p: PROTECT }, restriction: { p: RESTRICTION } },
    problems: [{ kind: 'TolerationRestriction', policy: 'p', reason: 'NotPermitted', message: 'no right' }],
    stalled: {},
    counted: ['TolerationRestriction p NotPermitted'],
  },
  {
    what: 'a label and a taint that look misspelled',
    cluster: {
      taint: { p: { ...PROTECT, nodeSelector: { matchLabels: { poool: 'gpu' } } }, q: PROTECT },
      nodes: [nodeOf({ pool: 'gpu' }, [{ key: 'dedicted', effect: 'NoSchedule' }])],
    },
    stalled: {
      'taintpolicies/p':
        'ProbablyMisspelt: spec.nodeSelector: no node has label poool; did you mean pool?; ' +
        'spec.taints[0].key: no node carries a taint dedicated; did you mean dedicted?',
      'taintpolicies/q':
        'ProbablyMisspelt: spec.taints[0].key: no node carries a taint dedicated; did you mean dedicted?',
    },
    counted: ['p', 'p', 'q'].map((name) => `TaintPolicy ${name} ProbablyMisspelt`),
  },
  {
    what: 'a contradiction, on both policies',
    cluster: {
      taint: { p: requiring('a'), q: requiring('b'), r: requiring('c', 'cpu') },
      nodes: [nodeOf({ pool: 'gpu' })],
    },
    stalled: {
      'taintpolicies/p': `RequiredValuesDiffer: ${CONTRADICTION}`,
      'taintpolicies/q': `RequiredValuesDiffer: ${CONTRADICTION}`,
    },
    counted: ['TaintPolicy p RequiredValuesDiffer', 'TaintPolicy q RequiredValuesDiffer'],
  },
])('the condition Stalled has $what', async ({ cluster, problems = [], stalled, counted }) => {
  const found = await run(cluster, { problems: () => problems });
  const { taint = {}, toleration = {}, restriction = {} } = cluster;
  expect(found.fault).toBeUndefined();
  expect(found.written.size).toBe([taint, toleration, restriction].flatMap(Object.keys).length);
  expect(stalledIn(found.written)).toEqual(stalled);
  expect(found.counted.stalled).toEqual(counted);
});

it('the status of a policy is not written while a controller does not know its conditions', async () => {
  const { written } = await run(
    { taint: { p: PROTECT, q: PROTECT } },
    { conditions: ({ name }) => (name === 'p' ? 'pending' : []) },
  );
  expect([...written.keys()]).toEqual(['taintpolicies/q']);
});

it('a status that the API server refuses keeps back none of the others, and is a failure all the same', async () => {
  const { fault, written, counted } = await run({ toleration: { a: MUTATE, b: MUTATE, c: MUTATE } }, {}, 'a');
  expect(fault).toContain('denied by a webhook');
  expect([...written.keys()]).toEqual(['tolerationpolicies/b', 'tolerationpolicies/c']);
  expect(counted.violating).toBe(3);
});
