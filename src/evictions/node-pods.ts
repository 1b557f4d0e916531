import type { Taint } from '../kubernetes/taint.ts';
import { type Toleration, tolerates } from '../kubernetes/toleration.ts';

/** A pod that is bound to a node, as the rules of this room look at it. */
export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Kind of what controls it; undefined for a pod that nothing makes anew. */
  readonly controller: string | undefined;
  /** Stands for a static pod, which its kubelet runs whatever becomes of this object. */
  readonly isMirror: boolean;
  /** Succeeded or Failed. */
  readonly isFinished: boolean;
  readonly isTerminating: boolean;
  readonly tolerations: readonly Toleration[];
  /** When it was bound, in milliseconds since the epoch; it counts whole seconds, and the rest of that second is cut off. */
  readonly landedAt: number;
  /** Whether the default scheduler chose the node, for certain. Otherwise the pod may have named it, and no taint kept it off. */
  readonly isScheduled: boolean;
}

/** `NAMESPACE/NAME` */
export function podName({ namespace, name }: Pick<NodePod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}

/** How many pods NoExecute taints drive away. */
export interface Evicted {
  readonly atOnce: number;
  /** Once their `tolerationSeconds` are over. */
  readonly later: number;
}

/**
 * What becomes of a node's pods when it gets these NoExecute taints: Kubernetes' own rule (`processPodOnNode` and
 * `getMinTolerationTime` of k8s.io/kubernetes/pkg/controller/tainteviction). The pods of DaemonSets count like all others.
 */
export function evictedBy(taints: readonly Taint[], pods: readonly NodePod[]): Evicted {
  const times = pods
    .filter(({ isFinished, isTerminating }) => !isFinished && !isTerminating)
    .map(({ tolerations }) => toleratedForSeconds(taints, tolerations));
  return {
    atOnce: times.filter((seconds) => seconds <= 0).length,
    later: times.filter((seconds) => seconds > 0 && seconds < Number.POSITIVE_INFINITY).length,
  };
}

/** Of several tolerations of a taint, the first counts. */
function toleratedForSeconds(taints: readonly Taint[], tolerations: readonly Toleration[]): number {
  const times = taints.map((taint) => {
    const found = tolerations.find((toleration) => tolerates(toleration, taint));
    return found ? (found.tolerationSeconds ?? Number.POSITIVE_INFINITY) : 0;
  });
  return Math.min(Number.POSITIVE_INFINITY, ...times);
}
