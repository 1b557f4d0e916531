import { type Candidate, narrowest } from '../cel/budget.ts';
import { NOT_DELETED, NOT_IGNORED, SELECTION_VARIABLES, selectsDaemonSet } from '../cel/daemon-sets.ts';
import { all, any, bind, type Expression, FALSE, other, TRUE, type Variable } from '../cel/expression.ts';
import { NOT_TOLERATED, TOLERATIONS, taintLiteralsMeantBy } from '../cel/tolerations.ts';
import { anyWanted } from '../cel/wants.ts';
import { namespaceRequirements } from '../daemon-set-selection.ts';
import type { Phase } from '../decision.ts';
import type { TolerationPolicy } from '../policy.ts';
import { DEFAULT_TOLERATIONS } from '../toleration-policy.ts';
import { entry, type WebhookEntry } from './entry.ts';

const VARIABLES: readonly Variable[] = [TOLERATIONS, ...SELECTION_VARIABLES];

/** A TolerationPolicy as its webhooks see it. */
interface DaemonSetPolicy {
  readonly mode: TolerationPolicy['spec']['mode'];
  /** The same for policies that are for the same DaemonSets. */
  readonly daemonSets: string;
  readonly namespaces: readonly string[];
  readonly selects: Expression;
  readonly wanted: readonly string[];
}

function readDaemonSetPolicy({ spec }: TolerationPolicy): DaemonSetPolicy {
  return {
    mode: spec.mode,
    daemonSets: JSON.stringify(spec.daemonSets),
    namespaces: spec.daemonSets.namespaces,
    selects: selectsDaemonSet(spec.daemonSets),
    wanted: (spec.tolerations ?? DEFAULT_TOLERATIONS).flatMap(taintLiteralsMeantBy),
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
  const groups = [...Map.groupBy(policies, ({ daemonSets }) => daemonSets).values()].map((alike) => ({
    condition: any(alike.slice(0, 1).map(({ selects }) => selects)),
    items: [...new Set(alike.flatMap(({ wanted }) => wanted))].sort(),
  }));
  const unlessIgnored = (condition: Expression, size?: number): Expression => {
    if (condition === FALSE) return FALSE;
    const tooMany = size === undefined ? FALSE : other(`size(tolerations) > ${size}`, 3, ['tolerations']);
    return bind(VARIABLES, all([NOT_DELETED, NOT_IGNORED, any([tooMany, condition])]));
  };
  const candidates: [Candidate, ...Candidate[]] = [
    { build: (size) => unlessIgnored(anyWanted(groups, NOT_TOLERATED), size) },
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
