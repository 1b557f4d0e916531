import { allow, type Decision, type Outcome, type Phase, patch, type Violation } from './decision.ts';
import { own, type StringMap } from './label-selector.ts';
import type { CompiledTolerationPolicy, PolicySet } from './policy-set.ts';
import {
  equalToleration,
  formatToleration,
  hasUnknownOperator,
  type Toleration,
  taintsMeantBy,
  tolerates,
} from './toleration.ts';

/** The annotation by which a DaemonSet opts out; any value but `false` counts. */
export const IGNORE_ANNOTATION = 'taintkeeper.dev/ignore';

/** What the policies look at in a DaemonSet. */
export interface DaemonSetView {
  readonly namespace: string;
  readonly name: string;
  readonly labels: StringMap;
  readonly annotations: StringMap;
  /** Of the pod template. */
  readonly tolerations: readonly Toleration[];
  /** True when it has a deletionTimestamp. */
  readonly deleting: boolean;
}

/** What mutation makes of a DaemonSet: the rest of the object stays as it is. */
export interface DesiredDaemonSet {
  readonly tolerations: readonly Toleration[];
}

export interface DaemonSetRequest {
  readonly phase: Phase;
  readonly daemonSet: DaemonSetView;
  /** The DaemonSet before an update; undefined when the request creates it. */
  readonly running?: {
    readonly tolerations: readonly Toleration[];
    /** True when the update leaves the pod template as it was, its tolerations not considered. */
    readonly sameTemplate: boolean;
  };
}

/** A toleration that a policy asks for and the DaemonSet lacks. */
interface Lack {
  readonly policy: CompiledTolerationPolicy;
  readonly field: string;
  readonly toleration: Toleration;
}

/**
 * Judges the creation or the update of a DaemonSet, in one of the two phases of admission. It is never refused. Tolerations
 * are added only where pods start anyway: otherwise a label, or a manifest applied again, would restart a network plugin on
 * every node.
 */
export function judgeDaemonSet(
  { phase, daemonSet, running }: DaemonSetRequest,
  { tolerationPolicies }: PolicySet,
): Decision<DesiredDaemonSet> {
  if (daemonSet.deleting || (own(daemonSet.annotations, IGNORE_ANNOTATION) ?? 'false') !== 'false') return allow();

  const { tolerations } = daemonSet;
  const policies = tolerationPolicies.filter((policy) => policy.selectsDaemonSet(daemonSet));
  if (phase === 'validate') return validate(tolerations, lacks(tolerations, policies));

  const additions = additionsTo(
    tolerations,
    lacks(
      tolerations,
      policies.filter(({ mode }) => mode === 'Mutate'),
    ),
    running,
  );
  if (additions.length === 0) return allow();
  return patch(
    { tolerations: [...tolerations, ...additions.map(({ toleration }) => toleration)] },
    additions.map((lack) => report(lack, 'added')),
    additions.flatMap((lack) => [`${source(lack)} added toleration ${subject(lack)}`, ...doubts(tolerations, lack)]),
  );
}

/**
 * Those of the lacking tolerations that this request gets. First those that it takes out, in the order in which the running
 * DaemonSet has them: a manifest that is applied again then ends as what already runs. Further ones only if it does not.
 */
function additionsTo(
  tolerations: readonly Toleration[],
  lacking: readonly Lack[],
  running: DaemonSetRequest['running'],
): Lack[] {
  if (running === undefined) return [...lacking];
  const positionOf = ({ toleration }: Lack) =>
    running.tolerations.findIndex((other) => equalToleration(other, toleration));
  const takenOut = lacking.filter((lack) => positionOf(lack) !== -1).sort((a, b) => positionOf(a) - positionOf(b));
  const putBack = [...tolerations, ...takenOut.map(({ toleration }) => toleration)];
  const asBefore =
    running.sameTemplate &&
    putBack.length === running.tolerations.length &&
    putBack.every((toleration, index) => equalToleration(toleration, running.tolerations[index] ?? {}));
  return asBefore ? takenOut : [...takenOut, ...lacking.filter((lack) => !takenOut.includes(lack))];
}

function validate(tolerations: readonly Toleration[], lacking: readonly Lack[]): Decision<never> {
  return allow(
    lacking.map((lack) => report(lack, lack.policy.mode === 'Audit' ? 'audited' : 'missing')),
    lacking.flatMap((lack) => {
      const mode = lack.policy.mode === 'Audit' ? ', Audit' : '';
      return [`${source(lack)}${mode}: toleration ${subject(lack)} is missing`, ...doubts(tolerations, lack)];
    }),
  );
}

/** What the policies ask for and the tolerations do not cover; what one policy adds, the next one need not. */
function lacks(tolerations: readonly Toleration[], policies: readonly CompiledTolerationPolicy[]): Lack[] {
  const found: Lack[] = [];
  for (const policy of policies) {
    for (const { value: toleration, field } of policy.tolerations) {
      const there = [...tolerations, ...found.map((lack) => lack.toleration)];
      const covered = taintsMeantBy(toleration).every((taint) => there.some((other) => tolerates(other, taint)));
      if (!covered) found.push({ policy, field, toleration });
    }
  }
  return found;
}

/** Tolerations that might cover the lacking one by an operator that this program does not know. */
function doubts(tolerations: readonly Toleration[], { toleration: wanted }: Lack): string[] {
  return tolerations
    .filter((toleration) => hasUnknownOperator(toleration) && (!toleration.key || toleration.key === wanted.key))
    .map((toleration) => `toleration ${formatToleration(toleration)}: operator not known, taken as not tolerating`);
}

function report({ policy: { name, mode }, field, toleration }: Lack, outcome: Outcome): Violation {
  return { policyKind: 'TolerationPolicy', policy: name, field, mode, outcome, subject: formatToleration(toleration) };
}

function source({ policy }: Lack): string {
  return `TolerationPolicy ${policy.name}`;
}

function subject({ toleration }: Lack): string {
  return formatToleration(toleration);
}
