import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { TaintPolicy } from './policy.ts';
import { requiredTaintRule } from './required-taint-rule.ts';

/** A label that the kubelet sends in the request that creates its Node (initialNode of k8s.io/kubernetes/pkg/kubelet). */
const HOSTNAME = 'kubernetes.io/hostname';

/** The parts of a Node that its policy follows from. */
interface TaintedNode {
  readonly name: string;
  readonly labels: StringMap;
  readonly taints: readonly Taint[];
}

/** The policy that requires the present taints of one node. */
export interface PolicyFromNode {
  /** Undefined if no taint is left for it, or no label selects only this node. */
  readonly policy: TaintPolicy | undefined;
  /** Taints that Kubernetes or an agent sets and removes: a policy would restore them. */
  readonly leftOut: readonly Taint[];
  readonly hasHostname: boolean;
}

/**
 * A policy that requires the taints that the node carries. If the Node is deleted, it gets them when it registers again.
 */
export function policyFromNode({ name, labels, taints }: TaintedNode): PolicyFromNode {
  const hostname = ownValue(labels, HOSTNAME);
  const leftOut = taints.filter(({ key }) => isTransientTaintKey(key));
  const lasting = taints.filter(({ key }) => !isTransientTaintKey(key));
  const rules = lasting.toSorted((a, b) => (formatTaint(a) < formatTaint(b) ? -1 : 1)).map(requiredTaintRule);
  const policy: TaintPolicy | undefined =
    hostname && rules.length > 0
      ? {
          kind: 'TaintPolicy',
          name: `node-${name}`,
          spec: { mode: 'Restore', nodeSelector: { matchLabels: { [HOSTNAME]: hostname } }, taints: rules },
        }
      : undefined;
  return { policy, leftOut, hasHostname: Boolean(hostname) };
}
