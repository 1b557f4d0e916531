import { asLiveNode, type LiveNode } from '../../../src/talos/live-node.ts';

/** A node as the API server gives it, and what is kept of it. */
export function live(
  name: string,
  labels: Record<string, string> = {},
  {
    taints = [],
    owned = {},
  }: { taints?: { key: string; value?: string; effect: string }[]; owned?: { taints?: string; labels?: string } } = {},
): LiveNode {
  const annotations = {
    ...(owned.taints === undefined ? {} : { 'talos.dev/owned-taints': owned.taints }),
    ...(owned.labels === undefined ? {} : { 'talos.dev/owned-labels': owned.labels }),
  };
  return asLiveNode({ metadata: { name, labels, annotations }, spec: { taints } }, []);
}
