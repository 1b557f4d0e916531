import type { podStateOf } from '../cluster/daemon-pods.ts';
import { policiesInForce } from '../cluster/policy-object.ts';
import { fixCommandFor, type GapRemedy, gapRemedy, rolloutCommandFor } from '../coverage/gap-remedy.ts';
import { gapsOf } from '../coverage/gaps.ts';
import { startupRulesOf } from '../coverage/startup-deadlock.ts';
import { managerOf } from '../coverage/workload.ts';
import { type DaemonSetView, IGNORE_ANNOTATION, MAX_TOLERATIONS } from '../judge/daemon-set-view.ts';
import {
  askedKeys,
  DEFAULT_SERVICE_ACCOUNT,
  serviceAccountUser,
  TOLERATE,
} from '../judge/request/pod-authorization.ts';
import { count, shellWord } from '../kubernetes/text.ts';
import { formatToleration } from '../kubernetes/toleration.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { describeOwner, lastOtherWriter, type ManagedFields } from '../objects/managed-fields.ts';
import {
  hasResourceClaims,
  isMirrorPod,
  viewController,
  viewInstalledDaemonSet,
  viewPodScheduling,
  viewTolerator,
} from '../objects/workload-object.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';
import { isNodeCritical } from '../scheduling/node-critical.ts';
import { type MissingPod, missingPods, type Placement } from '../scheduling/placement.ts';
import {
  type InForce,
  type PoliciesOnDaemon,
  policiesOnDaemonSet,
  policiesOnPod,
  type TolerationOnDaemon,
} from './policies-on-daemon.ts';
import {
  closing,
  type Facts,
  type FormattedExplanation,
  filled,
  type Level,
  managedFieldsOf,
  namedBy,
  notesOnUnusable,
  type PolicyField,
  type PolicyProblem,
  problemsOf,
  type Section,
  type StateCell,
  type Step,
  selectedText,
  selectingFirst,
} from './sections.ts';

/** The explanation of a DaemonSet or a pod, as data. */
export interface DaemonExplanation extends PoliciesOnDaemon, Omit<Facts, 'policies'> {
  readonly kind: 'daemonset' | 'pod';
  readonly namespace: string;
  readonly name: string;
  /** For a pod: its state, and its node. */
  readonly pod?: PodState;
  readonly managedBy: string | undefined;
  /** Its controller, if it has one. */
  readonly owner: { readonly kind: string; readonly name: string } | undefined;
  /** The last field manager of a DaemonSet, except of its status and except taintkeeper. */
  readonly writtenBy: ManagedFields | undefined;
  /** The nodes on which pods of a DaemonSet are missing. */
  readonly missingPods: readonly MissingPod[];
  readonly problems: readonly PolicyProblem[];
  /** What lets a DaemonSet run on the nodes that taints keep it off. */
  readonly remedy?: GapRemedy;
  /** For a pod: the keys that TolerationRestrictions check when it is created. */
  readonly restrictions?: readonly RestrictionOnPod[];
}

/** A key of taints that a pod may tolerate only if it is authorized. */
export interface RestrictionOnPod extends PolicyField {
  readonly key: string;
  /** The tolerations of the pod for it, as kubectl writes them. */
  readonly tolerations: readonly string[];
  /** `NAMESPACE/NAME`. */
  readonly serviceAccount: string;
}

type PodState = ReturnType<typeof podStateOf>;

export interface NamespacedName {
  readonly namespace: string;
  readonly name: string;
}

