import type { NodePod } from '../../../src/evictions/node-pods.ts';

/** A pod of a ReplicaSet that the scheduler put on its node. */
export function podOf(name: string, landedAt: number, part: Partial<NodePod> = {}): NodePod {
  return {
    namespace: 'default',
    name,
    uid: `uid-${name}`,
    tolerations: [],
    landedAt,
    isScheduled: true,
    ...part,
  };
}
