import type { Toleration } from '../kubernetes/toleration.ts';

/** The fields of a pod that is bound to a node, for the rules of this folder. */
export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** The mirror of a static pod, which its kubelet runs whatever happens to this object. */
  readonly isMirror: boolean;
  /** Succeeded or Failed. */
  readonly isFinished: boolean;
  readonly isTerminating: boolean;
  /** Undefined for more tolerations than are kept: the pod may tolerate any taint. */
  readonly tolerations: readonly Toleration[] | undefined;
  /** When it was bound, in milliseconds since the epoch, rounded down to a second. */
  readonly landedAt: number;
  /** Whether the default scheduler certainly chose the node. Otherwise the pod may have named it, and no taint kept it off. */
  readonly isScheduled: boolean;
}

/** `NAMESPACE/NAME` */
export function podName({ namespace, name }: Pick<NodePod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
