import { X509Certificate } from 'node:crypto';
import { issueCa, issueServing, type KeyPair } from '../../../src/certs/issue.ts';
import type { Webhook } from '../../../src/cluster/admission-registration/webhook-configurations.ts';
import { type PolicyObject, viewPolicy } from '../../../src/cluster/policies/policy-object.ts';
import type { CheckName, CheckResult } from '../../../src/doctor/check.ts';
import { CHECKS } from '../../../src/doctor/checks.ts';
import { OWN_CERTIFICATES } from '../../../src/doctor/facts/certificate-source.ts';
import type { Dialled } from '../../../src/doctor/facts/dial.ts';
import type { DoctorNode } from '../../../src/doctor/facts/doctor-node.ts';
import type { Facts } from '../../../src/doctor/facts/facts.ts';
import type { Installation } from '../../../src/doctor/facts/installation.ts';
import type { PodView } from '../../../src/doctor/facts/pod-view.ts';
import { type Reading, readingOf } from '../../../src/doctor/facts/reading.ts';
import type { RegisteredWebhook } from '../../../src/doctor/facts/registered-webhooks.ts';
import type { ReplicaFacts } from '../../../src/doctor/facts/replica-facts.ts';
import { runChecks } from '../../../src/doctor/run-checks.ts';
import type { DaemonSetView } from '../../../src/judge/daemon-set-view.ts';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import { nodeMetadataManifests } from '../../../src/native/node-metadata.ts';
import type { PolicyKind } from '../../../src/policy/policy.ts';
import type { PolicyStatus } from '../../../src/policy/reporting/policy-status.ts';
import { VERSION } from '../../../src/version.ts';

/** The results of these checks. */
export function run(names: readonly CheckName[], facts: Facts): CheckResult[] {
  return runChecks(
    CHECKS,
    facts,
    CHECKS.filter(({ name }) => names.includes(name)),
  );
}

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
    node: 'n1',
    image: 'registry.example/taintkeeper:0.1.0',
    nodeSelector: {},
    nodeAffinity: undefined,
    tolerations: [],
    labels: { app: 'taintkeeper' },
    ip: '10.244.0.7',
    hostNetwork: false,
    isReady: true,
    problem: '',
    cannotStart: undefined,
    ports: new Map([
      ['webhook', 8443],
      ['admin', 8080],
    ]),
    ...changes,
  };
}

