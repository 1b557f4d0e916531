import { setTimeout as delay } from 'node:timers/promises';
import type { Operation } from 'fast-json-patch';
import type { ApiClient } from '../../cluster/client/api-client.ts';
import { isFinal, isForbidden, isNotFound, isNotServed } from '../../cluster/client/api-error.ts';
import {
  type ClusterDaemonSet,
  type ClusterNode,
  projectDaemonSet,
  projectNode,
} from '../../cluster/cluster-objects.ts';
import { patchIfUnchanged } from '../../cluster/conditional-patch.ts';
import { listPolicies } from '../../cluster/policies.ts';
import { policiesInForce } from '../../cluster/policy-object.ts';
import { listObjects } from '../../cluster/watch/list-pages.ts';
import { type LeftBehind, leftOnDaemonSet, leftOnNode } from '../../judge/left-behind.ts';
import { carriedStartup } from '../../judge/startup/startup-requirement.ts';
import { jsonPointer } from '../../kubernetes/json-patch.ts';
import type { StringMap } from '../../kubernetes/label-selector.ts';
import { sameTaint, type Taint } from '../../kubernetes/taint.ts';
import type { Toleration } from '../../kubernetes/toleration.ts';
import { type CompiledTaintPolicy, compilePolicies } from '../../policy/policy-set.ts';
import { isHealthy } from '../../recovery/recovery.ts';
import { takeToken, tokenBucket } from '../../runtime/rate-limit.ts';
import { countCovered } from '../../scheduling/coverage.ts';

/** A Node or a DaemonSet, and what taintkeeper left on it. */
export type Leftover = LeftOnNode | LeftOnDaemonSet;

interface LeftOnNode extends LeftBehind {
  readonly resource: 'nodes';
  readonly namespace?: undefined;
  readonly name: string;
  readonly value: ClusterNode;
  /** `spec.taints` as the API server returned it. */
  readonly list: readonly Taint[];
  /** The startup taints of the node that wait for `readyWhen`: only taintkeeper removes them. */
  readonly startup: readonly Taint[];
}

interface LeftOnDaemonSet extends LeftBehind {
  readonly resource: 'daemonsets';
  readonly namespace: string;
  readonly name: string;
  readonly value: ClusterDaemonSet;
}

