import { isOnlyLoadable } from '../../../scheduling/only-loadable.ts';
import { sharedNode } from '../../../scheduling/replica-spread.ts';
import { atMost } from '../../../text/counts.ts';
import { type Finding, finding } from '../../check.ts';
import type { Facts } from '../../facts/facts.ts';

const MAX_NAMED = 5;

/** A note if all replicas are on one node although another one could run one. Undefined if not, or without the right to list nodes. */
export function allOnOneNode(
  evidence: string,
  { pods, nodes, installation }: Pick<Facts, 'pods' | 'nodes' | 'installation'>,
): Finding | undefined {
  const shared = pods.ok && nodes.ok && pods.value.length > 1 ? sharedNode(pods.value, nodes.value) : undefined;
  if (!shared) return undefined;
  const others = atMost(MAX_NAMED, shared.others).join(', ');
  const told = `${evidence}, all on node ${shared.node}, whose failure would stop them; one could run on ${others}`;
  const command = `kubectl delete pod --namespace ${installation.namespace} ${shared.replica.name}`;
  const { image } = shared.replica;
  const loaded = new Set(
    nodes.ok ? nodes.value.filter(({ loadedImages }) => loadedImages?.includes(image)).map(({ name }) => name) : [],
  );
  // A node does not report all its images, so it may have the image without reporting it.
  const unsure = isOnlyLoadable(image) ? shared.others.filter((name) => !loaded.has(name)) : [];
  const loading =
    unsure.length === 0
      ? ''
      : `no registry has the image: if ${atMost(MAX_NAMED, unsure).join(' or ')} lacks it, first load it there; `;
  return finding('note', told, `${loading}${command}`);
}
