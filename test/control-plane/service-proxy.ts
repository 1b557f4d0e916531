import type { Socket } from 'node:net';
import { type ProbeOptions, probeReadiness, type ReadinessProbe } from './readiness-probe.ts';
import { dialPort, listenTcp } from './tcp-listener.ts';
import { waitUntil } from './wait-until.ts';

const READY_TIMEOUT_MS = 30_000;

/**
 * The readinessProbe of the manifests, with a shorter period: a replica that stops is noticed within 0.3 s. The time-out is theirs. With a
 * quarter of it, all replicas became unready on a busy machine, and the API server let requests through without a webhook.
 */
const PROBE: ProbeOptions = { periodMs: 100, timeoutMs: 2_000, failureThreshold: 2 };

/** A pod behind the Service. Replicas (see replicas.ts) are ones. */
export interface Backend {
  readonly name: string;
  /** Of 127.0.0.1: where connections go. */
  readonly port: number;
  /** Where `/readyz` is asked. */
  readonly adminUrl: string;
}

/** A Service's port: connections are spread over the backends that are ready. */
export interface ServiceProxy {
  readonly port: number;
  /** It gets connections once its probe has succeeded. A backend of the same name is replaced. */
  add(backend: Backend): void;
  /** No new connections for it, as for a pod that is being deleted. Those that it has stay. */
  remove(name: string): void;
  /** Resets the connections that are open now, whoever has them. */
  reset(): void;
  /** The names of those that are ready now. */
  ready(): string[];
  /** Waits until exactly these are ready; throws after 30 s. */
  waitForReady(...names: string[]): Promise<void>;
  stop(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Plays what stands between the API server and a Service's pods: the kubelet's readiness probes, the endpoints
 * controller, and kube-proxy. New connections go to the ready backends in turn. One that is made stays where it is,
 * whatever becomes of the backend's readiness (conntrack), until one of its ends closes it: that of a process that has
 * died is closed by the operating system.
 *
 * In one thing it is kinder than kube-proxy: where a backend refuses the connection, the next one is tried. In a
 * cluster a pod that dies is known to the kubelet from its runtime, and an address that is gone is refused for as long
 * as that takes to get about.
 */
export async function startServiceProxy(probe = PROBE): Promise<ServiceProxy> {
  const backends = new Map<string, Backend & { probe: ReadinessProbe }>();
  let turn = 0;

  const readyBackends = () => [...backends.values()].filter((backend) => backend.probe.ready);
  const ready = () => readyBackends().map(({ name }) => name);

  async function dial(): Promise<Socket | undefined> {
    const candidates = readyBackends();
    const first = turn++;
    for (let i = 0; i < candidates.length; i++) {
      const backend = candidates[(first + i) % candidates.length];
      const socket = backend && (await dialPort(backend.port));
      if (!socket) continue;
      return socket;
    }
    return undefined;
  }

  function remove(name: string): void {
    backends.get(name)?.probe.stop();
    backends.delete(name);
  }

  const listener = await listenTcp(dial);
  const stop = async () => {
    for (const name of [...backends.keys()]) remove(name);
    await listener.close();
  };
  return {
    port: listener.port,
    add: (backend) => {
      remove(backend.name);
      const { name, port, adminUrl } = backend;
      backends.set(name, { name, port, adminUrl, probe: probeReadiness(`${adminUrl}/readyz`, probe) });
    },
    remove,
    reset: () => {
      for (const relay of listener.relays()) relay.reset();
    },
    ready,
    waitForReady: async (...names) => {
      const expected = JSON.stringify(names.toSorted());
      await waitUntil(() => (JSON.stringify(ready().toSorted()) === expected ? true : undefined), {
        timeoutMs: READY_TIMEOUT_MS,
        otherwise: () => `ready are [${ready()}], not [${names}], after ${READY_TIMEOUT_MS / 1000} s`,
      });
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
