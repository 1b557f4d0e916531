import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { POLICY_GROUP, POLICY_RESOURCES, type PolicyObject, viewPolicy } from '../cluster/policies.ts';
import { listPages } from '../cluster/watch/list-pages.ts';
import { ADMISSION_REGISTRATION, CONFIGURATIONS } from '../cluster/webhook-configurations.ts';
import { readBuiltinPolicies } from '../files/builtin-policies.ts';
import { parsePolicies } from '../files/policy-files.ts';
import type { DaemonSetView } from '../judge/daemon-set.ts';
import { asDaemonSet, viewDaemonSet } from '../objects/daemon-set-object.ts';
import { asNode, viewNode } from '../objects/node-object.ts';
import type { PolicyKind } from '../policy/policy.ts';
import type { PolicyStatus } from '../policy/policy-status.ts';
import type {
  ConfigurationFacts,
  DoctorNode,
  RegisteredConfiguration,
  RegisteredWebhook,
} from './configuration-facts.ts';
import { readInstallation } from './read-installation.ts';
import { read } from './reading.ts';
import { reviewRights } from './review-rights.ts';
import { watchLease } from './watch-lease.ts';

/** For a list as a whole. */
const LIST_TIMEOUT_MS = 15_000;
const PAGE_SIZE = 500;
/** The leader writes statuses every 5 s at most (src/leader.ts); one that has not followed after this time is behind. */
const STATUS_PAUSE_MS = 6_000;

/** Where to look. */
export interface Place {
  readonly namespace: string;
  readonly service: string;
  readonly secret: string;
}

/** Reads all that the configuration checks look at. What cannot be read says so; nothing is thrown. */
export async function gatherConfiguration(client: ApiClient, place: Place): Promise<ConfigurationFacts> {
  const installation = await readInstallation(client, place);
  const [builtin, policies, nodes, daemonSets, webhooks, rights, lease, version, metrics] = await Promise.all([
    readBuiltinPolicies(),
    read(() => settledPolicies(client)),
    read(() => listAll(client, '/api/v1/nodes', projectNode)),
    read(() => listAll(client, '/apis/apps/v1/daemonsets', projectDaemonSet)),
    read(() => listConfigurations(client)),
    read(() => reviewRights(client, installation)),
    read(() => watchLease(client, installation)),
    read(async () => (await client.request<{ gitVersion: string }>('GET', '/version')).gitVersion),
    read(() => client.request<string>('GET', '/metrics', { accept: 'text/plain' })),
  ]);
  return {
    installation,
    builtin: parsePolicies(builtin),
    policies,
    nodes,
    daemonSets,
    webhooks,
    rights,
    lease,
    version,
    metrics,
  };
}

/** The policies. Where the status of one is behind, they are looked at once more after a while. */
async function settledPolicies(client: ApiClient): Promise<PolicyObject[]> {
  const policies = await listPolicies(client);
  if (policies.every(isObserved)) return policies;
  await delay(STATUS_PAUSE_MS);
  return listPolicies(client);
}

async function listPolicies(client: ApiClient): Promise<PolicyObject[]> {
  const lists = Object.entries(POLICY_RESOURCES).map(([kind, resource]) =>
    listAll(client, `${POLICY_GROUP}/${resource}`, (object) => viewPolicy(kind as PolicyKind, object)),
  );
  return (await Promise.all(lists)).flat();
}

function isObserved({ status, generation }: PolicyObject): boolean {
  return (status as PolicyStatus | undefined)?.observedGeneration === generation;
}

async function listConfigurations(client: ApiClient): Promise<RegisteredConfiguration[]> {
  const lists = Object.values(CONFIGURATIONS).map(({ resource }) =>
    listAll(client, `${ADMISSION_REGISTRATION}/${resource}`, (object): RegisteredConfiguration => {
      const { metadata, webhooks } = object as {
        metadata: { name: string };
        webhooks?: readonly RegisteredWebhook[] | null;
      };
      return { resource, name: metadata.name, webhooks: webhooks ?? [] };
    }),
  );
  return (await Promise.all(lists)).flat();
}

function projectNode(object: unknown): DoctorNode {
  const { status } = object as { status?: { nodeInfo?: { kubeletVersion?: string } } };
  return { ...viewNode(asNode(object, []), ''), kubeletVersion: status?.nodeInfo?.kubeletVersion ?? '' };
}

function projectDaemonSet(object: unknown): DaemonSetView {
  const { metadata } = object as { metadata: { namespace?: string } };
  return viewDaemonSet(asDaemonSet(object, []), metadata.namespace ?? '', '');
}

async function listAll<T>(client: ApiClient, path: string, project: (object: unknown) => T): Promise<T[]> {
  const items: T[] = [];
  const options = { query: {}, pageSize: PAGE_SIZE, signal: AbortSignal.timeout(LIST_TIMEOUT_MS) };
  for await (const page of listPages(client, path, options)) for (const item of page.items) items.push(project(item));
  return items;
}
