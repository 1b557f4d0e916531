import type { Toleration } from '../kubernetes/toleration.ts';

/** The fields of a pod that a missing taint would have kept from its node, for the rules of this folder. */
export interface NodePod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly tolerations: readonly Toleration[];
  /** When it was bound, in milliseconds since the epoch, rounded down to a second. */
  readonly landedAt: number;
  /** Whether the default scheduler certainly chose the node. Otherwise the pod may have named it, and no taint kept it off. */
  readonly isScheduled: boolean;
}

/** `NAMESPACE/NAME` */
export function podName({ namespace, name }: Pick<NodePod, 'namespace' | 'name'>): string {
  return `${namespace}/${name}`;
}
