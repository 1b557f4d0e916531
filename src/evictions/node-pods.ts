import type { Toleration } from '../kubernetes/toleration.ts';

/** A pod that is bound to a node, as the rules of this room look at it. */
export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
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
