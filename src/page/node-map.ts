import type { ClusterNode } from '../cluster/objects/cluster-objects.ts';
import { type BlockedBy, harmOfMissingTaint, type MissingTaint, whyNotSet } from '../judge/missing-taint.ts';
import { type NodeDrift, nodeDrift } from '../judge/node-drift.ts';
import { formatTaint, type Taint, taintIdentity, valuesOf } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isOnTrial } from '../policy/enforcement.ts';
import { selectingPolicies } from '../policy/policy-index.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import { longLoop } from '../runtime/long-loop.ts';
import { collectDistinct } from './distinct.ts';
import { poolName } from './pool-name.ts';
import type { LostCell, NodeCell, NodeColumn, NodeMap, NodeNote, NodeRow, WaitingNode } from './state.ts';

/** Each column has a letter for every node. */
const MAX_COLUMNS = 200;

const MAX_WAITING = 200;

export interface NodeMapInput {
  readonly nodes: Iterable<ClusterNode>;
  /** The strongest mode first. */
  readonly compiled: readonly CompiledTaintPolicy[];
  readonly isInConflict: (node: ClusterNode, taint: Taint) => boolean;
  /** What the startup taints of the node wait for, in words. */
  readonly startupOn: (node: string) => string | undefined;
}

/** The map, and what the problems need of it. */
export interface EvaluatedNodes {
  readonly shown: NodeMap;
  /** In the order of the rows, then of the columns. */
  readonly losses: readonly NodeLoss[];
}

/** A required taint that a node does not carry. */
export interface NodeLoss {
  readonly node: string;
  readonly column: NodeColumn;
  readonly cell: LostCell;
  readonly note: EvaluatedNote;
}

export interface EvaluatedNote extends NodeNote {
  /** Why the taint is not set. Absent if it is about to be. */
  readonly blockedBy?: BlockedBy;
}

/** A column, with its rule. */
interface RuleColumn {
  readonly shown: NodeColumn;
  readonly rule: CompiledTaintRule;
}

/** Nodes × taints of the policies. */
export async function nodeMap({ nodes, compiled, startupOn, isInConflict }: NodeMapInput): Promise<EvaluatedNodes> {
  const all = compiled.flatMap((policy) => policy.protectionRules.map((rule) => columnOf(policy, rule)));
  const columns = all.slice(0, MAX_COLUMNS);
  const rows: NodeRow[] = [];
  // Thousands of nodes that lack the same taint share one note.
  const notes = collectDistinct<EvaluatedNote>();
  const losses: NodeLoss[] = [];
  const pools = collectDistinct<string>();
  const waiting: WaitingNode[] = [];
  let waitingLeftOut = 0;
  let unselected = 0;
  const letOthersRun = longLoop();
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    await letOthersRun();
    const selecting = selectingPolicies(compiled, node.labels);
    if (selecting.length > 0) {
      const drift = nodeDrift(node, compiled, (taint) => isInConflict(node, taint));
      const { cells, lost } = cellsOf(node, columns, selecting, drift);
      const lostCells: [column: number, note: number][] = [];
      for (const { index, column, cell, note } of lost) {
        const known = notes.add(note);
        lostCells.push([index, known.index]);
        losses.push({ node: node.name, column, cell, note: known.item });
      }
      rows.push({
        name: node.name,
        ready: node.ready,
        cells,
        ...(lostCells.length > 0 ? { losses: lostCells } : {}),
        pool: pools.add(poolName(node.labels, selecting)).index,
      });
    } else unselected++;
    const what = startupOn(node.name);
    if (what === undefined) continue;
    if (waiting.length < MAX_WAITING) waiting.push(waitingNode(node, what));
    else waitingLeftOut++;
  }
  const shown = {
    columns: columns.map((column) => column.shown),
    columnsLeftOut: all.length - columns.length,
    rows,
    notes: notes.list.map(({ blockedBy: _, ...note }) => note),
    unselected,
    pools: pools.list,
    waiting,
    waitingLeftOut,
  };
  return { shown, losses };
}

function waitingNode({ name, taintedSince }: ClusterNode, what: string): WaitingNode {
  return { name, what, ...(taintedSince === undefined ? {} : { since: new Date(taintedSince).toISOString() }) };
}

function columnOf({ name, mode }: CompiledTaintPolicy, rule: CompiledTaintRule): RuleColumn {
  const { key, value, effect, field } = rule;
  const taint = `${key}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`;
  return { shown: { policy: name, field, mode, taint }, rule };
}

/** A lost cell of a row, with the index of its column. */
interface Lost extends Omit<NodeLoss, 'node'> {
  readonly index: number;
}

function cellsOf(
  node: ClusterNode,
  columns: readonly RuleColumn[],
  selecting: readonly CompiledTaintPolicy[],
  { missing, keptOff }: NodeDrift,
): { readonly cells: string; readonly lost: readonly Lost[] } {
  const missingByField = new Map(
    missing.toReversed().map((missingTaint) => [`${missingTaint.policy.name} ${missingTaint.field}`, missingTaint]),
  );
  const excused = new Set(keptOff.map(({ policy, field }) => `${policy.name} ${field}`));
  const valueByTaint = valuesOf(node.taints);
  const kept = new Map(
    selecting.map((policy) => [policy.name, new Set(node.taints.map((taint) => policy.protectingRule(taint)?.field))]),
  );
  const lost: Lost[] = [];
  const cells = columns.map(({ shown: column, rule }, index): NodeCell => {
    const fields = kept.get(column.policy);
    if (fields === undefined) return '-';
    const missingTaint = missingByField.get(`${column.policy} ${column.field}`);
    if (missingTaint !== undefined) {
      const carriedValue = valueByTaint.get(taintIdentity(missingTaint.taint));
      const cell = missingTaint.blockedBy === 'Conflict' ? 'c' : carriedValue === undefined ? 'm' : 'd';
      lost.push({ index, column, cell, note: noteOn(missingTaint, carriedValue) });
      return cell;
    }
    if (excused.has(`${column.policy} ${column.field}`)) return 'r';
    if (!fields.has(column.field) && !isPresent(rule, valueByTaint)) return 'a';
    return column.mode === 'Audit' ? 'u' : 'k';
  });
  return { cells: cells.join(''), lost };
}

/** If two rules protect one taint, only the first is reported as its protection. */
function isPresent({ key, effect, ensure }: CompiledTaintRule, valueByTaint: ReadonlyMap<string, string>): boolean {
  return ensure === 'Always' && effect !== undefined && valueByTaint.has(taintIdentity({ key, effect }));
}

function noteOn(missingTaint: MissingTaint, carriedValue: string | undefined): EvaluatedNote {
  const { taint, blockedBy, policy } = missingTaint;
  return {
    why: whyNotSet(blockedBy, { onTrial: isOnTrial(policy) }),
    harm: harmOfMissingTaint(blockedBy, policy.mode),
    taint: formatTaint(taint),
    ...(carriedValue === undefined ? {} : { carries: formatTaint({ ...taint, value: carriedValue }) }),
    ...(blockedBy === undefined ? {} : { blockedBy }),
  };
}
