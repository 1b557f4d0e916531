import { describe, expect, it } from 'vitest';
import {
  type CompiledRecoveryPolicy,
  RECOVERY_TIMINGS,
  type RecoveryPolicySpec,
} from '../../../src/policy/recovery-policy.ts';
import {
  isRecoverable,
  judgeFailedPod,
  type RecoveryAttempt,
  type RecoveryCase,
  type RecoveryDecision,
  type RecoveryScene,
} from '../../../src/recovery/recovery.ts';
import { policySet } from '../policy/policies.ts';

const SCENE: RecoveryScene = {
  pod: { ownerUid: 'ds-1', deleting: false },
  daemonSet: {
    uid: 'ds-1',
    value: {
      namespace: 'kube-system',
      name: 'cni',
      labels: {},
      annotations: {},
      tolerations: [],
      hostNetwork: false,
      deleting: false,
    },
  },
  node: { ready: true, taints: [] },
};
const withDaemonSet = (part: object) => ({ daemonSet: { uid: 'ds-1', value: { ...SCENE.daemonSet?.value, ...part } } });
const tainted = (key: string) => ({ node: { ready: true, taints: [{ key, effect: 'NoSchedule' }] } });

describe('a pod that is Failed is recoverable', () => {
  it.each<{ what: string; scene: object; recoverable: boolean }>([
    { what: 'on a node that is ready', scene: {}, recoverable: true },
    {
      what: 'but not while it is being deleted',
      scene: { pod: { ownerUid: 'ds-1', deleting: true } },
      recoverable: false,
    },
    { what: 'but not without its DaemonSet', scene: { daemonSet: undefined }, recoverable: false },
    {
      what: 'but not of a DaemonSet that was created anew under its name',
      scene: { daemonSet: { ...SCENE.daemonSet, uid: 'ds-2' } },
      recoverable: false,
    },
    { what: 'but not of one that is being deleted', scene: withDaemonSet({ deleting: true }), recoverable: false },
    {
      what: 'but not of one that opted out',
      scene: withDaemonSet({ annotations: { 'taintkeeper.dev/ignore': 'true' } }),
      recoverable: false,
    },
    {
      what: 'of one that says that it did not opt out',
      scene: withDaemonSet({ annotations: { 'taintkeeper.dev/ignore': 'false' } }),
      recoverable: true,
    },
    { what: 'but not without its node', scene: { node: undefined }, recoverable: false },
    { what: 'but not on a node that is not ready', scene: { node: { ready: false, taints: [] } }, recoverable: false },
    { what: 'on a node with a taint of its own', scene: tainted('dedicated'), recoverable: true },
    { what: 'on a node that is cordoned', scene: tainted('node.kubernetes.io/unschedulable'), recoverable: true },
    ...[
      'node.kubernetes.io/out-of-service',
      'node.cloudprovider.kubernetes.io/shutdown',
      'ToBeDeletedByClusterAutoscaler',
      'karpenter.sh/disrupted',
      'aws-node-termination-handler/spot-itn',
      'medik8s.io/remediation',
      // The kubelet would evict or reject the next pod as well.
      'node.kubernetes.io/disk-pressure',
      'node.kubernetes.io/memory-pressure',
      'node.kubernetes.io/pid-pressure',
    ].map((key) => ({ what: `but not on a node with ${key}`, scene: tainted(key), recoverable: false })),
  ])('$what', ({ scene, recoverable }) => {
    expect(isRecoverable({ ...SCENE, ...scene } as RecoveryScene)).toBe(recoverable);
  });
});

function compiled(spec: Partial<RecoveryPolicySpec>, options?: { audit?: boolean }): CompiledRecoveryPolicy {
  const daemonSets = { namespaces: ['kube-system'] };
  const [policy] = policySet({ recovery: { test: { daemonSets, ...spec } } }, options).recoveryPolicies;
  if (!policy) throw new Error('there is no policy');
  return policy;
}

/** Ten seconds; three times in ten minutes. */
const DELETE = compiled({});
const AUDIT = compiled({ mode: 'Audit' });
const NOW = 10_000_000;
/** So many seconds ago. */
const ago = (seconds: number) => NOW - seconds * 1_000;
const freed = (seconds: number, failedAgain = false): RecoveryAttempt => ({ at: ago(seconds), failedAgain });

