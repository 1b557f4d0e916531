import { launchServe, type ServeProcess } from './serve-process.ts';
import type { Backend } from './service-proxy.ts';
import { serviceAccount, type User } from './users.ts';
import { createWorkspace } from './workspace.ts';

/** Several start at once, on a machine that is busy with a control plane too. */
const START_TIMEOUT_MS = 30_000;

/** The proxy (service-proxy.ts) learns within 0.3 s that a replica is stopping; endpoints of a cluster take longer. */
const SHUTDOWN_DELAY_SECONDS = 1;

export const NAMESPACE = 'taintkeeper';
export const SERVICE = 'taintkeeper';

/** Whom the manifests let taintkeeper be: a replica has these rights in the tests and no others. */
export const taintkeeperAccount: User = serviceAccount(NAMESPACE, 'taintkeeper');

export interface ReplicaOptions {
  /** What it is called in Leases, logs and a proxy. */
  name: string;
  kubeconfigFile: string;
  /** Of the Service, as the API server reaches it: that of a proxy (see service-proxy.ts). */
  servicePort: number;
  /** How long it goes on serving after SIGTERM, in whole seconds; 1 by default. */
  shutdownDelaySeconds?: number;
  /** How long an earlier CA stays trusted, in whole seconds; an hour by default. */
  caOverlapSeconds?: number;
  /** How long the API server waits for an answer of the webhooks, in whole seconds; as in a cluster by default. */
  webhookTimeoutSeconds?: number | undefined;
  /** More arguments of `serve`; a repeated option wins over ours. */
  args?: readonly string[];
  /** Added to the environment. */
  env?: Record<string, string>;
  /** The program in place of the source: the bundle that `npm run build` makes. */
  program?: string;
  /** Another Node.js than the one that runs the tests. */
  node?: string;
}

/** A replica that listens, and so can be a backend of a Service. It need not be ready. */
export interface Replica extends ServeProcess, Backend {
  readonly name: string;
  /** Where the webhook listens, past the Service. */
  readonly url: string;
  /** All metrics, in Prometheus' text format. */
  metrics(): Promise<string>;
  /** What `/readyz` says now. */
  readyz(): Promise<{ status: number; text: string }>;
}

/** Starts `taintkeeper serve --cluster`, and does not wait until it listens. */
async function launchReplica(options: ReplicaOptions): Promise<ServeProcess> {
  const {
    name,
    kubeconfigFile,
    servicePort,
    shutdownDelaySeconds = SHUTDOWN_DELAY_SECONDS,
    caOverlapSeconds,
    webhookTimeoutSeconds,
    args = [],
    env,
    program,
    node,
  } = options;
  return launchServe(
    name,
    [
      ...['--cluster', '--kubeconfig', kubeconfigFile],
      ...['--namespace', NAMESPACE],
      ...['--port', '0', '--admin-port', '0'],
      ...['--shutdown-delay', String(shutdownDelaySeconds), ...args],
    ],
    {
      workspace: createWorkspace('replica'),
      env: {
        POD_NAME: name,
        TAINTKEEPER_TEST_SERVICE_PORT: String(servicePort),
        ...(caOverlapSeconds === undefined ? {} : { TAINTKEEPER_TEST_CA_OVERLAP_SECONDS: String(caOverlapSeconds) }),
        ...(webhookTimeoutSeconds === undefined
          ? {}
          : { TAINTKEEPER_TEST_WEBHOOK_TIMEOUT_SECONDS: String(webhookTimeoutSeconds) }),
        ...env,
      },
      program,
      node,
    },
  );
}

/**
 * Starts a replica, as a process of its own on free ports.
 *
 * @throws Error with the end of its log when it ends early or does not listen within 30 s
 */
export async function startReplica(options: ReplicaOptions): Promise<Replica> {
  const child = await launchReplica(options);
  try {
    const { port, adminUrl } = await child.listening(START_TIMEOUT_MS);
    return Object.assign(child, {
      port,
      adminUrl,
      url: `https://127.0.0.1:${port}`,
      metrics: async () => (await fetch(`${adminUrl}/metrics`)).text(),
      readyz: async () => {
        const answer = await fetch(`${adminUrl}/readyz`);
        return { status: answer.status, text: await answer.text() };
      },
    });
  } catch (error) {
    await child.kill();
    throw error;
  }
}

/** Starts one replica for each name, all at the same instant. When one does not come up, none is left running. */
export async function startReplicas(
  names: readonly string[],
  options: Omit<ReplicaOptions, 'name'>,
): Promise<Replica[]> {
  const outcomes = await Promise.allSettled(names.map((name) => startReplica({ ...options, name })));
  const replicas = outcomes.flatMap((outcome) => (outcome.status === 'fulfilled' ? [outcome.value] : []));
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') continue;
    await Promise.all(replicas.map((replica) => replica.kill()));
    throw outcome.reason;
  }
  return replicas;
}
