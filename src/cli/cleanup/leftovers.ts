import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isForbidden, isNotServed } from '../../cluster/client/api-error.ts';
import {
  type ClusterDaemonSet,
  type ClusterNode,
  projectDaemonSet,
  projectNode,
} from '../../cluster/objects/cluster-objects.ts';
import { listPolicies } from '../../cluster/policies/policies.ts';
import { kindsWithoutDefinition } from '../../cluster/policies/policy-definitions.ts';
import { type PolicyObject, policiesInForce } from '../../cluster/policies/policy-object.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { type LeftBehind, leftOnDaemonSet, leftOnNode } from '../../judge/left-behind.ts';
import { carriedStartup } from '../../judge/startup/startup-requirement.ts';
import type { StringMap } from '../../kubernetes/label-selector.ts';
import { sameTaint, type Taint } from '../../kubernetes/taint.ts';
import type { Toleration } from '../../kubernetes/toleration.ts';
import type { CompiledTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { missingRightError } from '../command-rights.ts';

/** A Node or a DaemonSet, and what taintkeeper left on it. */
export type Leftover = LeftOnNode | LeftOnDaemonSet;

export interface LeftOnNode extends LeftBehind {
  readonly resource: 'nodes';
  readonly namespace?: undefined;
  readonly name: string;
  readonly value: ClusterNode;
  /** `spec.taints` as the API server returned it. */
  readonly list: readonly Taint[];
  /** The startup taints of the node that wait for `readyWhen`: only taintkeeper removes them. */
  readonly startup: readonly Taint[];
}

export interface LeftOnDaemonSet extends LeftBehind {
  readonly resource: 'daemonsets';
  readonly namespace: string;
  readonly name: string;
  readonly value: ClusterDaemonSet;
}

/** @throws MalformedObjectError */
export function readNode(object: unknown, policies: readonly CompiledTaintPolicy[]): LeftOnNode {
  const value = projectNode(object);
  const { metadata, spec } = object as {
    metadata: { annotations?: StringMap };
    spec?: { taints?: readonly Taint[] };
  };
  const list = spec?.taints ?? [];
  // Whether the node is ready does not matter: nothing will remove the taints afterwards.
  const carried = carriedStartup(value, policies);
  const startup = list.filter((taint) => carried.some((one) => sameTaint(one.taint, taint)));
  return { resource: 'nodes', name: value.name, value, list, startup, ...leftOnNode(metadata.annotations ?? {}) };
}

/** @throws MalformedObjectError */
export function readDaemonSet(object: unknown): LeftOnDaemonSet {
  const value = projectDaemonSet(object);
  const { namespace, name, annotations, tolerations } = value;
  return { resource: 'daemonsets', namespace, name, value, ...leftOnDaemonSet(annotations, tolerations) };
}

/** The added tolerations that the DaemonSet still has. */
export function addedTo(leftover: Leftover): Toleration[] {
  if (leftover.resource === 'nodes') return [];
  const { value, tolerationIndexes } = leftover;
  return value.tolerations.filter((_, index) => tolerationIndexes.includes(index));
}

/** What taintkeeper left in a cluster. */
export interface Leftovers {
  /** Those with startup taints first, then other Nodes, then DaemonSets; in the API server's order. */
  readonly objects: readonly Leftover[];
  readonly unreadyNodes: readonly ClusterNode[];
  /** The TaintPolicies in force. */
  readonly policies: readonly CompiledTaintPolicy[];
  /** The TaintPolicies that cannot be used: whether nodes carry startup taints of them is unknown. */
  readonly unusable: readonly PolicyObject[];
}

/** The startup taints of a node that only taintkeeper removes. */
export function waitingOn(leftover: Leftover): readonly Taint[] {
  return leftover.resource === 'nodes' ? leftover.startup : [];
}

/**
 * None if the CustomResourceDefinition does not exist.
 * @throws InputError if the user may not read the policies, ApiError, Error
 */
async function readTaintPolicies(client: ApiClient): Promise<PolicyObject[]> {
  try {
    return await listPolicies(client, ['TaintPolicy']);
  } catch (error) {
    if (!(isForbidden(error) || isNotServed(error))) throw error;
    // RBAC also refuses lists of kinds that are not served.
    if ((await kindsWithoutDefinition(client)).includes('TaintPolicy')) return [];
    if (!isForbidden(error)) throw error;
    throw missingRightError('cleanup', 'which startup taints are left', error);
  }
}

/** @throws InputError if the user may not read the policies, ApiError, Error */
export async function findLeftovers(client: ApiClient): Promise<Leftovers> {
  const objects = await readTaintPolicies(client);
  const policies = compilePolicies(policiesInForce(objects)).taintPolicies;
  const [nodes, daemonSets] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, policies)),
    listObjects(client, '/apis/apps/v1/daemonsets', readDaemonSet),
  ]);
  const candidates: readonly Leftover[] = [...nodes, ...daemonSets];
  const leftovers = candidates.filter((object) => object.annotations.length > 0 || waitingOn(object).length > 0);
  return {
    policies,
    unusable: objects.filter(({ inForce }) => inForce === undefined),
    // Startup taints first: they keep pods from nodes.
    objects: leftovers.toSorted((a, b) => Number(waitingOn(b).length > 0) - Number(waitingOn(a).length > 0)),
    unreadyNodes: nodes.flatMap(({ value }) => (value.ready ? [] : [value])),
  };
}