/** The facts besides the DaemonSet itself. */
export interface DaemonFacts extends Facts {
  readonly nodes: readonly SchedulingNode[];
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
  { nodes, policies, placement, ...facts }: DaemonFacts,
): DaemonExplanation {
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

function inForceOf(objects: Facts['policies'], audit: boolean): InForce {
  const policies = policiesInForce(objects);
  return { policies, compiled: compilePolicies(policies, { audit }), audit };
}

/**
 * Explains a pod.
 * @param object as the API server returned it
 * @param owner the DaemonSet that controls it, if one does
 * @param state of the pod
 * @throws MalformedObjectError
 */
export function explainPod(
  object: unknown,
  place: NamespacedName,
  owner: DaemonSetView | undefined,
  state: PodState,
  { nodes, policies, ...facts }: Omit<DaemonFacts, 'placement'>,
): DaemonExplanation {
  const controller = viewController(object, []);
  const pod = { ...place, nodeName: '', hostNetwork: false, ...viewPodScheduling(object, []) };
  const own = owner && state.node !== undefined ? nodes.filter(({ name }) => name === state.node) : nodes;
  const inForce = inForceOf(policies, facts.audit);
  const explained = policiesOnPod(pod, owner, own, inForce);
  const restrictions = restrictionsOn(object, place, inForce.compiled);
  const notes = [
    ...facts.notes,
    ...notesOnUnusable(policies),
    ...(hasResourceClaims(object, []) ? [DEVICE_TAINTS] : []),
  ];
  return {
    kind: 'pod',
    ...place,
    ...explained,
    pod: state,
    managedBy: controller && `${controller.kind} ${controller.name}`,
    owner: controller,
    writtenBy: undefined,
    missingPods: [],
    problems: problemsFor(explained, policies),
    ...(restrictions.length === 0 ? {} : { restrictions }),
    ...facts,
    notes,
  };
}

function restrictionsOn(
  object: unknown,
  { namespace }: NamespacedName,
  { tolerationRestrictions }: PolicySet,
): RestrictionOnPod[] {
  if (isMirrorPod(object, [])) return [];
  const { pod } = viewTolerator('Pod', object, [], namespace);
  // The scheduler sets the node later. Afterwards, it is unknown whether the author of the pod had set it.
  const asked = askedKeys({ ...pod, nodeName: '' }, tolerationRestrictions);
  const serviceAccount = `${namespace}/${pod.serviceAccount || DEFAULT_SERVICE_ACCOUNT}`;
  return asked.map(({ policy, mode, key, fields: [field = ''], tolerations }) => ({
    ...{ policy, mode, field, key },
    ...{ tolerations: tolerations.map(formatToleration), serviceAccount },
  }));
}

function restrictionText({ key, tolerations, serviceAccount, ...by }: RestrictionOnPod): string {
  const [namespace = '', name = ''] = serviceAccount.split('/');
  const account = shellWord(serviceAccountUser(namespace, name));
  const command = `kubectl auth can-i ${TOLERATE.verb} ${TOLERATE.resource}.${TOLERATE.apiGroup}/${shellWord(key)} --as ${account}`;
  return (
    `${tolerations.join(', ')}: TolerationRestriction ${namedBy([by])} admits a new pod with it only if service account ${serviceAccount}, or the user who creates ` +
    `the pod without a controller, may tolerate ${key}: ${command}`
  );
}

/** Taints of devices (KEP-5055) block and evict pods as taints of nodes do. */
const DEVICE_TAINTS =
  'it has resource claims: taints of their devices are not covered here, see kubectl get resourceslices,devicetaintrules -o yaml';

function problemsFor({ policies: found }: PoliciesOnDaemon, policies: Facts['policies']): PolicyProblem[] {
  const selecting = found.filter(({ unmet }) => unmet.length === 0);
  return problemsOf(policies, ({ kind, name }) => selecting.some((one) => one.kind === kind && one.policy === name));
}

const LEVELS: Readonly<Record<TolerationOnDaemon['state'], Level>> = { missing: 'failed', asked: 'ok', own: 'quiet' };

const YES: StateCell = { text: 'yes', level: 'ok' };
const NOT_YET: StateCell = { text: 'not yet', level: 'attention' };
const NO: StateCell = { text: 'no', level: 'failed' };

/** Formats the explanation for people. */
export function formatDaemon(explained: DaemonExplanation): FormattedExplanation {
  const { kind, namespace, name, optsOut, tolerations, policies, places, writtenBy, managedBy, gaps, pod } = explained;
  const complete = tolerations.every(({ state }) => state !== 'missing') && (pod?.state ?? 'scheduled') === 'scheduled';
  return {
    sections: filled([
      tolerations.length === 0
        ? { lines: [`${kind} ${namespace}/${name} has no tolerations of its own, and no policy requires one there`] }
        : {
            head: ['Toleration', 'State', 'Why'],
            rows: tolerations.map((one) => [one.toleration, { text: one.state, level: LEVELS[one.state] }, whyOf(one)]),
          },
      {
        lines: [
          ...podLines(explained),
          ...(optsOut ? [`it is annotated ${IGNORE_ANNOTATION}: policies leave it alone`] : []),
          ...(explained.deleting
            ? [`${kind === 'pod' ? 'its DaemonSet' : 'it'} is being deleted: policies leave it alone`]
            : []),
          ...(explained.tooManyTolerations
            ? [`it has more than ${MAX_TOLERATIONS} tolerations: no TolerationPolicy is applied to it`]
            : []),
          ...(writtenBy ? [`it was last written by ${describeOwner(writtenBy)}`] : []),
          ...(managedBy === undefined ? [] : [`it is managed by ${managedBy}`]),
        ],
      },
      policies.length === 0
        ? { lines: isOthers(explained) ? [] : ['there are no TolerationPolicies and no RecoveryPolicies'] }
        : {
            head: ['Policy', 'Mode', kind === 'pod' ? 'Its DaemonSet' : 'This DaemonSet'],
            rows: selectingFirst(policies).map(({ kind, policy, mode, unmet }) => [
              { text: `${kind} ${policy}`, policy: `${kind}/${policy}` },
              mode,
              selectedText(unmet),
            ]),
          },
      {
        head: ['Nodes', 'Which', kind === 'pod' ? 'It can run' : 'Runs', 'Why not'],
        rows: places.map(({ nodes, runs, why, passing }) => [
          String(nodes.length),
          { nodes },
          runs ? YES : passing ? NOT_YET : NO,
          why.join('; '),
        ]),
      },
      missingTable(explained),
      ...closing(explained),
    ]),
    next: kind === 'pod' ? nextOfPod(explained) : nextOfDaemonSet(explained),
    isWell: complete && (gaps.length === 0 || pod !== undefined),
  };
}

function missingTable({ missingPods }: DaemonExplanation): Section {
  const alike = [...Map.groupBy(missingPods, ({ why }) => why)];
  return {
    head: ['Missing pods', 'Which nodes', 'Why'],
    rows: alike.map(([why, pods]) => [String(pods.length), { nodes: pods.map(({ node }) => node) }, why]),
  };
}

/** A pod that no policy selects. */
function isOthers({ kind, owner }: DaemonExplanation): boolean {
  return kind === 'pod' && owner?.kind !== 'DaemonSet';
}

function podLines(explained: DaemonExplanation): string[] {
  if (explained.pod === undefined) return [];
  const { node, state, why } = explained.pod;
  const where =
    node === undefined ? 'for no certain node' : state === 'scheduled' ? `on node ${node}` : `for node ${node}`;
  return [
    `it is ${state} ${where}${why === undefined ? '' : `: ${why}`}`,
    ...(isOthers(explained) ? ['it is not of a DaemonSet: no TolerationPolicy and no RecoveryPolicy is about it'] : []),
    ...(explained.restrictions ?? []).map(restrictionText),
  ];
}

function whyOf({ state, by }: TolerationOnDaemon): string {
  switch (state) {
    case 'own':
      return 'no policy asks for it';
    case 'asked':
      return `asked for by ${namedBy(by)}`;
    case 'missing':
      return `required by ${namedBy(by)}`;
  }
}

const AUDIT_ADDS_NONE = 'taintkeeper runs with --audit and adds no toleration';
const ADD_IT_THERE = 'add the toleration to the DaemonSet';

function nextOfDaemonSet(explained: DaemonExplanation): Step {
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

function nextOfPod({ namespace, name, tolerations, pod, owner, gaps }: DaemonExplanation): Step {
  const isLacking = gaps.length > 0 || tolerations.some(({ state }) => state === 'missing');
  if (owner?.kind === 'DaemonSet' && isLacking) {
    return { command: `taintkeeper explain daemonset ${shellWord(`${namespace}/${owner.name}`)}` };
  }
  if (pod && pod.state !== 'scheduled') {
    return { command: `kubectl describe pod -n ${shellWord(namespace)} ${shellWord(name)}` };
  }
  return { note: 'nothing: it is scheduled' };
}
