import { daemonSetName } from '../policy/ready-when.ts';
import { type Harm, worstFirst } from '../policy/reporting/harm.ts';
import { groupedCount, groupedNumber } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import type { EvaluatedRow } from './coverage-matrix.ts';
import { daemonSetAt } from './places.ts';
import type { Fix } from './state.ts';
import type { LeaderView } from './state-views.ts';
import { problemsOfCauses, type UnrankedProblem } from './unranked-problem.ts';

/** The DaemonSets that taints keep off nodes, and those with pods that are unavailable. */
export function coverageProblems({ coverage: { daemonSets }, unready }: LeaderView, audit: boolean): UnrankedProblem[] {
  const gaps = worstFirst(
    daemonSets.filter(({ gap }) => gap),
    harmOfGap,
    ({ keptOff }) => keptOff,
  );
  const {
    rolling = [],
    down = [],
    others = [],
  } = Object.groupBy(
    daemonSets.filter(({ unavailable }) => unavailable > 0),
    (row) => (row.rollingOut ? 'rolling' : row.critical && row.unavailable > unready ? 'down' : 'others'),
  );
  return [
    ...problemsOfCauses(
      gaps,
      (row) => gapProblem(row, audit),
      (further) => ({
        harm: harmOfGap(further[0]),
        text: `${groupedCount(further.length, 'more DaemonSet')} kept off nodes by taints`,
        place: { tab: 'coverage', filters: { show: 'tainted' } },
        fix: LIST_GAPS,
      }),
    ),
    ...halfTolerantProblem(
      daemonSets.filter((row) => row.keptOff > 0 && !row.optsOut && !row.gap && row.halfTolerant),
      audit,
    ),
    ...unavailableProblem('NodesWithoutDaemons', down),
    ...unavailableProblem('Reported', others),
    ...(rolling.length === 0
      ? []
      : [
          {
            harm: 'Repairing',
            count: rolling.length,
            text: `${groupedCount(rolling.length, 'DaemonSet')} ${rolling.length === 1 ? 'is' : 'are'} rolling out`,
            place: { tab: 'coverage', filters: { show: 'unavailable' } },
            names: rolling.map(daemonSetName),
            nameAt: daemonSetAt,
          } satisfies UnrankedProblem,
        ]),
  ];
}

const harmOfGap = ({ critical }: EvaluatedRow): Harm => (critical ? 'NodesWithoutDaemons' : 'Missing');

function gapProblem(row: EvaluatedRow, audit: boolean): UnrankedProblem {
  const { runs, keptOff, critical } = row;
  const name = daemonSetName(row);
  return {
    harm: harmOfGap(row),
    count: keptOff,
    text: `${name} is kept off ${groupedNumber(keptOff)} of ${groupedCount(runs + keptOff, 'node')} by taints`,
    place: daemonSetAt(name),
    why: critical
      ? 'the other pods of these nodes depend on it'
      : 'a TolerationPolicy requires tolerations that it lacks',
    fix: gapFix(row, audit),
  };
}

/** For a DaemonSet to which a policy in mode Mutate adds nothing. Undefined for others. */
export function explainUnchanged(row: EvaluatedRow, policy: string): Fix | undefined {
  if (row.tooManyTolerations) return explainTooMany(row);
  if (!row.unchangedBy?.includes(policy)) return undefined;
  return { command: explainCommand(row), note: 'Its own toleration ends earlier, and no policy changes that.' };
}

function explainTooMany(row: EvaluatedRow): Fix {
  return { command: explainCommand(row), note: 'It has so many tolerations that no policy adds any.' };
}

function explainCommand(row: EvaluatedRow): string {
  return `taintkeeper explain daemonset ${shellWord(daemonSetName(row))}`;
}

/** The one remedy of a gap, which `taintkeeper explain` has, too. */
function gapFix(row: EvaluatedRow, audit: boolean): Fix | undefined {
  const { remedy, keptOff, tooManyTolerations } = row;
  if (tooManyTolerations) return explainTooMany(row);
  if (audit) return { ...LIST_GAPS, note: 'taintkeeper runs with --audit, and adds no toleration.' };
  if (remedy === undefined) return undefined;
  const on = remedy.nodes === keptOff ? `all ${groupedNumber(keptOff)}` : `${groupedNumber(remedy.nodes)} of them`;
  return {
    command: remedy.command,
    note: `Lets it run on ${on}, and replaces all of its pods.`,
  };
}

/** DaemonSets that tolerate one of the two names of the control plane's taint, which is rarely intended. */
function halfTolerantProblem(rows: readonly EvaluatedRow[], audit: boolean): UnrankedProblem[] {
  const [first, second] = rows;
  if (first === undefined) return [];
  const isOne = second === undefined;
  return [
    {
      harm: 'Reported',
      count: rows.length,
      text: `${isOne ? `${daemonSetName(first)} tolerates` : `${groupedCount(rows.length, 'DaemonSet')} tolerate`} one of the two names of the control plane's taint`,
      place: isOne ? daemonSetAt(daemonSetName(first)) : { tab: 'coverage', filters: { show: 'tainted' } },
      names: isOne ? [] : rows.map(daemonSetName),
      nameAt: daemonSetAt,
      why: 'kept off nodes',
      fix: isOne ? gapFix(first, audit) : LIST_GAPS,
    },
  ];
}

const LIST_GAPS: Fix = { command: 'taintkeeper coverage --gaps', note: 'Says which taints keep each off.' };

function unavailableProblem(harm: Harm, rows: readonly EvaluatedRow[]): UnrankedProblem[] {
  const [first, second] = rows;
  if (first === undefined) return [];
  const fix =
    second === undefined
      ? `kubectl describe daemonset --namespace ${shellWord(first.namespace)} ${shellWord(first.name)}`
      : 'kubectl get daemonsets --all-namespaces';
  return [
    {
      harm,
      count: Math.max(...rows.map(({ unavailable }) => unavailable)),
      text:
        second === undefined
          ? `${daemonSetName(first)} has ${groupedNumber(first.unavailable)} of ${groupedCount(first.desired, 'pod')} unavailable`
          : `${groupedCount(rows.length, 'DaemonSet')} have pods unavailable`,
      place:
        second === undefined
          ? daemonSetAt(daemonSetName(first))
          : { tab: 'coverage', filters: { show: 'unavailable' } },
      names: second === undefined ? [] : rows.map(daemonSetName),
      nameAt: daemonSetAt,
      fix: { command: fix, note: '' },
    },
  ];
}
