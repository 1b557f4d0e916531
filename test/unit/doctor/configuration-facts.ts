import { type PolicyObject, viewPolicy } from '../../../src/cluster/policies.ts';
import type {
  ConfigurationFacts,
  DoctorNode,
  Installation,
  RegisteredWebhook,
} from '../../../src/doctor/configuration-facts.ts';
import type { Reading } from '../../../src/doctor/reading.ts';
import type { DaemonSetView } from '../../../src/judge/daemon-set.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { type PolicyKind, parsePolicy } from '../../../src/policy/policy.ts';
import type { PolicyStatus } from '../../../src/policy/policy-status.ts';

export const INSTALLATION: Installation = {
  namespace: 'taintkeeper',
  service: 'taintkeeper',
  account: 'taintkeeper',
  lease: 'taintkeeper',
  secret: 'taintkeeper-certs',
  defaultPolicies: 'taintkeeper-default-policies',
  audit: false,
  ownerClusterRole: 'taintkeeper',
  helmRelease: undefined,
};

export function seen<T>(value: T): Reading<T> {
  return { ok: true, value };
}

export function unseen(why: string, status?: number): Reading<never> {
  return { ok: false, why, status };
}

/** An installation with which all is well: one node, one policy for it, a leader. */
export function healthyFacts(differences: Partial<ConfigurationFacts> = {}): ConfigurationFacts {
  return {
    installation: INSTALLATION,
    policies: seen([taintPolicy('gpu', {})]),
    builtin: [],
    nodes: seen([node('n1')]),
    daemonSets: seen([]),
    webhooks: seen([]),
    rights: seen({ user: 'system:serviceaccount:taintkeeper:taintkeeper', asked: 50, lacking: [], notPermitted: [] }),
    lease: seen({
      holder: 'taintkeeper-0',
      renewed: true,
      renewTime: '2026-11-21T00:00:00.000000Z',
      watchedSeconds: 2,
    }),
    version: seen('v1.36.3'),
    metrics: seen(''),
    ...differences,
  };
}

export const READY: PolicyStatus = {
  observedGeneration: 1,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'InForce',
      message: 'the policy is in force',
      observedGeneration: 1,
      lastTransitionTime: '2026-11-21T00:00:00Z',
    },
  ],
};

export function policyObject(
  kind: PolicyKind,
  name: string,
  spec: unknown,
  { status = READY, generation = 1 }: { status?: PolicyStatus | undefined; generation?: number } = {},
): PolicyObject {
  const metadata = { name, uid: name, generation, resourceVersion: '1' };
  return viewPolicy(kind, { metadata, spec, status });
}

const TAINT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Present' };

export function taintPolicy(name: string, spec: object, more?: Parameters<typeof policyObject>[3]): PolicyObject {
  return policyObject('TaintPolicy', name, { mode: 'Restore', taints: [TAINT], ...spec }, more);
}

export function tolerationPolicy(name: string, daemonSets: object): PolicyObject {
  return policyObject('TolerationPolicy', name, { mode: 'Mutate', daemonSets });
}

export function valid(object: PolicyObject) {
  if (!object.result.ok) throw new Error(JSON.stringify(object.result.problems));
  return object.result.policy;
}

export function node(name: string, labels: Record<string, string> = {}, taints: readonly Taint[] = []): DoctorNode {
  return { name, labels, taints, release: undefined, remembered: undefined, kubeletVersion: 'v1.36.3' };
}

export function daemonSet(name: string, more: Partial<DaemonSetView> = {}): DaemonSetView {
  const [namespace = '', own = ''] = name.split('/');
  return {
    namespace,
    name: own,
    labels: {},
    annotations: {},
    tolerations: [],
    hostNetwork: false,
    deleting: false,
    ...more,
  };
}

export function webhook(more: Partial<RegisteredWebhook> = {}): RegisteredWebhook {
  return {
    name: 'check.example.com',
    clientConfig: { service: { namespace: 'example', name: 'checker' } },
    rules: [
      { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE', 'UPDATE'], scope: '*' },
    ],
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    objectSelector: {},
    ...more,
  };
}

/** Reads a manifest's policy. */
export function parsed(manifest: unknown) {
  const result = parsePolicy(manifest);
  if (!result.ok) throw new Error(JSON.stringify(result.problems));
  return result.policy;
}
