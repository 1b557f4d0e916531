import { ownValue, type StringMap } from '../kubernetes/label-selector.ts';
import { equalTaints, formatTaint, sameTaint, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { CompiledTaintPolicy } from './compiled-taint-policy.ts';
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

/** A taint that the node need not keep. */
interface StartupTaint {
  readonly taint: Taint;
  /** The name of a policy that sets it. */
  readonly policy: string;
}

/** The policy that requires the present taints of one node. */
export interface PolicyFromNode {
  /** Undefined if no taint is left for it, or no label selects only this node. */
  readonly policy: TaintPolicy | undefined;
  /** Taints that Kubernetes or an agent sets and removes: a policy would restore them. */
  readonly leftOut: readonly Taint[];
  /** Other taints that a policy has as startup taints of this node: if a policy also required them, they would stay. */
  readonly startup: readonly StartupTaint[];
  readonly hasHostname: boolean;
}

/**
 * A policy that requires the taints that the node carries. If the Node is deleted, it gets them when it registers again.
 * @param known the known policies: their startup taints are not required
 */
export function policyFromNode(
  { name, labels, taints }: TaintedNode,
  known: readonly CompiledTaintPolicy[] = [],
): PolicyFromNode {
  const hostname = ownValue(labels, HOSTNAME);
  const leftOut = taints.filter(({ key }) => isTransientTaintKey(key));
  const others = taints.filter(({ key }) => !isTransientTaintKey(key));
  const selecting = known.filter((policy) => policy.selectsNode(labels));
  const startup = others.flatMap((taint): StartupTaint[] => {
    const policy = selecting.find((one) => hasAsStartup(one, taint));
    return policy ? [{ taint, policy: policy.name }] : [];
  });
  const lasting = others.filter((taint) => !startup.some((one) => one.taint === taint));
  const rules = lasting.toSorted((a, b) => (formatTaint(a) < formatTaint(b) ? -1 : 1)).map(requiredTaintRule);
  const policy: TaintPolicy | undefined =
    hostname && rules.length > 0
      ? {
          kind: 'TaintPolicy',
          name: `node-${name}`,
          spec: { mode: 'Restore', nodeSelector: { matchLabels: { [HOSTNAME]: hostname } }, taints: rules },
        }
      : undefined;
  return { policy, leftOut, startup, hasHostname: Boolean(hostname) };
}

function hasAsStartup({ startup }: CompiledTaintPolicy, taint: Taint): boolean {
  return startup.some((one) => (one.anyValue ? sameTaint : equalTaints)(one.taint, taint));
}
