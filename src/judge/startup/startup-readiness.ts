import { UNREGISTERED_KEY } from '../../kubernetes/well-known-taints.ts';
import type { ReadyParts } from '../../policy/ready-when.ts';
import type { StoredNode } from '../node-view.ts';
import { allocatableBlockers } from './allocatable.ts';
import { type Blocker, type Found, unmet } from './blocker.ts';
import { conditionBlockers } from './conditions.ts';
import { type CsiNodeView, csiDriverBlockers } from './csi-drivers.ts';
import { type DaemonSetSources, daemonSetPartBlockers } from './daemon-sets.ts';
import type { StartupTaints } from './startup-requirement.ts';

/** What the parts of `readyWhen` depend on besides the Node. Each is read only for a part that needs it. */
export interface StartupSources extends DaemonSetSources {
  /** The CSINode of the name of the Node; undefined if there is none. */
  readonly csiNode: () => Found<CsiNodeView | undefined>;
}

/** `daemonSets` and `allDaemonSets` are one, because both may name the same DaemonSet. */
export type JudgedPart = Exclude<keyof ReadyParts, 'allDaemonSets'>;

/**
 * The reasons for a startup taint on a node: the parts of `readyWhen` that do not hold there, or are not known to. None if all hold. Any leader
 * determines the same from the same objects.
 */
export function startupBlockers(
  parts: ReadyParts,
  node: StoredNode,
  sources: StartupSources,
  startup: StartupTaints,
): Blocker[] {
  if (node.taints.some(({ key }) => key === UNREGISTERED_KEY)) {
    return [unmet('Karpenter: it has not registered the node')];
  }
  const blockers: Readonly<Record<JudgedPart, readonly Blocker[]>> = {
    daemonSets: daemonSetPartBlockers(parts, node, sources, startup),
    conditions: conditionBlockers(parts.conditions, node),
    csiDrivers: parts.csiDrivers.length > 0 ? csiDriverBlockers(parts.csiDrivers, node.uid, sources.csiNode()) : [],
    allocatable: allocatableBlockers(parts.allocatable, node),
  };
  return Object.values(blockers).flat();
}