describe('a pod that is recoverable', () => {
  it.each<{ what: string; policy?: CompiledRecoveryPolicy; pod: Partial<RecoveryCase>; decision: RecoveryDecision }>([
    { what: 'waits until it is stuck', pod: { since: ago(4) }, decision: { action: 'wait', forMs: 6_000 } },
    { what: 'is freed then', pod: { since: ago(10) }, decision: { action: 'free' } },
    {
      what: 'is not freed for having been Failed on a node that was not ready',
      pod: { failedAt: ago(3_600), since: ago(1) },
      decision: { action: 'wait', forMs: 9_000 },
    },
    {
      what: 'waits twice as long the second time',
      pod: { since: ago(10), attempts: [freed(300)] },
      decision: { action: 'wait', forMs: 10_000 },
    },
    {
      what: 'waits four times as long the third time',
      pod: { since: ago(30), attempts: [freed(300), freed(200)] },
      decision: { action: 'wait', forMs: 10_000 },
    },
    {
      what: 'is freed the third time',
      pod: { since: ago(40), attempts: [freed(300), freed(200)] },
      decision: { action: 'free' },
    },
    {
      what: 'is left alone the fourth time, until the first one is out of the window',
      pod: { since: ago(60), attempts: [freed(300), freed(200), freed(100)] },
      decision: { action: 'leave', because: 'RecoveryBudgetSpent', forMs: 300_000 },
    },
    {
      what: 'is freed again once it is',
      pod: { since: ago(60), attempts: [freed(600), freed(200), freed(100)] },
      decision: { action: 'free' },
    },
    {
      what: 'is left alone at once, for the rest of the window, if it failed right after the one before was freed',
      pod: { since: ago(1), failedAt: ago(1), attempts: [freed(8)] },
      decision: { action: 'leave', because: 'PodFailsAgain', forMs: 592_000 },
    },
    {
      what: 'is no such pod if the kubelet evicted it because the node ran out of something',
      pod: { since: ago(10), failedAt: ago(10), evicted: true, attempts: [freed(18)] },
      decision: { action: 'wait', forMs: 10_000 },
    },
    {
      what: 'is no such pod if it failed later than that',
      pod: { since: ago(1), failedAt: ago(1), attempts: [freed(11)] },
      decision: { action: 'wait', forMs: 9_000 },
    },
    {
      what: 'is no such pod if it was Failed before',
      pod: { since: ago(12), failedAt: ago(12), attempts: [freed(8)] },
      decision: { action: 'wait', forMs: 8_000 },
    },
    {
      what: 'is left alone as well if it comes after such a pod',
      pod: { since: ago(50), failedAt: ago(50), attempts: [freed(400), freed(200, true)] },
      decision: { action: 'leave', because: 'PodFailsAgain', forMs: 400_000 },
    },
    {
      what: 'is freed when all of that is out of the window',
      pod: { since: ago(50), failedAt: ago(50), attempts: [freed(600, true)] },
      decision: { action: 'free' },
    },
    {
      what: 'is not reported before it is stuck',
      policy: AUDIT,
      pod: { since: ago(9) },
      decision: { action: 'wait', forMs: 1_000 },
    },
    {
      what: 'is reported then, in mode Audit, whatever was done before',
      policy: AUDIT,
      pod: { since: ago(10), attempts: [freed(11, true)] },
      decision: { action: 'leave', because: 'Audit' },
    },
    {
      what: 'is reported only, where all policies are taken to be in mode Audit',
      policy: compiled({ mode: 'Recover' }, { audit: true }),
      pod: { since: ago(10) },
      decision: { action: 'leave', because: 'Audit' },
    },
  ])('$what', ({ policy = DELETE, pod, decision }) => {
    const whole = { failedAt: pod.since ?? NOW, since: NOW, evicted: false, attempts: [], ...pod };
    expect(judgeFailedPod(policy, RECOVERY_TIMINGS, whole, NOW)).toEqual(decision);
  });
});
