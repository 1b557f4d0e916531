import { type Candidate, narrowest } from '../cel/budget.ts';
import { all, any, bind, cel, type Expression, FALSE, not, TRUE, type Variable } from '../cel/expression.ts';
import { existsAmong } from '../cel/lists.ts';
import { NOT_DELETED, NOT_IGNORED, SELECTION_VARIABLES, selectsDaemonSet } from '../cel-rules/daemon-set-selection.ts';
import {
  ENDS_TOO_EARLY,
  HOST_NETWORK,
  notTolerated,
  rangeLiteral,
  secondsLiteral,
  TOLERATIONS,
} from '../cel-rules/tolerations.ts';
import { groupsBy } from '../collections/groups-by.ts';
import type { Phase } from '../judge/decision.ts';
import { alwaysTolerated } from '../kubernetes/daemon-tolerations.ts';
import { rangesOf } from '../kubernetes/taint-range.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import { namespaceRequirements } from '../policy/daemon-set-selection.ts';
import { entry, type WebhookEntry } from './webhook-entry.ts';

const VARIABLES: readonly Variable[] = [TOLERATIONS, ...SELECTION_VARIABLES];

/** The webhooks for DaemonSets. */
export function daemonSetEntries(policies: readonly CompiledTolerationPolicy[]): WebhookEntry[] {
  const mutating = policies.filter(({ mode }) => mode === 'Mutate');
  return [
    ...tolerationEntry('tolerate.taintkeeper.dev', 'mutate', mutating),
    ...tolerationEntry('report-tolerations.taintkeeper.dev', 'validate', policies),
  ];
}

/** The webhook for DaemonSets that lack a required toleration. None if the policies require none. */
function tolerationEntry(name: string, phase: Phase, policies: readonly CompiledTolerationPolicy[]): WebhookEntry[] {
  const groups = groupsBy(policies, ({ daemonSets }) => JSON.stringify(daemonSets)).map((alike) => ({
    condition: selectsDaemonSet(alike[0].daemonSets),
    ...requiredBy(alike),
  }));
  const untolerated = existsAmong(
    groups.flatMap(({ condition, ranges, network }) => [
      { condition, items: ranges },
      { condition: all([not(HOST_NETWORK), condition]), items: network },
    ]),
    notTolerated({ dynamic: false }),
  );
  const early =
    phase === 'mutate'
      ? FALSE
      : existsAmong(
          groups.map(({ condition, seconds }) => ({ condition, items: seconds })),
          ENDS_TOO_EARLY,
        );
  const unlessIgnored = (condition: Expression, size?: number): Expression => {
    if (condition === FALSE) return FALSE;
    const tooMany = size === undefined ? FALSE : cel(2)`size(${TOLERATIONS}) > ${size}`;
    return bind(VARIABLES, all([NOT_DELETED, NOT_IGNORED, any([tooMany, condition])]));
  };
  const candidates: [Candidate, ...Candidate[]] = [
    { build: (size) => unlessIgnored(any([untolerated, early]), size) },
    {
      build: () => unlessIgnored(any(groups.map(({ condition }) => condition))),
      widened: 'too many policies for one expression: it does not read the tolerations',
    },
    {
      build: () => unlessIgnored(TRUE),
      widened: 'too many policies for one expression: it is true for every DaemonSet',
    },
  ];
  const lacks = narrowest(candidates);
  return entry(lacks, {
    name,
    phase,
    resource: 'daemonsets',
    operations: ['CREATE', 'UPDATE'],
    failurePolicy: 'Ignore',
    namespaceSelector: namespaceRequirements(policies.flatMap(({ daemonSets }) => daemonSets.namespaces)),
    conditions: { 'lacks-toleration': lacks.expression },
  });
}

/** The required tolerations of the policies, as maps in CEL. */
function requiredBy(policies: readonly CompiledTolerationPolicy[]) {
  const required = policies
    .flatMap(({ tolerations }) => tolerations)
    .flatMap(({ value: toleration }) => rangesOf(toleration).map((range) => ({ toleration, range })));
  const sorted = (items: readonly string[]) => [...new Set(items)].sort();
  const ranges = (place: ReturnType<typeof alwaysTolerated>) =>
    sorted(required.filter(({ range }) => alwaysTolerated(range) === place).map(({ range }) => rangeLiteral(range)));
  return {
    ranges: ranges('nowhere'),
    network: ranges('with the host network'),
    seconds: sorted(required.flatMap(({ range, toleration }) => secondsLiteral(range, toleration) ?? [])),
  };
}
