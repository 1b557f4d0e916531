import { expect } from 'vitest';
import { followVersions, type Version } from '../control-plane/follow.ts';
import { admin } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { policyObject } from '../e2e/policy-objects.ts';
import { runOffline } from '../e2e/run-taintkeeper.ts';
import type { Conditioned } from './conditions.ts';
import { type FollowedCluster, startFollowedCluster } from './followed-cluster.ts';
import { installProduct, kubectl, setAtRegistration } from './product.ts';
import type { RealCluster } from './real-cluster.ts';
import type { RealNode } from './real-node.ts';

const TIMEOUT_MS = 60_000;
/** A taint may wait for its deadline. */
const UNTAINTED_TIMEOUT_MS = 120_000;

export interface Node {
  readonly metadata: { readonly uid: string; readonly creationTimestamp: string };
  readonly spec: { readonly taints?: readonly { readonly key: string }[] };
  readonly status: Conditioned & { readonly allocatable?: Readonly<Record<string, string>> };
}

export function isTainted({ spec }: Pick<Node, 'spec'>, key: string): boolean {
  return (spec.taints ?? []).some((taint) => taint.key === key);
}

/** A real node that registers with startup taints, beside one with the control plane and the replicas. */
export interface WaitingNode {
  readonly cluster: RealCluster;
  readonly machine: RealNode;
  /** All versions of the Node since it registered again. */
  readonly versions: readonly Version<Node>[];
  /** See {@link followVersions}. */
  follow<T>(path: string, name?: string): Promise<readonly Version<T>[]>;
  /** Stops the kubelet, and deletes the Node. */
  deregister(): Promise<void>;
  /** Starts the kubelet, and waits until the Node is Ready. */
  register(): Promise<void>;
  /** Waits until `explain node` says that a taint waits for this: the leader decides by the same rules. */
  waitsFor(text: string): Promise<void>;
  /** The first version without the taint. */
  untainted(key: string): Promise<Version<Node>>;
  stop(): Promise<void>;
}

export interface WaitingNodeOptions {
  /** Manifests of rights. */
  readonly rights: readonly string[];
  /** `readyWhen` of each startup taint, by its key. */
  readonly readyWhen: Readonly<Record<string, object>>;
}

/** Resolves when the policy is in force. The node has registered before. */
export async function startWaitingNode({ rights, readyWhen }: WaitingNodeOptions): Promise<WaitingNode> {
  return startFollowedCluster({ nodes: 2 }, async (followed) => {
    const { cluster } = followed;
    const machine = cluster.nodes[1] as RealNode;
    // Until its Node is deleted: the replicas stay on n1.
    await kubectl(cluster, ['cordon', machine.name]);
    await installProduct(cluster);
    for (const file of rights) await kubectl(cluster, ['apply', '-f', file]);
    const taints = Object.entries(readyWhen).map(([key, parts]) => ({
      ...{ key, effect: 'NoSchedule', ensure: 'UntilReady' },
      readyWhen: parts,
    }));
    const spec = {
      mode: 'Restore',
      nodeSelector: { matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['n1'] }] },
      taints,
    };
    await kubectl(cluster, ['apply', '-f', '-'], JSON.stringify(policyObject('TaintPolicy', 'startup', spec)));
    for (const { key } of taints) await setAtRegistration(cluster, key);
    return waitingNode(followed, machine);
  });
}

function waitingNode({ cluster, client, signal }: FollowedCluster, machine: RealNode): Omit<WaitingNode, 'stop'> {
  const { name } = machine;
  const follow = <T>(path: string, of?: string) => followVersions<T>(client, path, signal, of);
  let versions: readonly Version<Node>[] = [];
  return {
    cluster,
    machine,
    get versions() {
      return versions;
    },
    follow,
    async deregister() {
      await machine.service('kubelet').stop();
      await kubectl(cluster, ['delete', 'node', name]);
    },
    async register() {
      versions = await follow<Node>('/api/v1/nodes', name);
      machine.service('kubelet').start();
      await cluster.nodeReady(name);
    },
    async waitsFor(text) {
      const env = { KUBECONFIG: await cluster.kubeconfigFile(admin) };
      const explain = async () => (await runOffline(['explain', 'node', name], env)).stdout;
      await expect.poll(explain, { timeout: TIMEOUT_MS }).toContain(`waits for ${text}`);
    },
    untainted: (key) =>
      waitUntil(() => versions.find(({ value }) => !isTainted(value, key)), {
        timeoutMs: UNTAINTED_TIMEOUT_MS,
        otherwise: () => `${name} keeps taint ${key}: ${JSON.stringify(versions.at(-1)?.value.status)}`,
      }),
  };
}
