import { oncePer } from '../collections/once-per.ts';
import { nextStepFor } from '../judge/missing-taint.ts';
import { worstFirst } from '../policy/reporting/harm.ts';
import { CONFLICT_EVENTS, EVICTS, taintCommand } from '../policy/reporting/taint-commands.ts';
import { groupedCount, groupedNumber } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import type { EvaluatedNodes, EvaluatedNote, NodeLoss } from './node-map.ts';
import { nodeAt } from './places.ts';
import type { Fix, LostCell } from './state.ts';
import { problemsOfCauses, type UnrankedProblem } from './unranked-problem.ts';

/** Nodes that lack a taint by the same field of a policy and for the same reason. */
interface Cause extends Omit<NodeLoss, 'node'> {
  /** Of the first of them. */
  readonly note: EvaluatedNote;
  /** Whether it is the same taint on each. */
  alike: boolean;
  readonly nodes: string[];
}

/** The taints that nodes lack, by cause. They are the same until the nodes are evaluated again, and the state is served more often. */
export const nodeProblems = oncePer(({ losses }: EvaluatedNodes): readonly UnrankedProblem[] => {
  const { repairing = [], lasting = [] } = Object.groupBy(causesOf(losses), ({ note }) =>
    note.harm === 'Repairing' ? 'repairing' : 'lasting',
  );
  const sorted = worstFirst(
    lasting,
    ({ note }) => note.harm,
    ({ nodes }) => nodes.length,
  );
  const repaired = [...new Set(repairing.flatMap(({ nodes }) => nodes))];
  return [
    ...problemsOfCauses(sorted, nodeProblem, (further) => ({
      harm: further[0].note.harm,
      text: `${groupedCount(new Set(further.flatMap(({ nodes }) => nodes)).size, 'node')} for ${groupedCount(further.length, 'more reason')}`,
      place: { tab: 'nodes', filters: { show: 'problem' } },
    })),
    ...(repaired.length === 0
      ? []
      : [
          {
            harm: 'Repairing',
            count: repaired.length,
            text: `${groupedCount(repaired.length, 'node')} ${repaired.length === 1 ? 'is' : 'are'} being repaired`,
            place: { tab: 'nodes', filters: { show: 'problem' } },
            names: repaired,
            nameAt: nodeAt,
          } satisfies UnrankedProblem,
        ]),
  ];
});

function causesOf(losses: readonly NodeLoss[]): Iterable<Cause> {
  const causes = new Map<string, Cause>();
  for (const { node, column, cell, note } of losses) {
    const key = `${cell} ${column.policy} ${column.field} ${note.harm} ${note.blockedBy}`;
    const cause = causes.get(key) ?? { column, cell, note, alike: true, nodes: [] };
    causes.set(key, cause);
    cause.alike &&= cause.note.taint === note.taint;
    cause.nodes.push(node);
  }
  return causes.values();
}

/** The names of the states in addresses. */
const SHOW: Readonly<Record<LostCell, string>> = { m: 'missing', d: 'another-value', c: 'conflict' };

function nodeProblem({ column, cell, note, alike, nodes }: Cause): UnrankedProblem {
  const { policy } = column;
  const what = alike ? note.taint : column.taint;
  const on = groupedCount(nodes.length, 'node');
  return {
    harm: note.harm,
    count: nodes.length,
    text:
      cell === 'c'
        ? `${what} is missing on ${on}: another writer removes it repeatedly`
        : `${what} ${cell === 'd' ? 'has another value' : 'is missing'} on ${on}`,
    place: { tab: 'nodes', filters: { show: SHOW[cell], policy } },
    names: nodes,
    nameAt: nodeAt,
    why: cell === 'c' ? `TaintPolicy ${policy}` : `TaintPolicy ${policy}: ${note.why}`,
    fix: alike ? taintFix(nodes, note) : undefined,
  };
}

/** A command for more nodes would be too long to read. */
const MAX_NODES = 100;

/** What to do about nodes that all lack a taint for the same reason. */
function taintFix(nodes: readonly string[], { taint, carries, blockedBy }: EvaluatedNote): Fix | undefined {
  const [first = ''] = nodes;
  switch (nextStepFor(blockedBy)) {
    case 'Wait':
      return undefined;
    case 'StopWriter':
      return {
        command: CONFLICT_EVENTS,
        note: 'Says who removes it. Stop that writer.',
      };
    case 'ChooseValue':
      return {
        command: `taintkeeper explain node ${shellWord(first)}`,
        note: 'Says which policies contradict each other.',
      };
    case 'SetTaint': {
      const evicts = taint.endsWith(':NoExecute') ? `, and ${EVICTS}` : '';
      const some = nodes.slice(0, MAX_NODES);
      const on =
        some.length < nodes.length
          ? `the first ${MAX_NODES} of ${groupedNumber(nodes.length)} nodes`
          : groupedCount(nodes.length, 'node');
      return { command: taintCommand(some, [taint], carries !== undefined), note: `Sets it on ${on}${evicts}.` };
    }
  }
}
