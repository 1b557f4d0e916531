import type { ClusterDaemonSet, ClusterNode } from '../../src/cluster/objects/cluster-objects.ts';
import { type PolicyObject, viewPolicy } from '../../src/cluster/policies/policy-object.ts';
import { daemonSetFindings, nodeFindings } from '../../src/judge/policy/findings.ts';
import type { Policy } from '../../src/policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../src/policy/policy-set.ts';
import { nextPolicyStatus } from '../../src/policy/reporting/next-policy-status.ts';

const SINCE = new Date('2026-03-01T08:00:00Z');

const SPECS: readonly { kind: Policy['kind']; name: string; spec: object }[] = [
  {
    kind: 'TaintPolicy',
    name: 'control-plane-taints',
    spec: {
      mode: 'Deny',
      nodeSelector: { matchLabels: { pool: 'control-plane' } },
      taints: [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' }],
    },
  },
  {
    kind: 'TaintPolicy',
    name: 'gpu-pool',
    spec: {
      mode: 'Restore',
      nodeSelector: { matchLabels: { pool: 'gpu' } },
      taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
      exempt: { users: ['system:serviceaccount:kube-system:cluster-autoscaler'] },
    },
  },
  {
    kind: 'TaintPolicy',
    name: 'storage-pool',
    spec: {
      mode: 'Audit',
      nodeSelector: { matchLabels: { pool: 'storage' } },
      taints: [{ key: 'dedicated', value: 'storage', effect: 'NoSchedule', ensure: 'Always' }],
    },
  },
  {
    kind: 'TaintPolicy',
    name: 'edge-sites',
    spec: {
      mode: 'Audit',
      nodeSelector: { matchLabels: { pool: 'edge' } },
      taints: [{ key: 'example.com/edge', effect: 'NoExecute', ensure: 'Always' }],
    },
  },
  {
    kind: 'TaintPolicy',
    name: 'team-taints',
    spec: { mode: 'Restore', taints: [{ key: 'team.example.com/*' }] },
  },
  {
    kind: 'TolerationPolicy',
    name: 'cni-tolerations',
    spec: { mode: 'Mutate', daemonSets: { namespaces: ['kube-flannel', 'cilium'] } },
  },
  {
    kind: 'RecoveryPolicy',
    name: 'daemons-after-reboot',
    spec: { daemonSets: { namespaces: ['kube-system'] } },
  },
];

/** A policy that protects nothing, as somebody wrote it. */
const BROKEN = {
  kind: 'TaintPolicy',
  name: 'idle',
  spec: { mode: 'Deny', taints: [{ key: 'readiness.k8s.io/*' }] },
} as const;

export interface SamplePolicies {
  readonly policies: readonly Policy[];
  readonly compiled: PolicySet;
  /** With the status that a leader would write. */
  readonly objects: readonly PolicyObject[];
}

/** Policies for the sample's nodes and DaemonSets. */
export function samplePolicies(
  nodes: readonly ClusterNode[],
  daemonSets: readonly ClusterDaemonSet[],
  { broken = false, audit = false } = {},
): SamplePolicies {
  const declared = broken ? [...SPECS, BROKEN] : SPECS;
  const found = declared.map(({ kind, name, spec }) =>
    viewPolicy(kind, { metadata: { name, uid: name, generation: 1, resourceVersion: '1' }, spec }),
  );
  const policies = found.flatMap(({ inForce }) => inForce?.policy ?? []);
  const compiled = compilePolicies(policies, { audit });
  const findingsOf = (name: string) => {
    const taints = compiled.taintPolicies.find((policy) => policy.name === name);
    if (taints) return nodeFindings(taints, nodes, []);
    const tolerations = compiled.tolerationPolicies.find((policy) => policy.name === name);
    return tolerations ? daemonSetFindings(tolerations, daemonSets, []) : { matched: 2, violators: [] };
  };
  const objects = found.map(
    (object): PolicyObject => ({
      ...object,
      status: nextPolicyStatus({
        kind: object.kind,
        before: undefined,
        generation: 1,
        problems: object.result.ok ? [] : object.result.problems,
        inForce: object.inForce,
        audit,
        reported: [],
        findings: object.inForce && findingsOf(object.name),
        now: SINCE,
      }),
    }),
  );
  return { policies, compiled, objects };
}