export function replica(name: string, dialled: Dialled, changes: Partial<ReplicaFacts> = {}): ReplicaFacts {
  return {
    name,
    podName: 'pod' in changes ? changes.pod?.name : name,
    address: '10.244.0.7',
    port: 8443,
    endpoint: { port: 8443, isReady: true },
    pod: pod(name),
    dialled,
    way: 'port-forward',
    reached: readingOf({ outcome: 'answered' }),
    readiness: readingOf({ isReady: true, failures: [] }),
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

/** An installation with two replicas, one node and one policy for it, in which all is well. */
export function wellFacts(its: Certificates, changes: Partial<Facts> = {}): Facts {
  const replicas = changes.replicas ?? ['a', 'b'].map((name) => replica(name, greeted(its)));
  const labels = { app: 'taintkeeper' };
  const installation = {
    ...INSTALLATION,
    deployment: { name: 'taintkeeper', replicas: 2, selector: labels, labels, certificates: OWN_CERTIFICATES },
  };
  return {
    search: { choice: {}, found: [installation], unconfirmed: [], chosen: installation, blind: undefined },
    installation,
    serverName: SERVER_NAME,
    apiServerUrl: 'https://10.0.0.1:6443',
    now: NOW,
    apiServerAheadMs: 0,
    webhooks: readingOf([
      webhook('restore.taintkeeper.dev', its.ca.cert),
      webhook('protect.taintkeeper.dev', its.ca.cert),
    ]),
    service: readingOf({
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.0.0.9',
        selector: { app: 'taintkeeper' },
        ports: [{ name: 'webhook', port: 443, targetPort: 'webhook' }],
      },
    }),
    slices: readingOf([]),
    pods: readingOf(replicas.flatMap((one) => (one.pod ? [one.pod] : []))),
    rejectedPods: new Map(),
    networkPolicies: readingOf([]),
    certificateSource: OWN_CERTIFICATES,
    pendingCertificates: undefined,
    secret: readingOf({ cert: its.serving.cert, key: its.serving.key, bundle: its.ca.cert, caKey: its.ca.key }),
    overService: [],
    admission: readingOf({ outcome: 'answered', what: 'removing the taints of node cp-1' }),
    apiServers: readingOf([]),
    policies: readingOf([taintPolicy('gpu', {})]),
    kindsWithoutDefinition: readingOf([]),
    builtin: [],
    nodes: readingOf([node('n1')]),
    daemonSets: readingOf([]),
    nodePools: readingOf({ apis: [], pools: [] }),
    metadataProtection: readingOf(storedProtection()),
    configurations: readingOf([]),
    rights: readingOf({
      user: 'system:serviceaccount:taintkeeper:taintkeeper',
      reviewed: 50,
      missingNeeded: [],
      missingOptional: [],
    }),
    lease: readingOf({
      holder: 'taintkeeper-0',
      renewed: true,
      renewTime: '2026-11-21T00:00:00.000000Z',
      watchedSeconds: 2,
    }),
    apiServerPods: readingOf([]),
    version: readingOf('v1.36.3'),
    metrics: readingOf(''),
    ...changes,
    replicas,
  };
}
const ITS = await certificates();

/** {@link wellFacts}, where the certificates are not what matters. */
export function healthyFacts(differences: Partial<Facts> = {}): Facts {
  return wellFacts(ITS, differences);
}

const POD_LABELS = { 'app.kubernetes.io/name': 'taintkeeper', 'app.kubernetes.io/component': 'webhook' };

/** As manifests/install.yaml has it. */
export const INSTALLATION: Installation = {
  namespace: 'taintkeeper',
  service: 'taintkeeper',
  deployment: {
    name: 'taintkeeper',
    replicas: 2,
    selector: POD_LABELS,
    labels: {
      ...POD_LABELS,
      'app.kubernetes.io/instance': 'taintkeeper',
      'app.kubernetes.io/part-of': 'taintkeeper',
      'app.kubernetes.io/version': VERSION,
    },
    certificates: OWN_CERTIFICATES,
  },
  account: 'taintkeeper',
  defaultPolicies: 'taintkeeper-default-policies',
  audit: false,
  ownerClusterRole: 'taintkeeper',
  helmRelease: undefined,
};

export function unseen(why: string, status?: number): Reading<never> {
  return { ok: false, why, status };
}

export const READY: PolicyStatus = {
  observedGeneration: 1,
  conditions: [
    {
      type: 'Ready',
      status: 'True',
      reason: 'InForce',
      message: 'the policy is in force',
      observedGeneration: 1,
      lastTransitionTime: '2026-11-21T00:00:00Z',
    },
  ],
};

export function policyObject(
  kind: PolicyKind,
  name: string,
  spec: unknown,
  { status = READY, generation = 1 }: { status?: PolicyStatus | undefined; generation?: number } = {},
): PolicyObject {
  const metadata = { name, uid: name, generation, resourceVersion: '1' };
  return viewPolicy(kind, { metadata, spec, status });
}

const TAINT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' };

export function taintPolicy(name: string, spec: object, more?: Parameters<typeof policyObject>[3]): PolicyObject {
  return policyObject('TaintPolicy', name, { mode: 'Restore', taints: [TAINT], ...spec }, more);
}

export function tolerationPolicy(name: string, daemonSets: object): PolicyObject {
  return policyObject('TolerationPolicy', name, { mode: 'Mutate', daemonSets });
}

export function node(name: string, labels: Record<string, string> = {}, taints: readonly Taint[] = []): DoctorNode {
  return {
    name,
    uid: `uid-${name}`,
    labels,
    taints,
    ready: true,
    allowRemoval: undefined,
    kubeletVersion: 'v1.36.3',
  };
}

export function daemonSet(name: string, more: Partial<DaemonSetView> = {}): DaemonSetView {
  const [namespace = '', own = ''] = name.split('/');
  return {
    namespace,
    name: own,
    labels: {},
    annotations: {},
    tolerations: [],
    hostNetwork: false,
    deleting: false,
    ...more,
  };
}

export function othersWebhook(more: Partial<RegisteredWebhook> = {}): RegisteredWebhook {
  return {
    name: 'check.example.com',
    clientConfig: { service: { namespace: 'example', name: 'checker' } },
    rules: [
      { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE', 'UPDATE'], scope: '*' },
    ],
    failurePolicy: 'Fail',
    timeoutSeconds: 10,
    objectSelector: {},
    ...more,
  };
}

/** The policy that protects the annotation allow-removal, and its binding, with the defaults of the API server. */
export function storedProtection(): Record<'policy' | 'binding', { readonly spec: object }> {
  const [policy, binding] = nodeMetadataManifests();
  if (policy === undefined || binding === undefined) throw new Error('there is a policy and a binding');
  const { matchConstraints, ...spec } = policy.spec as { readonly matchConstraints: object };
  const everything = { objectSelector: {}, namespaceSelector: {}, matchPolicy: 'Equivalent' };
  return { policy: { spec: { ...spec, matchConstraints: { ...matchConstraints, ...everything } } }, binding };
}
