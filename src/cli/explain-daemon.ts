import type { ApiClient } from '../cluster/client/api-client.ts';
import { isForbidden, isNotFound } from '../cluster/client/api-error.ts';
import { listDaemonPods, podStateOf } from '../cluster/daemon-pods.ts';
import type { PolicyObject } from '../cluster/policies.ts';
import { listObjects } from '../cluster/watch/list-pages.ts';
import type { SchedulingNode } from '../coverage/coverage.ts';
import { managerOf } from '../coverage/remedies.ts';
import { runsInAudit } from '../doctor/checks/policies.ts';
import { explainDaemonSet, explainPod } from '../doctor/daemon-explanation.ts';
import type { DaemonSetView } from '../judge/daemon-set.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { controllerOf, viewPodScheduling, viewScheduling } from '../objects/workload-object.ts';
import type { Policy } from '../policy/policy.ts';
import { listPolicies } from './cluster-options.ts';
import { readNode } from './coverage-input.ts';
import type { ExplainedDaemon } from './explain-daemon-output.ts';
import { readEvents, readObject, troublesOf, writerOf } from './explain-input.ts';

interface Place {
  readonly namespace: string;
  readonly name: string;
}

/** @throws InputError where there is no such DaemonSet, ApiError, MalformedObjectError */
export async function readDaemonSet(client: ApiClient, place: Place): Promise<ExplainedDaemon> {
  const { namespace, name } = place;
  const object = await readObject(client, pathOf('daemonset', place), `daemonset ${namespace}/${name}`);
  const [nodes, policies, told, pods] = await Promise.all([
    listNodes(client),
    readPolicies(client),
    readEvents(client, { kind: 'DaemonSet', ...place }),
    missingPods(client, place, object),
  ]);
  const daemonSet = {
    ...viewScheduling(object, [], namespace),
    ...viewDaemonSet(asDaemonSet(object, []), namespace, name),
  };
  const controller = controllerOf(object, []);
  const explained = explainDaemonSet(daemonSet, nodes, inForce(policies), { audit: policies.some(runsInAudit) });
  const runsOn = new Set(explained.places.flatMap(({ runs, nodes }) => (runs ? nodes : [])));
  return {
    kind: 'daemonset',
    ...place,
    ...explained,
    managedBy: controller ? `${controller.kind} ${controller.name}` : managerOf(daemonSet),
    writtenBy: writerOf(object, ['spec', 'template']),
    missingPods: pods.missing(runsOn),
    troubles: troublesFor(explained.policies, policies),
    events: told.events,
    notes: [...told.notes, ...pods.notes],
  };
}

/** @throws InputError where there is no such pod, ApiError, MalformedObjectError */
export async function readPod(client: ApiClient, place: Place): Promise<ExplainedDaemon> {
  const { namespace, name } = place;
  const object = await readObject(client, pathOf('pod', place), `pod ${namespace}/${name}`);
  const [nodes, policies, told] = await Promise.all([
    listNodes(client),
    readPolicies(client),
    readEvents(client, { kind: 'Pod', ...place }),
  ]);
  const controller = controllerOf(object, []);
  const owner =
    controller?.kind === 'DaemonSet' ? await readOwner(client, { namespace, name: controller.name }) : undefined;
  const { node, state, why } = podStateOf(object);
  const pod = { namespace, name, nodeName: '', hostNetwork: false, ...viewPodScheduling(object, []) };
  const own = owner && node !== undefined ? nodes.filter((each) => each.name === node) : nodes;
  const explained = explainPod(pod, owner, own, inForce(policies), { audit: policies.some(runsInAudit) });
  return {
    kind: 'pod',
    ...place,
    ...explained,
    pod: { node, state, why },
    managedBy: controller && `${controller.kind} ${controller.name}`,
    writtenBy: undefined,
    missingPods: [],
    troubles: troublesFor(explained.policies, policies),
    ...told,
  };
}

const RESOURCES = { daemonset: '/apis/apps/v1/namespaces', pod: '/api/v1/namespaces' } as const;

function pathOf(kind: keyof typeof RESOURCES, { namespace, name }: Place): string {
  return `${RESOURCES[kind]}/${encodeURIComponent(namespace)}/${kind}s/${encodeURIComponent(name)}`;
}

function listNodes(client: ApiClient): Promise<SchedulingNode[]> {
  return listObjects(client, '/api/v1/nodes', (object) => readNode(object, []));
}

async function readPolicies(client: ApiClient): Promise<PolicyObject[]> {
  const lists = await Promise.all([listPolicies(client, 'TolerationPolicy'), listPolicies(client, 'RecoveryPolicy')]);
  return lists.flat();
}

function inForce(policies: readonly PolicyObject[]): Policy[] {
  return policies.flatMap(({ inForce }) => inForce?.policy ?? []);
}

/** Of the policies that are for it. */
function troublesFor(
  found: ExplainedDaemon['policies'],
  policies: readonly PolicyObject[],
): ExplainedDaemon['troubles'] {
  const selecting = found.filter(({ unmet }) => unmet.length === 0);
  return policies
    .filter((object) => selecting.some(({ kind, policy }) => kind === object.kind && policy === object.name))
    .flatMap(troublesOf);
}

/** Undefined where it is gone: then no policy is for its pods. */
async function readOwner(client: ApiClient, place: Place): Promise<DaemonSetView | undefined> {
  try {
    const object = await client.request('GET', pathOf('daemonset', place));
    return viewDaemonSet(asDaemonSet(object, []), place.namespace, place.name);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Where pods are to be and are not, by the nodes on which it is to run. */
async function missingPods(client: ApiClient, { namespace }: Place, object: unknown) {
  const { metadata, spec } = object as { metadata: { uid: string }; spec: { selector: LabelSelector } };
  try {
    const pods = await listDaemonPods(client, { namespace, uid: metadata.uid, selector: spec.selector });
    const missing = (runsOn: ReadonlySet<string>) =>
      [...runsOn].flatMap((node) => {
        const pod = pods.get(node);
        if (pod?.state === 'scheduled') return [];
        return [{ node, why: pod === undefined ? 'it has no pod' : pod.why }];
      });
    return { missing, notes: [] };
  } catch (error) {
    if (!isForbidden(error)) throw error;
    return { missing: () => [], notes: [`its pods were not looked at: ${error.message}`] };
  }
}
