import { rolloutCommandFor } from '../coverage/gap-remedy.ts';
import { daemonSetName } from '../policy/ready-when.ts';
import { harmOfCondition } from '../policy/reporting/harm.ts';
import { groupedCount, groupedNumber } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import { explainUnchanged } from './coverage-problems.ts';
import { DOCTOR } from './doctor-fix.ts';
import type { Fix, Place, PolicyState } from './state.ts';
import type { LeaderView, ReplicaView } from './state-views.ts';
import type { UnrankedProblem } from './unranked-problem.ts';

/** What the policies say of themselves, and of objects that are not known here. */
export function policyProblems(
  { policies, checks }: ReplicaView,
  leaderView: LeaderView | undefined,
): UnrankedProblem[] {
  const read = checks.every(({ name, state }) => name !== 'policies' || state === 'ok');
  if (policies.length === 0 && read) {
    return [{ harm: 'Reported', text: 'There are no policies: nothing is protected', place: { tab: 'policies' } }];
  }
  return policies.flatMap((policy): UnrankedProblem[] => {
    const { kind, name, valid, problems, generationInForce, conditions } = policy;
    const place: Place = { tab: 'policies', object: `${kind}/${name}` };
    const edit: Fix = { command: `kubectl edit ${kind.toLowerCase()} ${shellWord(name)}`, note: '' };
    const unusable: UnrankedProblem[] = valid
      ? []
      : [
          generationInForce === undefined
            ? {
                harm: 'NotInForce',
                text: `${kind} ${name} is not in force: ${problems[0] ?? 'it cannot be read'}`,
                place,
                fix: edit,
              }
            : {
                harm: 'Stalled',
                text: `${kind} ${name} cannot be used as it stands, and generation ${generationInForce} stays in force until taintkeeper restarts: ${problems[0]}`,
                place,
                fix: edit,
              },
        ];
    const stated = conditions.flatMap((condition): UnrankedProblem[] => {
      const { type, level, word, reason, message, next } = condition;
      // An invalid spec is reported above, and what nodes lack is reported by cause where the nodes are known.
      if (level === 'quiet' || (type === 'Ready' && !valid)) return [];
      const harm = harmOfCondition(condition);
      const isOfNodes = (harm === 'Missing' && reason !== 'RepairRefused') || harm === 'Conflict';
      if (leaderView && kind === 'TaintPolicy' && isOfNodes) return [];
      return [
        {
          harm,
          text: `${kind} ${name} is ${word}: ${message}`,
          place,
          why: next,
          ...(level === 'attention' ? {} : { fix: DOCTOR }),
        },
      ];
    });
    return [...unusable, ...stated, ...missingBy(policy, place, leaderView)];
  });
}

/** What the status of a policy says of objects, if the nodes and DaemonSets are not known here. */
function missingBy(policy: PolicyState, place: Place, leaderView: LeaderView | undefined): UnrankedProblem[] {
  const { kind, name, mode, violating = 0, matched = 0 } = policy;
  if (violating === 0 || kind === 'TolerationRestriction') return [];
  const harm = mode === 'Audit' ? 'Reported' : 'Missing';
  const violators = policy.violators.map(({ text }) => text);
  const nameAt = (one: string) => policy.violators.find(({ text }) => text === one)?.place;
  const problem = { harm, count: violating, place, nameAt } as const;
  // The status names only the first few. Another writer may have made it inconsistent.
  const unnamed = Math.max(0, violating - violators.length);
  const withNames = (names: readonly string[]) => [...names, ...Array<string>(unnamed).fill('')];
  const [first] = violators;
  switch (kind) {
    case 'TaintPolicy':
      return leaderView
        ? []
        : [
            {
              ...problem,
              text: `TaintPolicy ${name}: taints are missing on ${groupedNumber(violating)} of ${groupedCount(matched, 'node')}`,
              names: withNames(violators),
            },
          ];
    case 'TolerationPolicy': {
      const rows = leaderView?.coverage.daemonSets ?? [];
      const gaps = new Set(rows.filter(({ gap }) => gap).map(daemonSetName));
      const unchanged = new Map(
        rows.flatMap((row) => {
          const fix = explainUnchanged(row, name);
          return fix ? [[daemonSetName(row), fix]] : [];
        }),
      );
      const others = violators.filter((one) => !gaps.has(one));
      const remaining = violating - (violators.length - others.length);
      if (remaining <= 0) return [];
      return [
        {
          ...problem,
          count: remaining,
          text: `TolerationPolicy ${name}: tolerations are missing on ${groupedNumber(remaining)} of ${groupedCount(matched, 'DaemonSet')}`,
          names: withNames(others),
          fix: mode === 'Mutate' ? addTolerations(policy, withNames(others), unchanged) : undefined,
        },
      ];
    }
    case 'RecoveryPolicy':
      return [
        {
          ...problem,
          text: `RecoveryPolicy ${name}: ${groupedCount(violating, 'pod')} of DaemonSets ${violating === 1 ? 'is' : 'are'} stuck`,
          names: withNames(violators),
          fix: first === undefined ? undefined : { command: `taintkeeper explain pod ${shellWord(first)}`, note: '' },
        },
      ];
  }
}

/**
 * For DaemonSets that no taint keeps off at present.
 * @param daemonSets those that are not known by name are empty
 * @param unchanged those to which the policy adds none, with what explains it
 */
function addTolerations(
  { name: policy, patchesExisting }: PolicyState,
  daemonSets: readonly string[],
  unchanged: ReadonlyMap<string, Fix>,
): Fix | undefined {
  const [first, second] = daemonSets.filter((one) => !unchanged.has(one));
  const [any = ''] = daemonSets;
  if (first === undefined) return unchanged.get(any);
  if (first !== '' && second === undefined) {
    const [namespace = '', name = ''] = first.split('/');
    return { command: rolloutCommandFor({ namespace, name }), note: 'Adds them, and replaces its pods.' };
  }
  if (patchesExisting) return DOCTOR;
  return {
    command: `kubectl patch tolerationpolicy ${shellWord(policy)} --type merge --patch '{"spec":{"existing":"Patch"}}'`,
    note: 'Adds them to one DaemonSet after the other, and replaces its pods. It needs the right patchDaemonSets.',
  };
}
