import {
  daemonSetName,
  mayWaitFor,
  namesDaemonSet,
  needDaemonSets,
  type ReadyDaemonSet,
  type ReadyParts,
} from '../../policy/ready-when.ts';
import type { StoredNode } from '../node-view.ts';
import { daemonSetsOnNode, initializersOf } from './all-daemon-sets.ts';
import { type Blocker, type Found, unfound, unmet } from './blocker.ts';
import { awaitedOn, type DaemonPodOnNode, daemonSetBlockers, type KnownDaemonSet } from './daemon-readiness.ts';
import type { StartupTaints } from './startup-requirement.ts';

/** What `readyWhen.daemonSets` and `readyWhen.allDaemonSets` depend on besides the Node. */
export interface DaemonSetSources {
  readonly daemonSets: () => Found<KnownDaemonSets>;
  /** The pods on the node, at least those of these DaemonSets. */
  readonly pods: (awaited: readonly ReadyDaemonSet[]) => Found<readonly DaemonPodOnNode[]>;
}

/** The DaemonSets of the cluster. */
export interface KnownDaemonSets {
  /** Undefined for one that does not exist. */
  get(one: ReadyDaemonSet): KnownDaemonSet | undefined;
  all(): Iterable<KnownDaemonSet>;
  /** Those of which no version can be read, or only an earlier one. */
  unreadable(): Iterable<ReadyDaemonSet>;
}

/** The DaemonSets of both parts that are not ready on the node. */
export function daemonSetPartBlockers(
  parts: ReadyParts,
  node: StoredNode,
  { daemonSets, pods }: DaemonSetSources,
  startup: StartupTaints,
): Blocker[] {
  if (!needDaemonSets(parts)) return [];
  const { daemonSets: named, allDaemonSets } = parts;
  const known = daemonSets();
  if (typeof known === 'string') return [unfound('DaemonSets', 'DaemonSets', known)];
  const initializers = allDaemonSets.length > 0 ? initializersOf(node) : [];
  const running = initializers.length > 0 ? [] : runningOn(allDaemonSets, node, known.value, startup);
  // Whether one of allDaemonSets that cannot be read runs on the node is not known.
  const unreadable = [...known.value.unreadable()].filter((one) => mayWaitFor(parts, one));
  const readable = [...named, ...running].filter((one) => !namesDaemonSet(unreadable, one));
  const readableOnce = [...new Map(readable.map((one) => [daemonSetName(one), one])).values()];
  const blockers = [
    ...initializers.map((who) => unmet(`all DaemonSets: ${who} has not initialized the node, so labels are missing`)),
    ...unreadable.map(unreadableBlocker),
  ];
  const awaited = awaitedOn(readableOnce, node, known.value.get);
  // A DaemonSet that can have no pod on the node costs no watch.
  const { withPods = [], withoutPods = [] } = Object.groupBy(awaited, (one) =>
    one.withoutPods === undefined ? 'withPods' : 'withoutPods',
  );
  const onNode = withPods.length === 0 ? { value: [] } : pods(withPods.map(({ daemonSet }) => daemonSet));
  if (typeof onNode === 'string') {
    return [...blockers, unfound('DaemonSets', 'pods', onNode), ...daemonSetBlockers(withoutPods, node, [])];
  }
  return [...blockers, ...daemonSetBlockers(awaited, node, onNode.value)];
}

/** The same where all of them are ready. */
export function daemonSetText({
  daemonSets,
  allDaemonSets,
}: Pick<ReadyParts, 'daemonSets' | 'allDaemonSets'>): string[] {
  const names = daemonSets.map(daemonSetName);
  const are = names.length === 1 ? `DaemonSet ${names[0]} is` : `DaemonSets ${names.join(', ')} are`;
  return [
    ...(names.length === 0 ? [] : [`${are} ready`]),
    ...(allDaemonSets.length === 0 ? [] : ['all DaemonSets that run on the node are ready']),
  ];
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
