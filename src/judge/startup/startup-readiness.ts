import { UNREGISTERED_KEY } from '../../kubernetes/well-known-taints.ts';
import {
  daemonSetName,
  mayWaitFor,
  namesDaemonSet,
  needDaemonSets,
  type ReadyDaemonSet,
  type ReadyParts,
} from '../../policy/ready-when.ts';
import type { StoredNode } from '../node-view.ts';
import { daemonSetsOnNode, isUninitialized } from './all-daemon-sets.ts';
import { allocatableBlockers } from './allocatable.ts';
import { type Blocker, type Found, unfound, unmet } from './blocker.ts';
import { conditionBlockers } from './conditions.ts';
import { type CsiNodeView, csiDriverBlockers } from './csi-drivers.ts';
import { awaitedOn, type DaemonPodOnNode, daemonSetBlockers, type KnownDaemonSet } from './daemon-readiness.ts';
import type { StartupTaints } from './startup-requirement.ts';

/** What the parts of `readyWhen` depend on besides the Node. Each is read only for a part that needs it. */
export interface StartupSources {
  readonly daemonSets: () => Found<KnownDaemonSets>;
  /** The pods on the node, at least those of these DaemonSets. */
  readonly pods: (awaited: readonly ReadyDaemonSet[]) => Found<readonly DaemonPodOnNode[]>;
  /** The CSINode of the name of the Node; undefined if there is none. */
  readonly csiNode: () => Found<CsiNodeView | undefined>;
}

/** The DaemonSets of the cluster. */
export interface KnownDaemonSets {
  /** Undefined for one that does not exist. */
  get(one: ReadyDaemonSet): KnownDaemonSet | undefined;
  all(): Iterable<KnownDaemonSet>;
  /** Those of which no version can be read, or only an earlier one. */
  unreadable(): Iterable<ReadyDaemonSet>;
}

/** `daemonSets` and `allDaemonSets` are one, because both may name the same DaemonSet. */
type JudgedPart = Exclude<keyof ReadyParts, 'allDaemonSets'>;

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
    daemonSets: needDaemonSets(parts) ? ofDaemonSets(parts, node, sources, startup) : [],
    conditions: conditionBlockers(parts.conditions, node),
    csiDrivers: parts.csiDrivers.length > 0 ? csiDriverBlockers(parts.csiDrivers, node.uid, sources.csiNode()) : [],
    allocatable: allocatableBlockers(parts.allocatable, node),
  };
  return Object.values(blockers).flat();
}

/** The DaemonSets on the node that are not waited for, with the reason, for example `DaemonSet kube-system/app: it is being deleted`. */
export function leftOutOnNode(
  { allDaemonSets }: ReadyParts,
  node: StoredNode,
  daemonSets: KnownDaemonSets,
  startup: StartupTaints,
): string[] {
  const found = allDaemonSets.flatMap((one) => daemonSetsOnNode(one, node, daemonSets.all(), startup).leftOut);
  return [...new Set(found.map(({ daemonSet, why }) => `DaemonSet ${daemonSetName(daemonSet)}: ${why}`))];
}

function ofDaemonSets(
  parts: ReadyParts,
  node: StoredNode,
  { daemonSets, pods }: StartupSources,
  startup: StartupTaints,
): Blocker[] {
  const { daemonSets: named, allDaemonSets } = parts;
  const known = daemonSets();
  if (typeof known === 'string') return [unfound('DaemonSets', 'DaemonSets', known)];
  const isUnknown = allDaemonSets.length > 0 && isUninitialized(node);
  const running = isUnknown ? [] : runningOn(allDaemonSets, node, known.value, startup);
  // Whether one of allDaemonSets that cannot be read runs on the node is not known.
  const unreadable = [...known.value.unreadable()].filter((one) => mayWaitFor(parts, one));
  const readable = [...named, ...running].filter((one) => !namesDaemonSet(unreadable, one));
  const readableOnce = [...new Map(readable.map((one) => [daemonSetName(one), one])).values()];
  const blockers = [
    ...(isUnknown
      ? [unmet('all DaemonSets: the cloud provider has not initialized the node, so labels are missing')]
      : []),
    ...unreadable.map(unreadableBlocker),
  ];
  const awaited = awaitedOn(readableOnce, node, known.value.get);
  // A DaemonSet that can have no pod on the node costs no watch.
  const withPods = awaited.filter(({ withoutPods }) => withoutPods === undefined);
  const onNode = withPods.length === 0 ? { value: [] } : pods(withPods.map(({ daemonSet }) => daemonSet));
  if (typeof onNode === 'string') return [unfound('DaemonSets', 'pods', onNode)];
  return [...blockers, ...daemonSetBlockers(awaited, node, onNode.value)];
}

function unreadableBlocker(one: ReadyDaemonSet): Blocker {
  return {
    text: `DaemonSet ${daemonSetName(one)}: the leader cannot read it; the log of the leader says why`,
    state: 'Unreadable',
  };
}

function runningOn(
  all: ReadyParts['allDaemonSets'],
  node: StoredNode,
  daemonSets: KnownDaemonSets,
  startup: StartupTaints,
): ReadyDaemonSet[] {
  return all.flatMap((one) => daemonSetsOnNode(one, node, daemonSets.all(), startup).awaited);
}
