import { type Candidate, narrowest } from '../cel/budget.ts';
import { all, any, bind, type Expression, FALSE, not, other, TRUE, type Variable } from '../cel/expression.ts';
import {
  HOST_NETWORK,
  NOT_DELETED,
  NOT_IGNORED,
  SELECTION_VARIABLES,
  selectsDaemonSet,
} from '../conditions/daemon-sets.ts';
import { anyWanted } from '../conditions/dropped-taints.ts';
import { ENDS_TOO_EARLY, notTolerated, rangeLiteral, secondsLiteral, TOLERATIONS } from '../conditions/tolerations.ts';
import type { Phase } from '../judge/decision.ts';
import { alwaysTolerated } from '../kubernetes/daemon-tolerations.ts';
import { rangesOf } from '../kubernetes/taint-range.ts';
import { namespaceRequirements } from '../policy/daemon-set-selection.ts';
import type { TolerationPolicy } from '../policy/policy.ts';
import { DEFAULT_TOLERATIONS } from '../policy/toleration-policy.ts';
import { entry, type WebhookEntry } from './entry.ts';

const VARIABLES: readonly Variable[] = [TOLERATIONS, ...SELECTION_VARIABLES];

/** A TolerationPolicy as its webhooks see it. */
interface DaemonSetPolicy {
  readonly mode: TolerationPolicy['spec']['mode'];
  /** The same for policies that are for the same DaemonSets. */
  readonly daemonSets: string;
  readonly namespaces: readonly string[];
  readonly selects: Expression;
  /** The taints that are asked for, by which pods tolerate them anyway. */
  readonly ranges: Partial<Record<ReturnType<typeof alwaysTolerated>, readonly string[]>>;
  /** The NoExecute taints that are asked for, and for how long. */
  readonly seconds: readonly string[];
}

function readDaemonSetPolicy({ spec }: TolerationPolicy): DaemonSetPolicy {
  const asked = (spec.tolerations ?? DEFAULT_TOLERATIONS).flatMap((toleration) =>
    rangesOf(toleration).map((range) => ({ toleration, range })),
  );
  const ranges = Object.groupBy(asked, ({ range }) => alwaysTolerated(range));
  return {
    mode: spec.mode,
    daemonSets: JSON.stringify(spec.daemonSets),
    namespaces: spec.daemonSets.namespaces,
    selects: selectsDaemonSet(spec.daemonSets),
    ranges: {
      nowhere: (ranges.nowhere ?? []).map(({ range }) => rangeLiteral(range)),
      'with the host network': (ranges['with the host network'] ?? []).map(({ range }) => rangeLiteral(range)),
    },
    seconds: asked.flatMap(({ range, toleration }) => secondsLiteral(range, toleration) ?? []),
  };
}

/** The webhooks for DaemonSets. */
export function daemonSetEntries(policies: readonly TolerationPolicy[], audit: boolean): WebhookEntry[] {
  const read = policies.map(readDaemonSetPolicy);
  const mutating = audit ? [] : read.filter(({ mode }) => mode === 'Mutate');
  return [
    ...lacking('tolerate.taintkeeper.dev', 'mutate', mutating),
    ...lacking('report-tolerations.taintkeeper.dev', 'validate', read),
  ];
}

function lacking(name: string, phase: Phase, policies: readonly DaemonSetPolicy[]): WebhookEntry[] {
  const groups = [...Map.groupBy(policies, ({ daemonSets }) => daemonSets).values()].map((alike) => {
    const items = (of: (policy: DaemonSetPolicy) => readonly string[] | undefined) =>
      [...new Set(alike.flatMap((policy) => of(policy) ?? []))].sort();
    return {
      condition: any(alike.slice(0, 1).map(({ selects }) => selects)),
      ranges: items(({ ranges }) => ranges.nowhere),
      network: items(({ ranges }) => ranges['with the host network']),
      seconds: items(({ seconds }) => seconds),
    };
  });
  const untolerated = anyWanted(
    groups.flatMap(({ condition, ranges, network }) => [
      { condition, items: ranges },
      { condition: all([not(HOST_NETWORK), condition]), items: network },
    ]),
    notTolerated({ dynamic: false }),
  );
  const early =
    phase === 'mutate'
      ? FALSE
      : anyWanted(
          groups.map(({ condition, seconds }) => ({ condition, items: seconds })),
          ENDS_TOO_EARLY,
        );
  const unlessIgnored = (condition: Expression, size?: number): Expression => {
    if (condition === FALSE) return FALSE;
    const tooMany = size === undefined ? FALSE : other(`size(tolerations) > ${size}`, 3, ['tolerations']);
    return bind(VARIABLES, all([NOT_DELETED, NOT_IGNORED, any([tooMany, condition])]));
  };
  const candidates: [Candidate, ...Candidate[]] = [
    { build: (size) => unlessIgnored(any([untolerated, early]), size) },
    {
      build: () => unlessIgnored(any(groups.map(({ condition }) => condition))),
      widened: 'too many policies for one expression: it does not look at the tolerations',
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
    namespaceSelector: namespaceRequirements(policies.flatMap(({ namespaces }) => namespaces)),
    conditions: { 'lacks-toleration': lacks.expression },
  });
}
