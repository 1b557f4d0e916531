import type { ApiClient } from '../../cluster/client/api-client.ts';
import { findObject } from '../../cluster/client/find-object.ts';
import { podStateOf, readPlacement } from '../../cluster/nodes/daemon-pods.ts';
import { listNodes } from '../../cluster/nodes/nodes.ts';
import type { NamespacedName } from '../../explain/daemon-explained.ts';
import { type DaemonSetExplanation, explainDaemonSet } from '../../explain/explain-daemon-set.ts';
import { explainPod, type PodExplanation } from '../../explain/explain-pod.ts';
import type { Facts } from '../../explain/explained-facts.ts';
import type { DaemonSetView } from '../../judge/daemon-set-view.ts';
import type { LabelSelector } from '../../kubernetes/label-selector.ts';
import { asDaemonSet, viewDaemonSet } from '../../objects/daemon-set-object.ts';
import { viewController } from '../../objects/workload-object.ts';
import type { PolicyKind } from '../../policy/policy.ts';
import type { Placement } from '../../scheduling/placement.ts';
import { installedPolicies } from '../installed-policies.ts';
import { pathOf, type Regarding, readFacts, readObject, unlessForbidden } from './explained-object.ts';

/** The kinds of policies about DaemonSets and their pods. */
const DAEMON_POLICIES = ['TolerationPolicy', 'RecoveryPolicy'] as const;

/** @throws InputError if there is no such DaemonSet, ApiError, MalformedObjectError */
export async function readDaemonSetExplanation(
  client: ApiClient,
  place: NamespacedName,
): Promise<DaemonSetExplanation> {
  const object = await readObject(client, pathOf('daemonset', place), `daemonset ${place.namespace}/${place.name}`);
  const [nodes, facts, pods] = await Promise.all([
    listNodes(client),
    readDaemonFacts(client, { kind: 'DaemonSet', ...place }),
    unlessForbidden(placementOf(client, place, object), 'its pods were not read'),
  ]);
  const notes = [...facts.notes, ...pods.notes];
  return explainDaemonSet(object, place, { ...facts, nodes, notes, placement: pods.value });
}

/**
 * The policies about DaemonSets, those of other kinds, and the Events on an object. TaintPolicies, whose startup taints keep pods off for a while,
 * are among the policies if they may be read.
 * @throws InputError if taintkeeper is not installed, ApiError
 */
async function readDaemonFacts(
  client: ApiClient,
  regarding: Regarding,
  ...others: readonly PolicyKind[]
): Promise<Facts> {
  const [facts, taintPolicies] = await Promise.all([
    readFacts(client, [...DAEMON_POLICIES, ...others], regarding),
    unlessForbidden(installedPolicies(client, 'TaintPolicy'), 'TaintPolicies were not read'),
  ]);
  const { value = [], notes } = taintPolicies;
  return { ...facts, policies: [...facts.policies, ...value], notes: [...facts.notes, ...notes] };
}

/** @throws InputError if there is no such pod, ApiError, MalformedObjectError */
export async function readPodExplanation(client: ApiClient, place: NamespacedName): Promise<PodExplanation> {
  const object = await readObject(client, pathOf('pod', place), `pod ${place.namespace}/${place.name}`);
  const [nodes, facts] = await Promise.all([
    listNodes(client),
    readDaemonFacts(client, { kind: 'Pod', ...place }, 'TolerationRestriction'),
  ]);
  const controller = viewController(object, []);
  const owner =
    controller?.kind === 'DaemonSet' ? await readOwner(client, { ...place, name: controller.name }) : undefined;
  return explainPod(object, place, owner, podStateOf(object), { ...facts, nodes });
}

/** Undefined if it was deleted: then no policy selects its pods. */
async function readOwner(client: ApiClient, place: NamespacedName): Promise<DaemonSetView | undefined> {
  const object = await findObject(client, pathOf('daemonset', place));
  return object === undefined ? undefined : viewDaemonSet(asDaemonSet(object, []), place.namespace, place.name);
}

/** Where the pods of a DaemonSet are. @throws ApiError */
async function placementOf(client: ApiClient, { namespace }: NamespacedName, object: unknown): Promise<Placement> {
  const { metadata, spec } = object as { metadata: { uid: string }; spec: { selector: LabelSelector } };
  return readPlacement(client, { namespace, uid: metadata.uid, selector: spec.selector });
}
