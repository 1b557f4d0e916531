import { fixCommandFor, type GapRemedy, gapRemedy, rolloutCommandFor } from '../coverage/gap-remedy.ts';
import { gapsOf } from '../coverage/gaps.ts';
import { startupRulesOf } from '../coverage/startup-deadlock.ts';
import { managerOf } from '../coverage/workload.ts';
import { IGNORE_ANNOTATION, MAX_TOLERATIONS } from '../judge/daemon-set-view.ts';
import { count, shellWord } from '../kubernetes/text.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { describeOwner, lastOtherWriter, type ManagedFields } from '../objects/managed-fields.ts';
import { viewInstalledDaemonSet } from '../objects/workload-object.ts';
import { isNodeCritical } from '../scheduling/node-critical.ts';
import { type MissingPod, missingPods, type Placement } from '../scheduling/placement.ts';
import {
  type DaemonExplanation,
  type DaemonFacts,
  inForceOf,
  lacksTolerations,
  leftAloneLines,
  type NamespacedName,
  placeSection,
  policySection,
  problemsFor,
  tolerationSection,
} from './daemon-sections.ts';
import { type PoliciesOnDaemonSet, policiesOnDaemonSet } from './policies-on-daemon.ts';
import {
  closing,
  type FormattedExplanation,
  filled,
  managedFieldsOf,
  notesOnUnusable,
  type Section,
  type Step,
} from './sections.ts';

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
  { nodes, policies, placement, ...facts }: DaemonSetFacts,
): DaemonSetExplanation {
  const { namespace, name } = place;
  const { controller, priorityClass, pluginDirectories, ...scheduling } = viewInstalledDaemonSet(object, [], namespace);
  const daemonSet = { ...scheduling, ...viewDaemonSet(asDaemonSet(object, []), namespace, name) };
  const inForce = inForceOf(policies, facts.audit);
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
    ...facts,
    notes: [...facts.notes, ...notesOnUnusable(policies)],
  };
}

/** Formats the explanation for people. */
export function formatDaemonSet(explained: DaemonSetExplanation): FormattedExplanation {
  const { namespace, name, writtenBy, managedBy, gaps } = explained;
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
    isWell: !lacksTolerations(explained) && gaps.length === 0,
  };
}

function missingTable({ missingPods }: DaemonSetExplanation): Section {
  const alike = [...Map.groupBy(missingPods, ({ why }) => why)];
  return {
    head: ['Missing pods', 'Which nodes', 'Why'],
    rows: alike.map(([why, pods]) => [String(pods.length), { nodes: pods.map(({ node }) => node) }, why]),
  };
}

const AUDIT_ADDS_NONE = 'taintkeeper runs with --audit and adds no toleration';
const ADD_IT_THERE = 'add the toleration to the DaemonSet';

function nextStep(explained: DaemonSetExplanation): Step {
  const { namespace, name, tolerations, policies, gaps, waiting, unasked, optsOut, missingPods, problems, remedy } =
    explained;
  if (explained.deleting) return { note: 'nothing: it is being deleted' };
  if (optsOut && gaps.length > 0) {
    return {
      command: `kubectl annotate -n ${shellWord(namespace)} daemonset ${shellWord(name)} ${IGNORE_ANNOTATION}-`,
    };
  }
  const missing = tolerations.flatMap(({ state, by }) => (state === 'missing' ? by : []));
  const missingBy = missing.filter(({ mode }) => mode === 'Mutate');
  if (explained.tooManyTolerations && (gaps.length > 0 || missingBy.length > 0)) {
    return {
      note: `remove tolerations that its pods do not need, until it has ${MAX_TOLERATIONS} at most, or ${ADD_IT_THERE}`,
    };
  }
  if (explained.audit && gaps.length > 0) {
    return { note: `${AUDIT_ADDS_NONE}: run it without --audit, or ${ADD_IT_THERE}` };
  }
  if (missingBy.length > 0) {
    const isPatched = policies.some(
      ({ policy, patchesExisting }) => patchesExisting && missingBy.some((by) => by.policy === policy),
    );
    // The leader patches one DaemonSet after the other, if it has the right.
    if (isPatched && unasked.length === 0) return { command: 'taintkeeper doctor' };
    return remedy === undefined ? { command: rolloutCommandFor(explained) } : stepOf(remedy);
  }
  if (unasked.length > 0 && remedy !== undefined) return stepOf(remedy);
  if (gaps.length > 0 && missing.length > 0) {
    const auditing = [...new Set(missing.map(({ policy }) => policy))].join(', ');
    return {
      note: `TolerationPolicy ${auditing} asks for the toleration, but adds none in mode Audit: set the policy to mode Mutate, then ${rolloutCommandFor(explained)}`,
    };
  }
  if (problems.length > 0) return { command: 'taintkeeper doctor' };
  if (missingPods.length > 0) {
    return {
      command: `kubectl get events -n ${shellWord(namespace)} --field-selector involvedObject.kind=DaemonSet,involvedObject.name=${shellWord(name)}`,
    };
  }
  if (gaps.length > 0) {
    return { note: `no policy can name it or the taint: if it is meant to run there, ${ADD_IT_THERE}` };
  }
  if (waiting.length > 0) {
    const toRun = explained.audit
      ? `${ADD_IT_THERE}: ${AUDIT_ADDS_NONE}`
      : `apply what this prints: ${fixCommandFor(explained, waiting)}`;
    return {
      note: `nothing, if it can wait until the taints above are removed. If it must run before, as a CNI must, ${toRun}`,
    };
  }
  return { note: 'nothing: no taint keeps it off a node' };
}

function stepOf({ command, nodes }: GapRemedy): Step {
  return {
    command,
    note: `lets it run on ${count(nodes, 'more node')}, if it is meant to run there, and replaces its pods`,
  };
}
