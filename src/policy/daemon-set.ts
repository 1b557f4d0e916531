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
  /** For mutation: the DaemonSet before an update; undefined when the request creates it. */
  readonly running?: {
    readonly tolerations: readonly Toleration[];
    /** True when the update leaves the pod template as it was, its tolerations not considered. */
    readonly sameTemplate: boolean;
  };
}

/** Whether the DaemonSet is to be left alone in everything. */
export function optsOut({ annotations }: Pick<DaemonSetView, 'annotations'>): boolean {
  return (own(annotations, IGNORE_ANNOTATION) ?? 'false') !== 'false';
}

/** A toleration that a policy asks for. */
interface Want {
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
  if (daemonSet.deleting || optsOut(daemonSet)) return allow();

  const { tolerations } = daemonSet;
  const wants = tolerationPolicies
    .filter((policy) => policy.selectsDaemonSet(daemonSet))
    .flatMap((policy) => policy.tolerations.map(({ value, field }): Want => ({ policy, field, toleration: value })));
  if (phase === 'validate') return validate(tolerations, lacking(tolerations, wants));

  const binding = wants.filter(({ policy }) => policy.mode === 'Mutate');
  const additions = additionsTo(tolerations, binding, running);
  if (additions.length === 0) return allow();
  return patch(
    { tolerations: [...tolerations, ...additions.map(({ toleration }) => toleration)] },
    additions.map((want) => report(want, 'added')),
    additions.flatMap((want) => [`${source(want)} added toleration ${subject(want)}`, ...doubts(tolerations, want)]),
  );
}

/**
 * The wanted tolerations that this request gets. First those that it takes out of the running DaemonSet, in its order: a
 * manifest that is applied again then ends as what already runs. Further ones only if it does not.
 */
function additionsTo(
  tolerations: readonly Toleration[],
  wants: readonly Want[],
  running: DaemonSetRequest['running'],
): Want[] {
  if (running === undefined) return lacking(tolerations, wants);
  // Spelled as it runs: `operator: Equal` more or less would be another template.
  const had = running.tolerations.flatMap((toleration) => {
    const want = wants.find((other) => equalToleration(other.toleration, toleration));
    return want ? [{ ...want, toleration }] : [];
  });
  const takenOut = lacking(tolerations, had);
  const putBack = [...tolerations, ...takenOut.map(({ toleration }) => toleration)];
  const asBefore =
    running.sameTemplate &&
    putBack.length === running.tolerations.length &&
    putBack.every((toleration, index) => equalToleration(toleration, running.tolerations[index] ?? {}));
  return asBefore ? takenOut : [...takenOut, ...lacking(putBack, wants)];
}

function validate(tolerations: readonly Toleration[], lacks: readonly Want[]): Decision<never> {
  return allow(
    lacks.map((want) => report(want, want.policy.mode === 'Audit' ? 'audited' : 'missing')),
    lacks.flatMap((want) => {
      const mode = want.policy.mode === 'Audit' ? ', Audit' : '';
      return [`${source(want)}${mode}: toleration ${subject(want)} is missing`, ...doubts(tolerations, want)];
    }),
  );
}

/** The wants that the tolerations do not cover; what one adds, the next one need not. */
function lacking(tolerations: readonly Toleration[], wants: readonly Want[]): Want[] {
  const there = [...tolerations];
  return wants.filter(({ toleration }) => {
    const covered = taintsMeantBy(toleration).every((taint) => there.some((other) => tolerates(other, taint)));
    if (!covered) there.push(toleration);
    return !covered;
  });
}

/** Tolerations that might cover the lacking one by an operator that this program does not know. */
function doubts(tolerations: readonly Toleration[], { toleration: wanted }: Want): string[] {
  return tolerations
    .filter((toleration) => hasUnknownOperator(toleration) && (!toleration.key || toleration.key === wanted.key))
    .map((toleration) => `toleration ${formatToleration(toleration)}: operator not known, taken as not tolerating`);
}

function report({ policy: { name, mode }, field, toleration }: Want, outcome: Outcome): Violation {
  return { policyKind: 'TolerationPolicy', policy: name, field, mode, outcome, subject: formatToleration(toleration) };
}

function source({ policy }: Want): string {
  return `TolerationPolicy ${policy.name}`;
}

function subject({ toleration }: Want): string {
  return formatToleration(toleration);
}
