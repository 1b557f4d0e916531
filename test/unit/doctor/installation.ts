import { X509Certificate } from 'node:crypto';
import { issueCa, issueServing, type KeyPair } from '../../../src/certs/issue.ts';
import type { Webhook } from '../../../src/cluster/webhook-configurations.ts';
import type { Dialled } from '../../../src/doctor/dial.ts';
import type { Facts } from '../../../src/doctor/facts.ts';
import type { PodView } from '../../../src/doctor/pod-view.ts';
import { known } from '../../../src/doctor/reading.ts';
import type { ReplicaFacts } from '../../../src/doctor/replica-facts.ts';

export const NOW = new Date('2026-06-01T12:00:00Z');
export const DAY_MS = 86_400_000;
const SERVER_NAME = 'taintkeeper.taintkeeper.svc';

/** A CA, and a serving certificate of it. */
export interface Certificates {
  readonly ca: KeyPair;
  readonly serving: KeyPair;
}

/** @param days how old they are */
export async function certificates({
  days = 1,
  names = [SERVER_NAME],
  by = undefined as KeyPair | undefined,
} = {}): Promise<Certificates> {
  const issued = new Date(NOW.getTime() - days * DAY_MS);
  const ca = by ?? (await issueCa(issued));
  return { ca, serving: await issueServing(ca, names, issued) };
}

export function greeted({ serving }: Certificates, clockAheadMs = 0): Dialled {
  const chain = [new X509Certificate(serving.cert)];
  return { outcome: 'greeted', greeting: { chain, refusal: undefined, clockAheadMs } };
}

export function pod(name: string, changes: Partial<PodView> = {}): PodView {
  return {
    name,
    labels: { app: 'taintkeeper' },
    ip: '10.244.0.7',
    hostNetwork: false,
    isReady: true,
    trouble: '',
    cannotStart: undefined,
    ports: new Map([
      ['webhook', 8443],
      ['admin', 8080],
    ]),
    certificates: { kind: 'secret', secret: 'taintkeeper-certs' },
    ...changes,
  };
}

export function replica(name: string, dialled: Dialled, changes: Partial<ReplicaFacts> = {}): ReplicaFacts {
  return {
    name,
    address: '10.244.0.7',
    port: 8443,
    endpoint: { port: 8443, isReady: true },
    pod: pod(name),
    dialled,
    way: 'port-forward',
    reached: known({ outcome: 'answered' }),
    readiness: known({ isReady: true, failures: [] }),
    ...changes,
  };
}

export function webhook(name: string, bundle: string | undefined): Webhook {
  return {
    name,
    clientConfig: {
      service: { namespace: 'taintkeeper', name: 'taintkeeper', port: 443 },
      ...(bundle === undefined ? {} : { caBundle: Buffer.from(bundle).toString('base64') }),
    },
  };
}

/** An installation with two replicas, in which all is well. */
export function wellFacts(its: Certificates, changes: Partial<Facts> = {}): Facts {
  const replicas = changes.replicas ?? ['a', 'b'].map((name) => replica(name, greeted(its)));
  return {
    site: { namespace: 'taintkeeper', service: 'taintkeeper', secret: 'taintkeeper-certs' },
    serverName: SERVER_NAME,
    now: NOW,
    apiServerAheadMs: 0,
    webhooks: known([webhook('restore.taintkeeper.dev', its.ca.cert), webhook('protect.taintkeeper.dev', its.ca.cert)]),
    service: known({
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.0.0.9',
        selector: { app: 'taintkeeper' },
        ports: [{ name: 'webhook', port: 443, targetPort: 'webhook' }],
      },
    }),
    slices: known([]),
    pods: known(replicas.flatMap((one) => (one.pod ? [one.pod] : []))),
    rejectedPods: new Map(),
    networkPolicies: known([]),
    source: { kind: 'secret', secret: 'taintkeeper-certs' },
    secret: known({ cert: its.serving.cert, key: its.serving.key, caCert: its.ca.cert, caKey: its.ca.key }),
    overService: [],
    admission: known({ outcome: 'answered', what: 'dropping the taints of node cp-1' }),
    ...changes,
    replicas,
  };
}
