import { fixCommandFor, type GapRemedy, gapRemedy, rolloutCommandFor } from '../coverage/gap-remedy.ts';
import { gapsOf } from '../coverage/gaps.ts';
import { startupRulesOf } from '../coverage/startup-rules.ts';
import { managerOf } from '../coverage/workload.ts';
import { IGNORE_ANNOTATION, MAX_TOLERATIONS } from '../judge/daemon-set-view.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { describeOwner, lastOtherWriter, type ManagedFields, managedFieldsOf } from '../objects/managed-fields.ts';
import { viewInstalledDaemonSet } from '../objects/workload-object.ts';
import { isNodeCritical } from '../scheduling/node-critical.ts';
import { type MissingPod, missingPods, type Placement } from '../scheduling/placement.ts';
import { count } from '../text/counts.ts';
import { shellWord } from '../text/printable.ts';
import {
  type DaemonExplanation,
  type DaemonFacts,
  inForceOf,
  isEvicted,
  lacksTolerations,
  type NamespacedName,
  problemsFor,
} from './daemon-explained.ts';
import { leftAloneLines, placeSection, policySection, tolerationSection } from './daemon-sections.ts';
import type { FormattedExplanation, Section, Step } from './display.ts';
import { type PoliciesOnDaemonSet, policiesOnDaemonSet, type TolerationOnDaemon } from './policies-on-daemon.ts';
import { namedBy, type PolicyField } from './policy-field.ts';
import { notesOnUnusable } from './policy-problems.ts';
import { closing, filled } from './sections.ts';

/** The explanation of a DaemonSet, as data. */
export interface DaemonSetExplanation extends DaemonExplanation, PoliciesOnDaemonSet {
  readonly kind: 'daemonset';
  /** Its last field manager, except of its status and except taintkeeper. */
  readonly writtenBy: ManagedFields | undefined;
  /** The nodes on which its pods are missing. */
  readonly missingPods: readonly MissingPod[];
  /** The command that lets it run on the nodes that taints keep it off. */
  readonly remedy?: GapRemedy;
}

/** The facts besides the DaemonSet itself. */
interface DaemonSetFacts extends DaemonFacts {
  /** Where its pods are; undefined if that is not known. */
  readonly placement?: Placement | undefined;
}

/**
 * Explains a DaemonSet.
 * @param object as the API server returned it
 * @throws MalformedObjectError
 */
export function explainDaemonSet(
  object: unknown,
  place: NamespacedName,
  { nodes, policies, placement, audit, events, notes }: DaemonSetFacts,
): DaemonSetExplanation {
  const { namespace, name } = place;
  const { controller, priorityClass, pluginDirectories, ...scheduling } = viewInstalledDaemonSet(object, [], namespace);
  const daemonSet = { ...scheduling, ...viewDaemonSet(asDaemonSet(object, []), namespace, name) };
  const inForce = inForceOf(policies, audit);
  const { compiled } = inForce;
  const explained = policiesOnDaemonSet(daemonSet, nodes, inForce);
  const gaps = gapsOf({ daemonSets: [daemonSet], nodes, startup: startupRulesOf(compiled.taintPolicies) });
  const remedy = gapRemedy(gaps, compiled.tolerationPolicies, isNodeCritical(priorityClass, pluginDirectories));
  const runsOn = new Set(explained.places.flatMap(({ runs, nodes }) => (runs ? nodes : [])));
  return {
    kind: 'daemonset',
    ...place,
    ...explained,
    managedBy: managerOf({ ...daemonSet, controller }),
    owner: controller,
    writtenBy: lastOtherWriter(managedFieldsOf(object)),
    missingPods: placement ? missingPods(placement, runsOn) : [],
    problems: problemsFor(explained, policies),
    ...(remedy ? { remedy } : {}),
    events,
    notes: [...notes, ...notesOnUnusable(policies)],
  };
}

/** Formats the explanation for people. */
export function formatDaemonSet(explained: DaemonSetExplanation): FormattedExplanation {
  const { namespace, name, writtenBy, managedBy, permanentTaints } = explained;
  return {
    sections: filled([
      tolerationSection(`daemonset ${namespace}/${name}`, explained),
      {
        lines: [
          ...leftAloneLines('it', explained),
          ...(explained.tooManyTolerations
            ? [`it has more than ${MAX_TOLERATIONS} tolerations: no TolerationPolicy is applied to it`]
            : []),
          ...(writtenBy ? [`it was last written by ${describeOwner(writtenBy)}`] : []),
          ...(managedBy === undefined ? [] : [`it is managed by ${managedBy}`]),
        ],
      },
      policySection('This DaemonSet', explained),
      placeSection('Runs', explained),
      missingTable(explained),
      ...closing(explained),
    ]),
    next: nextStep(explained),
    isOk: !lacksTolerations(explained) && permanentTaints.length === 0,
  };
}

function missingTable({ missingPods }: DaemonSetExplanation): Section {
  const alike = [...Map.groupBy(missingPods, ({ why }) => why)];
  return {
    head: ['Missing pods', 'Which nodes', 'Why'],
    rows: alike.map(([why, pods]) => [String(pods.length), { nodes: pods.map(({ node }) => node) }, why]),
  };
}

/**
 * The one thing to do. The order is the rule:
 * 1. What keeps every policy from adding tolerations: the annotation, too many tolerations, --audit.
 * 2. Tolerations that a policy of mode Mutate requires, that no policy requires yet, or that only a policy of mode Audit requires.
 * 3. Problems of policies, evictions, pods that are missing where no taint keeps them off, and its own tolerations that end before those of policies.
 * 4. Gaps that no policy can close, and taints that are removed without a user.
 */
