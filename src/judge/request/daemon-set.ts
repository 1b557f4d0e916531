import { oncePer } from '../../collections/once-per.ts';
import { daemonTolerations } from '../../kubernetes/daemon-tolerations.ts';
import { formatSeconds, formatToleration, hasUnknownOperator, type Toleration } from '../../kubernetes/toleration.ts';
import { MAX_WARNINGS } from '../../kubernetes/warnings.ts';
import type { CompiledTolerationPolicy } from '../../policy/compiled-toleration-policy.ts';
import { isOnTrial } from '../../policy/enforcement.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import {
  type DaemonSetView,
  type DesiredDaemonSet,
  hasTooManyTolerations,
  isLeftAlone,
  MAX_TOLERATIONS,
} from '../daemon-set-view.ts';
import { allow, type Decision, type Judge, patch } from '../decision.ts';
import { missingOutcome, type Outcome, onTrial } from '../outcomes.ts';
import type { Violation } from '../violation.ts';
import { addedWarning, wouldAddWarning } from './added-warnings.ts';
import { type DeclaredToleration, declaredTolerations } from './declared-tolerations.ts';
import { cutShortBy, missingAmong, type Need } from './needed-tolerations.ts';
import { type RunningTemplate, removedFromEnd } from './removed-from-end.ts';

export interface DaemonSetRequest {
  readonly daemonSet: DaemonSetView;
  /** For mutation: the DaemonSet before an update; undefined when the request creates it. */
  readonly running?: RunningTemplate;
}

/** The TolerationPolicies among all policies. */
type TolerationPolicies = Pick<PolicySet, 'tolerationPolicies'>;

/**
 * Judges the creation or the update of a DaemonSet, and never denies it. Mutation adds tolerations only if they change on which nodes the pods can
 * run, and only if the request starts new pods anyway. Otherwise a changed label, or a manifest that is applied again, would restart a network plugin
 * on every node. Validation reports the tolerations that are missing after mutation.
 */
export const judgeDaemonSet: Judge<DaemonSetRequest, TolerationPolicies, DesiredDaemonSet> = {
  mutate: mutateDaemonSet,
  validate: validateDaemonSet,
};

/** The decision about a DaemonSet to which no policy is applied. Undefined if the DaemonSet is judged. */
function unjudged(
  { daemonSet, running }: DaemonSetRequest,
  { tolerationPolicies }: TolerationPolicies,
): Decision<never> | undefined {
  if (isLeftAlone(daemonSet)) return allow();
  if (!hasTooManyTolerations(daemonSet) && !(running && hasTooManyTolerations(running))) return undefined;
  const text = `more than ${MAX_TOLERATIONS} tolerations: no TolerationPolicy was applied`;
  return tolerationPolicies.some((policy) => policy.selectsDaemonSet(daemonSet)) ? allow([], [text]) : allow();
}

/** The required tolerations that the DaemonSet lacks. */
function missingIn(
  { tolerations, hostNetwork }: DaemonSetView,
  needs: readonly Need<DeclaredToleration>[],
): DeclaredToleration[] {
  return missingAmong(needs, daemonTolerations(tolerations, hostNetwork)).map(({ required }) => required);
}

function mutateDaemonSet(request: DaemonSetRequest, policies: TolerationPolicies): Decision<DesiredDaemonSet> {
  const decision = unjudged(request, policies);
  if (decision) return decision;
  const { daemonSet, running } = request;
  const { tolerations } = daemonSet;
  const { declared, needs } = declaredTolerations(
    policies.tolerationPolicies,
    (policy) => policy.mode === 'Mutate' && policy.selectsDaemonSet(daemonSet),
  );
  const missing = missingIn(daemonSet, needs);
  if (missing.length === 0) return allow();

  const additions = (running && removedFromEnd(tolerations, declared, running)) ?? missing;
  if (additions.length === 0) return allow();
  const uncertain = uncertainAmong(tolerations);
  return patch(
    { tolerations: [...tolerations, ...additions.map(({ toleration }) => toleration)] },
    additions.map((one) => tolerationViolation(one, missingOutcome('Added'))),
    additions.flatMap((one) => [
      addedWarning(source(one), `toleration ${subject(one)}`),
      ...unsupportedOperatorWarnings(uncertain, one),
    ]),
  );
}

/**
 * Judges a running DaemonSet by the policies with `existing: Patch`, as if it were created now. A DaemonSet that opts out or is being deleted lacks
 * nothing. A DaemonSet with more than {@link MAX_TOLERATIONS} is not changed, but the violations name the missing tolerations.
 * @param daemonSet as the leader keeps it, so that its size is limited
 */
export function judgeRunningDaemonSet(
  daemonSet: DaemonSetView,
  policies: TolerationPolicies,
): Decision<DesiredDaemonSet> {
  const tolerationPolicies = patchingExisting(policies.tolerationPolicies);
  if (!hasTooManyTolerations(daemonSet)) {
    return judgeDaemonSet.mutate({ daemonSet }, { tolerationPolicies });
  }
  if (isLeftAlone(daemonSet)) return allow();
  const { needs } = declaredTolerations(tolerationPolicies, (policy) => policy.selectsDaemonSet(daemonSet));
  return allow(missingIn(daemonSet, needs).map((one) => tolerationViolation(one, missingOutcome('Reported'))));
}

