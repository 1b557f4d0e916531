import { type GrantingValue, INSTALL, RIGHTS } from '../../scripts/chart.ts';
import { replicaOf } from '../../src/cluster/lease/leadership.ts';
import { holderOf, type Lease } from '../../src/cluster/lease/lease.ts';
import { MERGE_PATCH } from '../control-plane/content-types.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import type { ProbeOptions } from '../control-plane/readiness-probe.ts';
import {
  NAMESPACE,
  type Replica,
  type ReplicaOptions,
  SERVICE,
  startReplicas,
  taintkeeperAccount,
} from '../control-plane/replicas.ts';
import { succeeded } from '../control-plane/rest.ts';
import { type ServiceProxy, startServiceProxy } from '../control-plane/service-proxy.ts';
import { admin, node } from '../control-plane/users.ts';
import { waitUntil } from '../control-plane/wait-until.ts';
import { createWebhookService } from '../control-plane/webhook-service.ts';
import { attempt, path } from './nodes.ts';

const PROTECTED_TIMEOUT_MS = 60_000;

export const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
export const CERTIFICATES = `/api/v1/namespaces/${NAMESPACE}/secrets/taintkeeper-certs`;
export const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/taintkeeper`;

/** taintkeeper in a cluster: what `kubectl apply` makes, and processes in place of the Deployment's pods. */
export interface Installation {
  readonly proxy: ServiceProxy;
  /** Those that were started and have not been ended by {@link Installation.stop}, by name. */
  readonly replicas: Map<string, Replica>;
  /** Starts replicas, all at the same instant, and puts them behind the Service. They need not be ready. */
  start(names: readonly string[], options?: Partial<ReplicaOptions>): Promise<Replica[]>;
  replica(name: string): Replica;
  /**
   * Ends replicas as a loss of power does; without names, all of them. The Lease that they leave behind is deleted, so that the next leader need not
   * wait for its end.
   */
  kill(...names: string[]): Promise<void>;
  /** The API server can no longer call the replica, which goes on running, and leading. */
  cutOff(name: string): void;
  /** Ends {@link Installation.cutOff}. */
  reconnect(name: string): Promise<void>;
  stop(): Promise<void>;
}

export interface InstallationOptions {
  /** Of the readiness of replicas. By default more often than in a cluster, which a benchmark of CPU time would count. */
  readonly probe?: ProbeOptions | undefined;
  /** How long the API server waits for an answer of the webhooks. Undefined: as in a cluster. */
  readonly webhookTimeoutSeconds?: number | undefined;
}

/**
 * The API server waits five times as long as in a cluster. A slow machine can take three seconds for an answer, and after two a webhook that
 * fails open would let the request pass unjudged.
 */
const SLOW_MACHINE: InstallationOptions = { webhookTimeoutSeconds: 10 };

/** For measurements, and for what depends on the timeout: its restriction, `doctor`, and large objects. */
export const AS_IN_A_CLUSTER: InstallationOptions = { webhookTimeoutSeconds: undefined };

/**
 * Applies manifests/install.yaml, and leads its Service to this machine.
 * @param rights what is granted besides: see docs/reference/rights.md
 */
export async function install(
  cp: ControlPlane,
  rights: readonly GrantingValue[] = [],
  options: InstallationOptions = SLOW_MACHINE,
): Promise<Installation> {
  const files = [INSTALL, ...rights.map((value) => RIGHTS[value])];
  const { code, stderr } = await cp.kubectl(['apply', ...files.flatMap((file) => ['-f', file])]);
  if (code !== 0) throw new Error(stderr);
  return runInstalled(cp, options);
}

/** Replicas for what is installed already, to which its Service is led. */
export async function runInstalled(
  cp: ControlPlane,
  { probe, webhookTimeoutSeconds }: InstallationOptions = AS_IN_A_CLUSTER,
): Promise<Installation> {
  await createWebhookService(cp, NAMESPACE, SERVICE);
  const proxy = await startServiceProxy(probe);
  const kubeconfigFile = await cp.kubeconfigFile(taintkeeperAccount);
  const replicas = new Map<string, Replica>();
  const replica = (name: string): Replica => {
    const found = replicas.get(name);
    if (!found) throw new Error(`no replica ${name}`);
    return found;
  };

  return {
    proxy,
    replicas,
    replica,
    async start(names, options = {}) {
      const started = await startReplicas(names, {
        kubeconfigFile,
        servicePort: proxy.port,
        shutdownDelaySeconds: 2,
        webhookTimeoutSeconds,
        ...options,
        args: ['--default-policies', 'taintkeeper-default-policies', ...(options.args ?? [])],
      });
      for (const one of started) {
        replicas.set(one.name, one);
        proxy.add(one);
      }
      return started;
    },
    async kill(...names) {
      const ended = names.length > 0 ? names : [...replicas.keys()];
      for (const name of ended) {
        proxy.remove(name);
        await replica(name).kill();
        replicas.delete(name);
      }
      const { body } = await cp.request<Lease>(admin, 'GET', LEASE);
      if (ended.includes(leaderIn(body)))
        await cp.request(admin, 'DELETE', LEASE, {
          // Not one that another replica has taken meanwhile.
          body: { preconditions: { resourceVersion: body.metadata.resourceVersion } },
        });
    },
    cutOff(name) {
      proxy.remove(name);
      proxy.reset();
    },
    async reconnect(name) {
      proxy.add(replica(name));
      await proxy.waitForReady(...replicas.keys());
    },
    async stop() {
      for (const replica of replicas.values()) replica.resume();
      await Promise.all([...replicas.values()].map((replica) => replica.kill()));
      await proxy.stop();
    },
  };
}

/** Registers a node of the control plane, as its kubelet does. */
export async function registerControlPlaneNode(cp: ControlPlane, name: string): Promise<void> {
  const body = { metadata: { name }, spec: { taints: [CONTROL_PLANE_TAINT] } };
  await succeeded(cp.request(node(name), 'POST', '/api/v1/nodes', { body }));
}

/** One dry run of an update that removes the node's taints, as an admin. */
export function removeTaints(cp: ControlPlane, name: string) {
  const body = { spec: { taints: null } };
  return attempt(cp, admin, 'PATCH', `${path(name)}?dryRun=All`, body, MERGE_PATCH);
}

/** Waits until the API server refuses to remove the node's taints. */
export async function waitUntilProtected(cp: ControlPlane, name: string): Promise<void> {
  let last = '';
  await waitUntil(
    async () => {
      const { error } = await removeTaints(cp, name);
      last = error;
      return error.includes('denied the request') ? true : undefined;
    },
    { timeoutMs: PROTECTED_TIMEOUT_MS, otherwise: () => `node ${name} is not protected; the last answer: ${last}` },
  );
}

interface Secret {
  readonly metadata: { readonly uid: string; readonly resourceVersion: string };
  readonly data: Readonly<Record<'ca.crt' | 'ca.key' | 'tls.crt' | 'tls.key', string>>;
}

/** The Secret with the certificates; its data is base64. */
export async function readCertificates(cp: ControlPlane): Promise<Secret> {
  return (await cp.request<Secret>(admin, 'GET', CERTIFICATES)).body;
}

interface Configuration {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly generation: number;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly webhooks: {
    readonly name: string;
    readonly clientConfig: { readonly caBundle?: string };
    readonly timeoutSeconds: number;
  }[];
}

export const configurationPath = (kind: 'mutating' | 'validating') =>
  `/apis/admissionregistration.k8s.io/v1/${kind}webhookconfigurations/taintkeeper`;

/** Both webhook configurations. */
export async function readConfigurations(cp: ControlPlane): Promise<Configuration[]> {
  const answers = await Promise.all(
    (['mutating', 'validating'] as const).map((kind) =>
      cp.request<Configuration>(admin, 'GET', configurationPath(kind)),
    ),
  );
  return answers.map(({ body }) => body);
}

/** The `caBundle` of every webhook, base64. */
export async function caBundles(cp: ControlPlane): Promise<(string | undefined)[]> {
  const configurations = await readConfigurations(cp);
  return configurations.flatMap(({ webhooks }) => (webhooks ?? []).map(({ clientConfig }) => clientConfig.caBundle));
}

const leaderIn = (lease: Lease) => replicaOf(holderOf(lease) ?? '');

/** Who holds the Lease: the name of a replica. */
export async function leaderOf(cp: ControlPlane): Promise<string> {
  return leaderIn((await cp.request<Lease>(admin, 'GET', LEASE)).body);
}
