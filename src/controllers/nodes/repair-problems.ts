import { isDeepStrictEqual } from 'node:util';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import type { MissingTaint } from '../../judge/missing-taint.ts';
import type { NodeMemory } from '../../judge/node/node-memory.ts';
import type { Conflict } from '../../judge/node/undone-changes.ts';
import { formatTaint, type Taint, taintIdentity, valuesOf } from '../../kubernetes/taint.ts';
import { taintCommand } from '../../policy/reporting/taint-commands.ts';
import { lastTaintWriter } from '../last-taint-writer.ts';
import type { ReportedProblem } from '../reports.ts';
import { type Concern, problemsOf } from './concerns.ts';
import type { PerNode } from './per-node.ts';
import { trackWriteFaults, type WriteFault } from './write-faults.ts';

/** Why the leader does not repair nodes, for the status of policies. */
export interface RepairProblems {
  /**
   * Sets the present conflicts of a node, and reads which writer removes the taints of new ones.
   * @throws ApiError
   */
  setConflicts(node: string, conflicts: NodeMemory['conflicts']): Promise<void>;
  /**
   * Sets which taints the leader leaves to a user, because they would evict pods of the node.
   * @param carried the taints of the node
   */
  setWouldEvict(node: string, carried: readonly Taint[], missing: readonly MissingTaint[]): void;
  /** The last other writer of the taints of the node when the taint came into conflict, in words. Most likely, that is the one that removes it. */
  otherWriterOf(node: string, taint: Taint): string | undefined;
  /** The API server refused the update that sets these taints, or did not store them. */
  setWriteFault(node: string, set: readonly MissingTaint[], fault: WriteFault): void;
  /**
   * The node was written, or needs nothing.
   * @param inConflict the policies whose taints are left to another writer
   */
  clearWriteFault(node: string, inConflict: readonly string[]): void;
  /** Whether the taints of the node are in conflict, its updates are refused, or it lacks taints that would evict pods. */
  has(node: string): boolean;
  list(): readonly ReportedProblem[];
}

interface KnownConflict extends Conflict {
  readonly otherWriter: string | undefined;
}

export function trackRepairProblems(options: {
  readonly client: ApiClient;
  readonly kept: PerNode;
  readonly onChange: () => void;
}): RepairProblems {
  const { client, kept, onChange } = options;
  /** By the name of the node, and the identity of the taint. */
  const conflicts = kept.map<ReadonlyMap<string, KnownConflict>>();
  const writeFaults = trackWriteFaults(kept, onChange);
  /** By the name of the node: the policies, and the command that sets the taints. */
  const evicting = kept.map<Concern>();

  return {
    async setConflicts(node, found) {
      const known = conflicts.get(node);
      if (isSame(known, found)) return;
      const hasNew = [...found.keys()].some((key) => !known?.has(key));
      const writer = hasNew ? await lastTaintWriter(client, node) : undefined;
      const named = Array.from(found, ([key, conflict]): [string, KnownConflict] => [
        key,
        { ...conflict, otherWriter: known?.has(key) ? known.get(key)?.otherWriter : writer },
      ]);
      if (named.length > 0) conflicts.set(node, new Map(named));
      else conflicts.delete(node);
      onChange();
    },
    setWouldEvict(node, carried, missing) {
      const concern = evictingConcern(node, carried, missing);
      if (isDeepStrictEqual(evicting.get(node), concern)) return;
      if (concern) evicting.set(node, concern);
      else evicting.delete(node);
      onChange();
    },
    otherWriterOf: (node, taint) => conflicts.get(node)?.get(taintIdentity(taint))?.otherWriter,
    setWriteFault(node, set, fault) {
      writeFaults.set(
        node,
        set.map(({ policy }) => policy.name),
        fault,
      );
    },
    clearWriteFault: writeFaults.clear,
    has: (node) => writeFaults.has(node) || conflicts.has(node) || evicting.has(node),
    list: () => [
      ...problemsOf(
        [...conflicts].flatMap(([node, found]) =>
          Array.from(found.values(), (conflict) => ({ policies: conflict.policyNames, text: textOf(node, conflict) })),
        ),
        'TaintConflict',
        (texts) => `left alone for now, because another writer undoes each change: ${texts.join(', ')}`,
      ),
      ...problemsOf(
        writeFaults.concerns((message) => message),
        'RepairRefused',
        (messages) => `missing taints cannot be set: ${messages.join(', ')}`,
      ),
      ...problemsOf(
        [...evicting.values()],
        'WouldEvictPods',
        (commands) =>
          `running nodes lack a NoExecute taint, which is not set there because it would evict pods; to set it: ${commands.join('; ')}`,
      ),
    ],
  };
}

function evictingConcern(
  node: string,
  carried: readonly Taint[],
  missing: readonly MissingTaint[],
): Concern | undefined {
  const found = missing.filter(({ blockedBy }) => blockedBy === 'WouldEvictPods');
  if (found.length === 0) return undefined;
  const valueByTaint = valuesOf(carried);
  const overwrites = found.some(({ taint }) => valueByTaint.has(taintIdentity(taint)));
  const taints = [...new Set(found.map(({ taint }) => formatTaint(taint)))].sort();
  return {
    policies: [...new Set(found.map(({ policy }) => policy.name))].sort(),
    text: taintCommand([node], taints, overwrites),
  };
}

function isSame(known: ReadonlyMap<string, Conflict> | undefined, found: NodeMemory['conflicts']): boolean {
  return (
    (known?.size ?? 0) === found.size &&
    [...found].every(([key, { policyNames }]) => known?.get(key)?.policyNames.length === policyNames.length)
  );
}

function textOf(node: string, { taint, otherWriter }: KnownConflict): string {
  return `taint ${formatTaint(taint)} of node ${node}${otherWriter === undefined ? '' : `, by ${otherWriter}`}`;
}