/** What a DaemonSet lacks of the tolerations that policies require. */
export interface LackedTolerations {
  readonly missing: readonly DeclaredToleration[];
  /** Those that it tolerates for a shorter time. */
  readonly cutShort: readonly CutShortToleration[];
}

export interface CutShortToleration {
  readonly required: DeclaredToleration;
  /** The toleration of the DaemonSet that comes first, so that adding another one has no effect. */
  readonly by: Toleration;
}

const LACKS_NOTHING: LackedTolerations = { missing: [], cutShort: [] };

/**
 * What a running DaemonSet lacks, however many tolerations it has. One that opts out or is being deleted lacks nothing.
 * @param daemonSet as the leader keeps it, so that its size is limited
 */
export function lackedByRunning(daemonSet: DaemonSetView, policies: TolerationPolicies): LackedTolerations {
  return isLeftAlone(daemonSet) ? LACKS_NOTHING : lackedBy(daemonSet, policies);
}

export function lacksAny({ missing, cutShort }: LackedTolerations): boolean {
  return missing.length > 0 || cutShort.length > 0;
}

function lackedBy(daemonSet: DaemonSetView, policies: TolerationPolicies): LackedTolerations {
  const { needs } = declaredTolerations(policies.tolerationPolicies, (policy) => policy.selectsDaemonSet(daemonSet));
  return {
    missing: missingIn(daemonSet, needs),
    cutShort: needs.flatMap((need) => {
      const by = cutShortBy(daemonSet.tolerations, need);
      return by ? [{ required: need.required, by }] : [];
    }),
  };
}

/** Returns the same list each time, because {@link declaredTolerations} caches by list. */
const patchingExisting = oncePer((policies: readonly CompiledTolerationPolicy[]) =>
  policies.filter(({ patchesExisting }) => patchesExisting),
);

function validateDaemonSet(request: DaemonSetRequest, policies: TolerationPolicies): Decision<never> {
  return unjudged(request, policies) ?? reportMissing(request.daemonSet, policies);
}

function reportMissing(daemonSet: DaemonSetView, policies: TolerationPolicies): Decision<never> {
  const { missing, cutShort } = lackedBy(daemonSet, policies);
  // A toleration with too short a time is reported in every mode, and never changed.
  const outcomeOf = ({ policy }: DeclaredToleration) =>
    missingOutcome(policy.mode === 'Audit' ? 'Audited' : 'Reported');
  const uncertain = uncertainAmong(daemonSet.tolerations);
  const missingText = (one: DeclaredToleration, what: string) =>
    `${source(one)}${one.policy.mode === 'Audit' ? ', Audit' : ''}: toleration ${what} is missing`;
  const warning = (one: DeclaredToleration) =>
    isOnTrial(one.policy) ? wouldAddWarning(source(one), `toleration ${subject(one)}`) : missingText(one, subject(one));
  return allow(
    [
      ...missing.map((one) =>
        tolerationViolation(one, isOnTrial(one.policy) ? onTrial(missingOutcome('Added')) : outcomeOf(one)),
      ),
      ...cutShort.map(({ required }) => ({
        ...tolerationViolation(required, outcomeOf(required)),
        subject: formatSeconds(required.toleration),
      })),
    ],
    [
      ...missing.flatMap((one) => [warning(one), ...unsupportedOperatorWarnings(uncertain, one)]),
      ...cutShort.flatMap(({ required, by }) => [
        missingText(required, formatSeconds(required.toleration)),
        `toleration ${formatSeconds(by)} comes first: change its tolerationSeconds in the DaemonSet`,
      ]),
    ],
  );
}

/** The tolerations with an operator that this program does not know, as many as fit into the warnings. */
function uncertainAmong(tolerations: readonly Toleration[]): Toleration[] {
  return tolerations.filter(hasUnknownOperator).slice(0, MAX_WARNINGS);
}

/** Warnings about those that might cover the missing one: they have its key, because the API server accepts an empty key only with `Exists`. */
function unsupportedOperatorWarnings(
  uncertain: readonly Toleration[],
  { toleration: missing }: DeclaredToleration,
): string[] {
  return uncertain
    .filter(({ key }) => key === missing.key)
    .map(
      (toleration) => `toleration ${formatToleration(toleration)}: operator not supported, treated as not tolerating`,
    );
}

function tolerationViolation(
  { policy: { name, mode }, field, toleration }: DeclaredToleration,
  outcome: Outcome,
): Violation {
  return {
    policyKind: 'TolerationPolicy',
    policy: name,
    field,
    mode,
    ...outcome,
    subject: formatToleration(toleration),
  };
}

function source({ policy }: DeclaredToleration): string {
  return `TolerationPolicy ${policy.name}`;
}

function subject({ toleration }: DeclaredToleration): string {
  return formatToleration(toleration);
}
