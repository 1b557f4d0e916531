import { nextStepFor } from '../judge/missing-taint.ts';
import { CONFLICT_EVENTS, EVICTS, taintCommand } from '../judge/taint-commands.ts';
import { type Harm, worstFirst } from '../policy/reporting/harm.ts';
import { oncePer } from '../runtime/once-per.ts';
import { groupedCount, groupedNumber } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import type { EvaluatedNodes, EvaluatedNote } from './node-map.ts';
import { nodeAt } from './places.ts';
import type { Fix, NodeMap } from './state.ts';
import { problemsOfCauses, type UnrankedProblem } from './unranked-problem.ts';

/** Nodes that lack a taint by the same field of a policy and for the same reason. */
interface Cause {
  readonly harm: Harm;
  readonly cell: string;
  readonly column: number;
  /** Of the first of them. */
  readonly note: EvaluatedNote;
  /** Whether it is the same taint on each. */
  alike: boolean;
  readonly nodes: string[];
}

/** The cells with a problem: missing, another value, conflict. */
const BAD = /[mdc]/;

/** The taints that nodes lack, by cause. They are the same until the nodes are evaluated again, and the state is served more often. */
export const nodeProblems = oncePer(
  ({ shown: { columns, rows }, notes }: EvaluatedNodes): readonly UnrankedProblem[] => {
    const causes = new Map<string, Cause>();
    for (const row of rows) {
      let index = 0;
      for (let column = 0; row.notes !== undefined && column < row.cells.length; column++) {
        const cell = row.cells[column] ?? '';
        if (!BAD.test(cell)) continue;
        const note = notes[row.notes[index++] ?? -1];
        if (note === undefined) continue;
        const key = `${cell} ${column} ${note.harm} ${note.blockedBy}`;
        const cause = causes.get(key) ?? { harm: note.harm, cell, column, note, alike: true, nodes: [] };
        causes.set(key, cause);
        cause.alike &&= cause.note.taint === note.taint;
        cause.nodes.push(row.name);
      }
    }
    const { repairing = [], lasting = [] } = Object.groupBy(causes.values(), ({ harm }) =>
      harm === 'Repairing' ? 'repairing' : 'lasting',
    );
    const sorted = worstFirst(
      lasting,
      ({ harm }) => harm,
      ({ nodes }) => nodes.length,
    );
    const repaired = [...new Set(repairing.flatMap(({ nodes }) => nodes))];
    return [
      ...problemsOfCauses(
        sorted,
        (cause) => nodeProblem(columns[cause.column], cause),
        (further) => ({
          harm: further[0].harm,
          text: `${groupedCount(new Set(further.flatMap(({ nodes }) => nodes)).size, 'node')} for ${groupedCount(further.length, 'more reason')}`,
          place: { tab: 'nodes', filters: { show: 'problem' } },
        }),
      ),
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
  },
);

/** The names of the states in addresses. */
const SHOW: Readonly<Record<string, string>> = { m: 'missing', d: 'another-value', c: 'conflict' };

function nodeProblem(column: NodeMap['columns'][number] | undefined, cause: Cause): UnrankedProblem {
  const { harm, cell, note, alike, nodes } = cause;
  const { policy = '', taint = '' } = column ?? {};
  const what = alike ? note.taint : taint;
  const on = groupedCount(nodes.length, 'node');
  return {
    harm,
    count: nodes.length,
    text:
      cell === 'c'
        ? `${what} is missing on ${on}: another writer removes it repeatedly`
        : `${what} ${cell === 'd' ? 'has another value' : 'is missing'} on ${on}`,
    place: { tab: 'nodes', filters: { show: SHOW[cell] ?? 'problem', policy } },
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
