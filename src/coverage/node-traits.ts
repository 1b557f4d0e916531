import { ownValue } from '../kubernetes/label-selector.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import type { SchedulingNode, SchedulingView } from '../scheduling/coverage.ts';
import { labelKeysOf } from './node-groups.ts';

/** What the nodes of a group have in common. */
interface NodeTraits {
  /** From the labels `node-role.kubernetes.io/ROLE`. */
  readonly roles: readonly string[];
  readonly taints: readonly Taint[];
  /** Labels by which a DaemonSet selects its nodes. */
  readonly labels: Readonly<Record<string, string>>;
  /** Roles and taints of only some of the nodes, with the number of these nodes. Taints are as kubectl writes them. No DaemonSet depends on them. */
  readonly partly: {
    readonly roles: ReadonlyMap<string, number>;
    readonly taints: ReadonlyMap<string, number>;
  };
}

const ROLE_PREFIX = 'node-role.kubernetes.io/';

/** The traits of the nodes of a group that decide where these DaemonSets run, and the traits of only some of the nodes. */
export function traitsOf(nodes: readonly SchedulingNode[], daemonSets: readonly SchedulingView[]): NodeTraits {
  const [first, ...others] = nodes;
  if (!first) return { roles: [], taints: [], labels: {}, partly: { roles: new Map(), taints: new Map() } };
  const shared = (key: string) => others.every(({ labels }) => ownValue(labels, key) === ownValue(first.labels, key));
  const roles = countEach(nodes, rolesOf);
  const taints = countEach(nodes, (node) => node.taints.map(formatTaint));
  const ofAll = (counts: ReadonlyMap<string, number>, name: string) => counts.get(name) === nodes.length;
  const ofSome = (counts: ReadonlyMap<string, number>) =>
    new Map([...counts].filter(([name]) => !ofAll(counts, name)).sort(([a], [b]) => (a < b ? -1 : 1)));
  const labels = [...labelKeysOf(daemonSets)].flatMap((key): [string, string][] => {
    const value = ownValue(first.labels, key);
    return value !== undefined && !key.startsWith(ROLE_PREFIX) && shared(key) ? [[key, value]] : [];
  });
  return {
    roles: rolesOf(first).filter((role) => ofAll(roles, role)),
    taints: first.taints.filter((taint) => ofAll(taints, formatTaint(taint))),
    labels: Object.fromEntries(labels.sort(([a], [b]) => (a < b ? -1 : 1))),
    partly: { roles: ofSome(roles), taints: ofSome(taints) },
  };
}

/** A trait of some nodes, for example `control-plane (2 of 3)`. */
export function partlyText([name, count]: readonly [string, number], nodes: readonly unknown[]): string {
  return `${name} (${count} of ${nodes.length})`;
}

function rolesOf({ labels }: SchedulingNode): string[] {
  const keys = Object.keys(labels).filter((key) => key.startsWith(ROLE_PREFIX));
  return keys.map((key) => key.slice(ROLE_PREFIX.length)).sort();
}

/** The number of nodes for each of the names. */
function countEach(
  nodes: readonly SchedulingNode[],
  namesOn: (node: SchedulingNode) => readonly string[],
): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const node of nodes) {
    for (const name of new Set(namesOn(node))) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  return counts;
}