/** @throws MalformedObjectError */
function readNode(object: unknown, policies: readonly CompiledTaintPolicy[]): LeftOnNode {
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
function readDaemonSet(object: unknown): LeftOnDaemonSet {
  const value = projectDaemonSet(object);
  const { namespace, name, annotations, tolerations } = value;
  return { resource: 'daemonsets', namespace, name, value, ...leftOnDaemonSet(annotations, tolerations) };
}

/** `nodes/n1`, `daemonsets/kube-system/flannel` */
export function titleOf({ resource, namespace, name }: Leftover): string {
  return [resource, namespace, name].filter((part) => part !== undefined).join('/');
}

/** The added tolerations that the DaemonSet still has. */
export function addedTo(leftover: Leftover): Toleration[] {
  if (leftover.resource === 'nodes') return [];
  const { value, tolerations } = leftover;
  return value.tolerations.filter((_, place) => tolerations.includes(place));
}

/**
 * The JSON patch (RFC 6902) that removes it, and fails if it has changed. Other changes of the object, which are frequent on nodes, do not
 * matter.
 */
function cleaningPatch(leftover: Leftover, withTolerations: boolean): Operation[] {
  const taints = leftover.resource === 'nodes' ? removing(leftover) : [];
  const annotations = leftover.annotations.flatMap(({ name, value }): Operation[] => {
    const path = jsonPointer('metadata', 'annotations', name);
    return [
      { op: 'test', path, value },
      { op: 'remove', path },
    ];
  });
  if (!withTolerations || leftover.resource === 'nodes' || leftover.tolerations.length === 0) {
    return [...taints, ...annotations];
  }
  const list = '/spec/template/spec/tolerations';
  return [
    { op: 'test', path: list, value: leftover.value.tolerations },
    ...annotations,
    // From the end, so that earlier indexes stay valid.
    ...leftover.tolerations.toReversed().map((place): Operation => ({ op: 'remove', path: `${list}/${place}` })),
  ];
}

function removing({ list, startup }: LeftOnNode): Operation[] {
  if (startup.length === 0) return [];
  const path = '/spec/taints';
  return [
    { op: 'test', path, value: list },
    { op: 'replace', path, value: list.filter((taint) => !startup.includes(taint)) },
  ];
}

export const DRY_RUNS = ['none', 'client', 'server'] as const;

export interface CleaningOptions {
  /** Whether to remove added tolerations, too. */
  readonly tolerations: boolean;
  readonly dryRun: (typeof DRY_RUNS)[number];
  readonly rolloutTimeoutMs: number;
  /** Called before each step. */
  readonly onProgress: (what: string) => void;
}

/** The result for one object. `skipped`: not tried, because of an earlier failure. */
export interface Cleaned {
  readonly leftover: Leftover;
  readonly result: 'removed' | 'failed' | 'skipped';
  /** Why not. */
  readonly problem?: string;
}

/** What taintkeeper left in a cluster. */
export interface Leftovers {
  /** Nodes first, then DaemonSets; in the API server's order. */
  readonly objects: readonly Leftover[];
  readonly unreadyNodes: readonly ClusterNode[];
  /** The TaintPolicies in force. */
  readonly policies: readonly CompiledTaintPolicy[];
}

/** So many writes at once, and then one in so many milliseconds. */
const WRITES = { burst: 50, refillMs: 20 };
const LOOK_MS = 500;

/** The field manager of what the command writes. */
const CLEANUP_MANAGER = 'taintkeeper-cleanup';

/** The startup taints of a node that only taintkeeper removes. */
export function waitingOn(leftover: Leftover): readonly Taint[] {
  return leftover.resource === 'nodes' ? leftover.startup : [];
}

/** None if the CustomResourceDefinition does not exist, or the user may not read the policies. @throws ApiError */
async function readTaintPolicies(client: ApiClient): Promise<readonly CompiledTaintPolicy[]> {
  try {
    return compilePolicies(policiesInForce(await listPolicies(client, ['TaintPolicy']))).taintPolicies;
  } catch (error) {
    if (isNotServed(error) || isForbidden(error)) return [];
    throw error;
  }
}

/** @throws ApiError */
export async function findLeftovers(client: ApiClient): Promise<Leftovers> {
  const policies = await readTaintPolicies(client);
  const [nodes, daemonSets] = await Promise.all([
    listObjects(client, '/api/v1/nodes', (object) => readNode(object, policies)),
    listObjects(client, '/apis/apps/v1/daemonsets', readDaemonSet),
  ]);
  const candidates: readonly Leftover[] = [...nodes, ...daemonSets];
  const leftovers = candidates.filter((object) => object.annotations.length > 0 || waitingOn(object).length > 0);
  return {
    policies,
    // Startup taints first: they keep pods from nodes.
    objects: leftovers.toSorted((a, b) => Number(waitingOn(b).length > 0) - Number(waitingOn(a).length > 0)),
    unreadyNodes: nodes.flatMap(({ value }) => (value.ready ? [] : [value])),
  };
}

/**
 * Cleans one object after the other. The pods of a DaemonSet that loses tolerations are replaced before the next one is changed. If that
 * fails, or the API server is unavailable, the rest is left unchanged.
 */
export async function clean(client: ApiClient, leftovers: Leftovers, options: CleaningOptions): Promise<Cleaned[]> {
  const writes = tokenBucket(WRITES.burst, WRITES.refillMs);
  const cleaned: Cleaned[] = [];
  let over = false;
  for (const leftover of leftovers.objects) {
    if (over) {
      cleaned.push({ leftover, result: 'skipped' });
      continue;
    }
    if (options.dryRun !== 'client') await takeToken(() => writes);
    options.onProgress(titleOf(leftover));
    try {
      await cleanObject(client, leftover, leftovers, options);
      cleaned.push({ leftover, result: 'removed' });
    } catch (error) {
      over = !isFinal(error);
      cleaned.push({ leftover, result: 'failed', problem: (error as Error).message });
    }
  }
  return cleaned;
}

/** @throws a final ApiError (see {@link isFinal}) about this object only; any other error ends the cleanup */
async function cleanObject(
  client: ApiClient,
  first: Leftover,
  { unreadyNodes, policies }: Leftovers,
  { tolerations, dryRun, rolloutTimeoutMs, onProgress }: CleaningOptions,
): Promise<void> {
  if (dryRun === 'client') return;
  const after = await patchIfUnchanged(client, {
    path: pathOf(first),
    first,
    read: first.resource === 'nodes' ? (object) => readNode(object, policies) : readDaemonSet,
    patch: (leftover: Leftover) => cleaningPatch(leftover, tolerations),
    fieldManager: CLEANUP_MANAGER,
    dryRun: dryRun === 'server',
  });
  const rolls = tolerations && first.tolerations.length > 0 && dryRun === 'none';
  if (!rolls || after === undefined || after.resource === 'nodes') return;
  onProgress(`waiting until the pods of ${titleOf(after)} are replaced`);
  await rolledOut(client, after, unreadyNodes, rolloutTimeoutMs);
}

/**
 * Waits until all pods are replaced and available, or the DaemonSet is deleted. If the API server is unavailable meanwhile, it retries.
 * @throws Error if it takes too long, or the user may not read the DaemonSet
 */
async function rolledOut(
  client: ApiClient,
  first: LeftOnDaemonSet,
  unready: readonly ClusterNode[],
  timeoutMs: number,
): Promise<void> {
  const end = performance.now() + timeoutMs;
  const { generation } = first.value;
  for (;;) {
    let fault: Error | undefined;
    try {
      const { value } = readDaemonSet(await client.request('GET', pathOf(first)));
      // Pods on nodes that are not Ready may never be replaced.
      if (value.generation >= generation && isHealthy(value, countCovered(value, unready))) return;
    } catch (error) {
      if (isNotFound(error)) return;
      fault = error as Error;
      if (isFinal(error)) throw new Error(`${fault.message}; ${REST_STAYS}`);
    }
    if (performance.now() >= end) {
      const seconds = Math.round(timeoutMs / 1000);
      const last = fault === undefined ? '' : ` (${fault.message})`;
      throw new Error(`its pods were not all replaced and available within ${seconds} s${last}; ${REST_STAYS}`);
    }
    await delay(LOOK_MS);
  }
}

const REST_STAYS = 'what comes after is left as it is';

function pathOf({ resource, namespace, name }: Leftover): string {
  return resource === 'nodes' ? `/api/v1/nodes/${name}` : `/apis/apps/v1/namespaces/${namespace}/daemonsets/${name}`;
}
