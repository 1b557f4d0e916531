import { isSettled, type podStateOf } from '../cluster/nodes/daemon-pods.ts';
import type { DaemonSetView } from '../judge/daemon-set-view.ts';
import { lackedByRunning, lacksAny } from '../judge/request/daemon-set.ts';
import { neededAuthorizations, TOLERATE } from '../judge/request/pod-authorization.ts';
import { DEFAULT_SERVICE_ACCOUNT, serviceAccountUser } from '../kubernetes/system-users.ts';
import { formatToleration } from '../kubernetes/toleration.ts';
import { hasResourceClaims, isMirrorPod, viewPodScheduling } from '../objects/pod-object.ts';
import { viewController, viewTolerator } from '../objects/workload-object.ts';
import type { PolicySet } from '../policy/policy-set.ts';
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
import type { FormattedExplanation, Step } from './display.ts';
import { policiesOnPod } from './policies-on-daemon.ts';
import { namedBy, type PolicyField } from './policy-field.ts';
import { notesOnUnusable } from './policy-problems.ts';
import { closing, filled } from './sections.ts';

/** The explanation of a pod, as data. */
export interface PodExplanation extends DaemonExplanation {
  readonly kind: 'pod';
  /** Its state, and its node. */
  readonly pod: PodState;
  /** True if the template of its DaemonSet has the tolerations that it lacks: only a new pod gets them. */
  readonly outdated?: true;
  /** The keys that TolerationRestrictions check when it is created. Absent if there are none. */
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
  { nodes, policies, audit, events, notes }: DaemonFacts,
): PodExplanation {
  const controller = viewController(object, []);
  const pod = { ...place, nodeName: '', hostNetwork: false, ...viewPodScheduling(object, []) };
  const own = owner && state.node !== undefined ? nodes.filter(({ name }) => name === state.node) : nodes;
  const inForce = inForceOf(policies, audit);
  const explained = policiesOnPod(pod, owner, own, inForce);
  const isOutdated =
    owner !== undefined && lacksTolerations(explained) && !lacksAny(lackedByRunning(owner, inForce.compiled));
  const restrictions = restrictionsOn(object, place, inForce.compiled);
  return {
    kind: 'pod',
    ...place,
    ...explained,
    pod: state,
    managedBy: controller && `${controller.kind} ${controller.name}`,
    owner: controller,
    problems: problemsFor(explained, policies),
    ...(isOutdated ? { outdated: true } : {}),
    ...(restrictions.length === 0 ? {} : { restrictions }),
    events,
    notes: [...notes, ...notesOnUnusable(policies), ...(hasResourceClaims(object, []) ? [DEVICE_TAINTS] : [])],
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
  const asked = neededAuthorizations({ ...pod, nodeName: '' }, tolerationRestrictions);
  const serviceAccount = `${namespace}/${pod.serviceAccount || DEFAULT_SERVICE_ACCOUNT}`;
  return asked.map(({ policy, mode, key, fields: [field = ''], tolerations }) => ({
    policy,
    mode,
    field,
    key,
    tolerations: tolerations.map(formatToleration),
    serviceAccount,
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

/** Formats the explanation for people. */
export function formatPod(explained: PodExplanation): FormattedExplanation {
  const { namespace, name, managedBy, pod } = explained;
  return {
    sections: filled([
      tolerationSection(`pod ${namespace}/${name}`, explained),
      {
        lines: [
          ...podLines(explained),
          ...leftAloneLines('its DaemonSet', explained),
          ...(managedBy === undefined ? [] : [`it is managed by ${managedBy}`]),
        ],
      },
      ...(isOfDaemonSet(explained) ? [policySection('Its DaemonSet', explained)] : []),
      placeSection('It can run', explained),
      ...closing(explained),
    ]),
    next: nextStep(explained),
    isOk: !lacksTolerations(explained) && isSettled(pod),
  };
}

/** Policies select only pods of DaemonSets. */
function isOfDaemonSet({ owner }: PodExplanation): boolean {
  return owner?.kind === 'DaemonSet';
}

function podLines(explained: PodExplanation): string[] {
  const { node, state, why } = explained.pod;
  const where = node === undefined ? 'for no certain node' : `${isSettled(explained.pod) ? 'on' : 'for'} node ${node}`;
  return [
    `it is ${state} ${where}${why === undefined ? '' : `: ${why}`}`,
    ...(isOfDaemonSet(explained)
      ? []
      : ['it is not of a DaemonSet: no TolerationPolicy and no RecoveryPolicy is about it']),
    ...(explained.restrictions ?? []).map(restrictionText),
  ];
}

function nextStep(explained: PodExplanation): Step {
  const { namespace, name, pod, owner, permanentTaints, outdated } = explained;
  const place = `-n ${shellWord(namespace)} ${shellWord(name)}`;
  if (pod.state === 'completed') return { note: 'nothing: it has completed' };
  if (outdated) {
    return {
      command: `kubectl delete pod ${place}`,
      note: 'a new pod has the tolerations: its DaemonSet got them later',
    };
  }
  if (
    owner?.kind === 'DaemonSet' &&
    (permanentTaints.length > 0 || lacksTolerations(explained) || isEvicted(explained))
  ) {
    return { command: `taintkeeper explain daemonset ${shellWord(`${namespace}/${owner.name}`)}` };
  }
  if (pod.state !== 'scheduled') {
    return { command: `kubectl describe pod ${place}` };
  }
  return { note: 'nothing: it is scheduled' };
}
