import { formatTaint, repels, type Taint } from '../kubernetes/taint.ts';
import { mayTolerate, type Toleration } from '../kubernetes/toleration.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';

/** The fields of a pod that say whether a node's taints would keep it away. */
export interface NodePod {
  /** `NAMESPACE/NAME`. */
  readonly name: string;
  readonly tolerations: readonly Toleration[];
}

/** A pod that runs on a node, and would not be scheduled there now. */
export interface IntolerantPod {
  /** `NAMESPACE/NAME`. */
  readonly pod: string;
  /** The taints that it does not tolerate; never empty. */
  readonly taints: readonly Taint[];
}

/**
 * The pods of a node that do not tolerate its taints: they were scheduled while a taint was missing, or before it was set. A NoSchedule taint evicts
 * none of them. Transient taints do not count, because nearly no pod tolerates those of a cordoned or starting node. A toleration with an unknown
 * operator counts as tolerating every value.
 *
 * @param except other taints that do not count
 */
export function intolerantPods(
  pods: readonly NodePod[],
  taints: readonly Taint[],
  except: readonly Taint[] = [],
): IntolerantPod[] {
  const excepted = new Set(except.map(formatTaint));
  const counted = taints.filter(
    (taint) => repels(taint) && !isTransientTaintKey(taint.key) && !excepted.has(formatTaint(taint)),
  );
  return pods.flatMap(({ name, tolerations }) => {
    const untolerated = counted.filter((taint) => !tolerations.some((toleration) => mayTolerate(toleration, taint)));
    return untolerated.length === 0 ? [] : [{ pod: name, taints: untolerated }];
  });
}
