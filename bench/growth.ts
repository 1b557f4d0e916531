import { nodeDrift } from '../src/judge/node-drift.ts';
import type { NodeView } from '../src/judge/node-view.ts';
import { judgeDaemonSet } from '../src/judge/request/daemon-set.ts';
import type { Policy } from '../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../src/policy/policy-set.ts';
import { judgeNode } from '../test/unit/judge/request/judge-node.ts';
import { printHead, printRow } from './markdown-table.ts';
import { median } from './statistics.ts';

/**
 * How the cost of judging one object grows with the number of policies and of taints. Every policy selects every object, and
 * has a key of a whole domain: what a policy does not select costs less. CPU time of this process; prints a Markdown table.
 */
const ROUNDS = 7;
const MIN_MICROSECONDS = 20_000;
const POLICIES = [1, 20, 200];
const TAINTS = [1, 64, 1_000];
/** As many as fit into an object that etcd takes. */
const MOST_TAINTS = 40_000;

const times = <Item>(count: number, make: (index: number) => Item) => Array.from({ length: count }, (_, i) => make(i));

const requester = { username: 'dev@example.com', groups: ['developers', 'system:authenticated'] };

function policySet(count: number): PolicySet {
  return compilePolicies(
    times(count, (n): Policy[] => [
      {
        kind: 'TaintPolicy',
        name: `taints-${n}`,
        spec: {
          mode: 'Deny',
          taints: [{ key: `example.com/team-${n}` }, { key: `team-${n}.example.com/*` }],
        },
      },
      {
        kind: 'TolerationPolicy',
        name: `tolerations-${n}`,
        spec: {
          mode: 'Mutate',
          daemonSets: { namespaces: ['kube-*'] },
          tolerations: [{ key: `example.com/team-${n}` }],
        },
      },
    ]).flat(),
  );
}

function node(taints: number): NodeView {
  return {
    name: 'worker-1',
    labels: { pool: 'workers' },
    taints: times(taints, (n) => ({ key: `example.com/taint-${n}`, effect: 'NoSchedule' })),
    allowRemoval: undefined,
  };
}

function updateOf(taints: number, policies: PolicySet): () => unknown {
  const oldNode = node(taints + 1);
  const after = { ...oldNode, taints: oldNode.taints.slice(0, -1) };
  return () => judgeNode({ phase: 'validate', requester, node: after, oldNode }, policies);
}

function creationOf(policies: PolicySet): () => unknown {
  const tolerations = times(policies.tolerationPolicies.length, (n) => ({ key: `example.com/team-${n}` }));
  const daemonSet = {
    ...{ namespace: 'kube-system', name: 'agent' },
    labels: {},
    annotations: {},
    hostNetwork: false,
    deleting: false,
  };
  return () => judgeDaemonSet.mutate({ daemonSet: { ...daemonSet, tolerations } }, policies);
}

const sets = new Map(POLICIES.map((count) => [count, policySet(count)]));
const cases = [...sets].flatMap(([policies, set]) => [
  ...TAINTS.map((taints) => ({ what: 'update that removes a taint', policies, taints, look: updateOf(taints, set) })),
  ...[...TAINTS, MOST_TAINTS].map((taints) => {
    const view = node(taints);
    return { what: 'drift of a node', policies, taints, look: () => nodeDrift(view, set.taintPolicies) };
  }),
  { what: 'DaemonSet that tolerates all', policies, taints: policies, look: creationOf(set) },
]);

const measured = cases.map((): number[] => []);
for (let round = 0; round < ROUNDS; round++) {
  for (const [index, { look }] of cases.entries()) measured[index]?.push(microseconds(look));
}

printHead('one look', 'policies', 'taints or tolerations', 'CPU µs');
for (const [index, { what, policies, taints }] of cases.entries()) {
  const spent = median(measured[index] ?? []);
  printRow(what, String(policies), String(taints), spent < 100 ? spent.toFixed(1) : spent.toFixed(0));
}

function microseconds(look: () => unknown): number {
  const before = process.cpuUsage();
  for (let looks = 1; ; looks++) {
    look();
    const { user, system } = process.cpuUsage(before);
    if (user + system > MIN_MICROSECONDS) return (user + system) / looks;
  }
}
