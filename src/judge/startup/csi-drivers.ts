import type { ReadyCsiDriver } from '../../policy/ready-when.ts';
import { type Blocker, type Found, unfound, unmet } from './blocker.ts';

/** What `readyWhen.csiDrivers` depends on: the CSINode, which the kubelet writes under the name of its Node. */
export interface CsiNodeView {
  /** The uid of the Node that owns it. */
  readonly owner: string | undefined;
  /** The names of the drivers that have registered with the kubelet. */
  readonly drivers: readonly string[];
}

/** A kubelet creates its CSINode when it starts, and not again when the object is deleted (kubernetes/kubernetes#120063). */
const RESTART = 'if that stays so, restart the kubelet of the node';

/**
 * The drivers of `readyWhen.csiDrivers` that have not registered on the node. A CSINode of an earlier Node of the same name does not count.
 * @param uid of the Node
 * @param csiNode undefined if the node has none
 */
export function csiDriverBlockers(
  awaited: readonly ReadyCsiDriver[],
  uid: string | undefined,
  csiNode: Found<CsiNodeView | undefined>,
): Blocker[] {
  const name = `CSI driver ${awaited.map((one) => one.name).join(', ')}`;
  if (typeof csiNode === 'string') return [unfound(name, 'CSINodes', csiNode)];
  const { value } = csiNode;
  if (value === undefined) return [unmet(`${name}: the node has no CSINode; ${RESTART}`)];
  if (uid === undefined || value.owner !== uid) {
    return [unmet(`${name}: the CSINode belongs to another Node of this name; ${RESTART}`)];
  }
  return awaited
    .filter((one) => !value.drivers.includes(one.name))
    .map((one) => unmet(`CSI driver ${one.name}: it has not registered on the node`));
}

/** The same where all of them have registered. */
export function csiDriverText(awaited: readonly ReadyCsiDriver[]): string[] {
  return awaited.map(({ name }) => `CSI driver ${name} has registered`);
}