function nextStep(explained: DaemonSetExplanation): Step {
  const { tolerations, permanentTaints, waiting, notRequired, missingPods, problems, remedy } = explained;
  const missing = tolerations.filter(({ state }) => state === 'missing');
  const cutShort = missing.filter(({ cutShortBy }) => cutShortBy);
  const lacking = missing.filter(({ cutShortBy }) => !cutShortBy).flatMap(({ by }) => by);
  const lackingByMutate = lacking.filter(({ mode }) => mode === 'Mutate');
  const hasGaps = permanentTaints.length > 0;

  if (explained.deleting) return { note: 'nothing: it is being deleted' };
  if (explained.optsOut && hasGaps) return removeIgnoreAnnotation(explained);
  if (explained.tooManyTolerations && (hasGaps || lackingByMutate.length > 0)) return REMOVE_TOLERATIONS;
  if (explained.audit && hasGaps) return END_AUDIT;
  if (lackingByMutate.length > 0) return addRequired(explained, lackingByMutate);
  if (notRequired.length > 0 && remedy) return stepOf(remedy);
  if (hasGaps && lacking.length > 0) return setModeMutate(explained, lacking);
  if (problems.length > 0) return DOCTOR;
  if (isEvicted(explained)) return endEvictions(explained);
  if (missingPods.length > 0) return readEvents(explained);
  if (cutShort.length > 0) return lengthen(cutShort);
  if (hasGaps) return { note: `no policy can name it or the taint: if it is meant to run there, ${ADD_IT_THERE}` };
  if (waiting.length > 0) return waitForRemoval(explained);
  return { note: 'nothing: no taint keeps it off a node' };
}

const AUDIT_ADDS_NONE = 'taintkeeper runs with --audit and adds no toleration';
const ADD_IT_THERE = 'add the toleration to the DaemonSet';

const END_AUDIT: Step = { note: `${AUDIT_ADDS_NONE}: run it without --audit, or ${ADD_IT_THERE}` };
const REMOVE_TOLERATIONS: Step = {
  note: `remove tolerations that its pods do not need, until it has ${MAX_TOLERATIONS} at most, or ${ADD_IT_THERE}`,
};
const DOCTOR: Step = { command: 'taintkeeper doctor' };

function removeIgnoreAnnotation({ namespace, name }: NamespacedName): Step {
  return { command: `kubectl annotate -n ${shellWord(namespace)} daemonset ${shellWord(name)} ${IGNORE_ANNOTATION}-` };
}

/** @param lacking the policies of mode Mutate whose tolerations it lacks */
function addRequired(explained: DaemonSetExplanation, lacking: readonly PolicyField[]): Step {
  const isPatched = explained.policies.some(
    ({ policy, patchesExisting }) => patchesExisting && lacking.some((by) => by.policy === policy),
  );
  // The leader patches one DaemonSet after the other, if it has the right.
  if (isPatched && explained.notRequired.length === 0) return DOCTOR;
  return explained.remedy ? stepOf(explained.remedy) : { command: rolloutCommandFor(explained) };
}

/** @param lacking the policies of mode Audit whose tolerations it lacks */
function setModeMutate(explained: NamespacedName, lacking: readonly PolicyField[]): Step {
  const auditing = [...new Set(lacking.map(({ policy }) => policy))].join(', ');
  return {
    note: `TolerationPolicy ${auditing} requires the toleration, but adds none in mode Audit: set the policy to mode Mutate, then ${rolloutCommandFor(explained)}`,
  };
}

function endEvictions({ addedAgain }: DaemonSetExplanation): Step {
  const first = 'its first toleration that matches the taint above';
  const change =
    addedAgain.length === 0
      ? `remove tolerationSeconds from ${first}, or the toleration if it is not meant to run there`
      : `in TolerationPolicy ${namedBy(addedAgain)}, remove tolerationSeconds, or the toleration if its DaemonSets are not meant to run there. Then do the same in the DaemonSet, for ${first}`;
  return { note: `its pods are evicted repeatedly: ${change}` };
}

function lengthen(cutShort: readonly TolerationOnDaemon[]): Step {
  const own = new Set(cutShort.flatMap(({ cutShortBy = [] }) => cutShortBy));
  const required = new Set(cutShort.map(({ toleration, by }) => `${toleration} is required by ${namedBy(by)}`));
  return {
    note: `change tolerationSeconds in the DaemonSet, in ${[...own].join(' and ')}: ${[...required].join('; ')}`,
  };
}

function readEvents({ namespace, name }: NamespacedName): Step {
  return {
    command: `kubectl get events -n ${shellWord(namespace)} --field-selector involvedObject.kind=DaemonSet,involvedObject.name=${shellWord(name)}`,
  };
}

function waitForRemoval(explained: DaemonSetExplanation): Step {
  const toRun = explained.audit
    ? `${ADD_IT_THERE}: ${AUDIT_ADDS_NONE}`
    : `apply what this prints: ${fixCommandFor(explained, explained.waiting)}`;
  return {
    note: `nothing, if it can wait until the taints above are removed. If it must run before, as a CNI must, ${toRun}`,
  };
}

function stepOf({ command, nodes }: GapRemedy): Step {
  return {
    command,
    note: `lets it run on ${count(nodes, 'more node')}, if it is meant to run there, and replaces its pods`,
  };
}
