import { setImmediate } from 'node:timers/promises';
import type { ClusterNode } from '../controllers/sources.ts';
import { settledOn } from '../judge/memory.ts';
import { type Hindrance, type Loss, nodeDrift } from '../judge/node-drift.ts';
import { formatTaint, identity, type Taint, valuesOf } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import type { CompiledTaintRule } from '../policy/taint-rule.ts';
import type { NodeCell, NodeColumn, NodeMap, NodeRow } from './state.ts';

/** More are for nobody to look at, and each is a letter for every node. */
const MAX_COLUMNS = 200;

/** Nodes that are looked at before requests get a turn. */
const SLICE = 20;

export interface NodeMapInput {
  readonly nodes: Iterable<ClusterNode>;
  /** The strongest mode first. */
  readonly compiled: readonly CompiledTaintPolicy[];
  readonly isContested: (node: ClusterNode, taint: Taint) => boolean;
  /** The pods that landed on the node while a taint was missing, in words. */
  readonly intrudersOn: (node: ClusterNode) => string | undefined;
}

/** A column, with what it takes to fill it. */
interface Column extends NodeColumn {
  readonly rule: CompiledTaintRule;
}

/** The nodes × the taints that policies keep on them. */
export async function nodeMap({ nodes, compiled, isContested, intrudersOn }: NodeMapInput): Promise<NodeMap> {
  const all = compiled.flatMap((policy) => policy.rules.map((rule) => columnOf(policy, rule)));
  const columns = all.slice(0, MAX_COLUMNS);
  const rows: NodeRow[] = [];
  // Five thousand nodes that lack the same taint are one thing to say.
  const notes = new Map<string, number>();
  let unselected = 0;
  let count = 0;
  for (const node of [...nodes].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (++count % SLICE === 0) await setImmediate();
    const selecting = new Set(compiled.filter((policy) => policy.selectsNode(node.labels)));
    if (selecting.size > 0) rows.push(rowOf(node, columns, selecting, { isContested, intrudersOn }, notes));
    else unselected++;
  }
  return {
    columns: columns.map(({ rule: _, ...column }) => column),
    columnsLeftOut: all.length - columns.length,
    rows,
    notes: [...notes.keys()],
    unselected,
  };
}

function columnOf({ name, mode }: CompiledTaintPolicy, rule: CompiledTaintRule): Column {
  const { key, value, effect, field } = rule;
  const taint = `${key}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`;
  return { policy: name, field, mode, ensure: rule.ensure === 'Present' ? 'Present' : 'Preserved', taint, rule };
}

function rowOf(
  node: ClusterNode,
  columns: readonly Column[],
  selecting: ReadonlySet<CompiledTaintPolicy>,
  { isContested, intrudersOn }: Pick<NodeMapInput, 'isContested' | 'intrudersOn'>,
  known: Map<string, number>,
): NodeRow {
  const { losses, removed } = nodeDrift(node, [...selecting], {
    isContested: (taint) => isContested(node, taint),
    hasTurn: false,
  });
  // Of several that one rule with a pattern is for, the first is told.
  const lost = new Map(losses.toReversed().map((loss) => [`${loss.policy.name} ${loss.field}`, loss]));
  const excused = new Set(removed.map(({ policy, field }) => `${policy.name} ${field}`));
  const carried = valuesOf(node.taints);
  const isSettled = settledOn(node.remembered);
  const kept = new Map(
    [...selecting].map((policy) => [policy.name, new Set(node.taints.map((taint) => policy.heldBy(taint, isSettled)))]),
  );
  const notes: number[] = [];
  const say = (note: string) => {
    const index = known.get(note) ?? known.size;
    known.set(note, index);
    notes.push(index);
  };
  const cells = columns.map((column): NodeCell => {
    const fields = kept.get(column.policy);
    if (fields === undefined) return '-';
    const loss = lost.get(`${column.policy} ${column.field}`);
    if (loss !== undefined) {
      const found = carried.get(identity(loss.taint));
      say(noteOn(loss, found));
      if (loss.hindrance === 'contested') return 'c';
      return found === undefined ? 'm' : 'd';
    }
    if (excused.has(`${column.policy} ${column.field}`)) return 'r';
    return fields.has(column.field) || isPresent(column.rule, carried) ? 'k' : 'a';
  });
  // After those of the cells, which are told apart by their number.
  const intruders = intrudersOn(node);
  if (intruders !== undefined) say(intruders);
  return { name: node.name, ready: node.ready, cells: cells.join(''), ...(notes.length > 0 ? { notes } : {}) };
}

/** Of two rules that mean one taint, only the first says that it protects it. */
function isPresent({ key, effect, ensure }: CompiledTaintRule, carried: ReadonlyMap<string, string>): boolean {
  return ensure === 'Present' && effect !== undefined && carried.has(identity({ key, effect }));
}

const WHY: Record<Hindrance, string> = {
  mode: 'its mode does not restore taints',
  eviction: 'it would evict pods: mayEvict in the policy allows that',
  held: 'the value that it carries is protected as well',
  contested: 'it is removed each time, so it is not restored for now',
  paced: 'it evicts pods, and waits for its turn',
};

function noteOn({ policy, taint, hindrance }: Loss, found: string | undefined): string {
  const instead = found === undefined ? '' : `, carries ${formatTaint({ ...taint, value: found })}`;
  const why = hindrance === undefined ? 'about to be restored' : WHY[hindrance];
  return `lacks ${formatTaint(taint)}${instead} (TaintPolicy ${policy.name}): ${why}`;
}
