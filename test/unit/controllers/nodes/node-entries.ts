import type { ClusterNode } from '../../../../src/cluster/objects/cluster-objects.ts';
import type { Entry } from '../../../../src/cluster/watch/cached-objects.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';

/** A Node as the cache has it: without labels and annotations, at resourceVersion 1. */
export function nodeEntry(name: string, taints: readonly Taint[] = [], uid = `uid-${name}`): Entry<ClusterNode> {
  const value = { uid, name, labels: {}, taints, allowRemoval: undefined, ready: true };
  return { namespace: '', name, uid, resourceVersion: '1', value };
}
