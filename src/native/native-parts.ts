import type { Policy } from '../policy/policy.ts';
import type { NativeManifest } from './manifests.ts';

/** What the objects of a policy are for, by the part of the name after the policy's. */
const PURPOSES = {
  protect: 'refuses updates of nodes that remove a protected taint',
  report: 'reports updates of nodes that remove a protected taint',
  restore: 'restores taints that an update of a node removes',
  disallow: 'deletes the annotation allow-removal from a node that registers',
  register: 'sets required and startup taints when a node registers',
  select: 'sets the required taints when a change of labels makes the policy select a node',
  'report-registration': 'reports a new node that lacks a required or startup taint',
  tolerate: 'adds tolerations to DaemonSets that are created, or whose pod template changes',
  'report-tolerations': 'reports DaemonSets that lack tolerations',
  'authorize-pods': 'asks who may tolerate, when a pod is created',
  'warn-workloads': 'warns users who write a template of pods that may not',
} as const;

/** One of the objects of a policy. */
export type NativePart = keyof typeof PURPOSES;

/** The name of that object of the policy with this name, as for the webhooks: `POLICY.protect.taintkeeper.dev`. */
export function nativeName(policy: string, part: NativePart): string {
  return `${policy}.${part}.taintkeeper.dev`;
}

/** The purpose of a mutation that restores nothing. */
const TIDIES = 'removes the entries of a taint that was removed on purpose from the annotation of the node';

/**
 * The purpose of an object, in words.
 * @param source the policy that it is made from, with the name that {@link nativeName} gives
 */
export function purposeOf(source: Policy, { kind, metadata: { name } }: NativeManifest): string {
  if (kind.endsWith('Binding')) return 'puts the policy above in force';
  const part = name
    .replace(/\.taintkeeper\.dev(\.static\.k8s\.io)?$/, '')
    .split('.')
    .at(-1) as NativePart;
  // Only a policy in mode Restore restores. In other modes, the mutation removes used entries of the annotation.
  if (part === 'restore' && !(source.kind === 'TaintPolicy' && source.spec.mode === 'Restore')) return TIDIES;
  return PURPOSES[part];
}
