import { annotations, features, POOL, status, TAINT } from '../large-node.ts';

/** A request to a webhook, and what it must come to. */
export interface ReviewCase {
  readonly what: string;
  readonly path: '/validate' | '/mutate';
  readonly review: object;
  readonly expected: Expected;
}

export interface Expected {
  readonly allowed: boolean;
  readonly patched: boolean;
}

const CREATED = '2026-01-01T00:00:00Z';
const UID = '705ab4f5-6393-11e8-b7cc-42010a800002';
const START_UP: typeof TAINT = { key: 'example.com/start-up', effect: 'NoExecute' };

/** FieldsV1 of all that is in the value: every key of a map, and a list as a whole. */
function fieldsOf(value: unknown): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [`f:${key}`, fieldsOf(inner)]));
}

const managed = (manager: string, fields: object, subresource = '') => ({
  ...{ manager, operation: 'Update', apiVersion: 'v1', time: CREATED, fieldsType: 'FieldsV1', fieldsV1: fields },
  ...(subresource ? { subresource } : {}),
});

/** A node as an API server sends it, of the size that design and issue go by: 40 KB. */
export function largeNode(taints: readonly (typeof TAINT)[], name = 'worker-1.bench.example.com'): object {
  const labels = { ...features(1), ...POOL, 'kubernetes.io/hostname': name };
  const state = status(1);
  const { conditions, ...reported } = state;
  const conditionFields = Object.fromEntries(
    conditions.map((condition) => [`k:{"type":"${condition.type}"}`, { '.': {}, ...fieldsOf(condition) }]),
  );
  return {
    kind: 'Node',
    apiVersion: 'v1',
    metadata: {
      ...{ name, uid: UID, resourceVersion: '4711', creationTimestamp: CREATED, labels, annotations: annotations(1) },
      managedFields: [
        managed('kubelet', fieldsOf({ metadata: { labels: POOL }, spec: { taints } })),
        managed('nfd-master', fieldsOf({ metadata: { labels: features(1) } })),
        managed('agents', fieldsOf({ metadata: { annotations: annotations(1) } })),
        managed('kubelet', { 'f:status': { ...fieldsOf(reported), 'f:conditions': conditionFields } }, 'status'),
      ],
    },
    spec: { podCIDR: '10.244.1.0/24', podCIDRs: ['10.244.1.0/24'], taints },
    status: state,
  };
}

function daemonSet(tolerations: readonly object[]): object {
  const labels = { app: 'agent' };
  const container = {
    ...{ name: 'agent', image: 'registry.example.com/agent:v1', resources: {}, imagePullPolicy: 'IfNotPresent' },
    ...{ terminationMessagePath: '/dev/termination-log', terminationMessagePolicy: 'File' },
    env: Array.from({ length: 10 }, (_, n) => ({ name: `AGENT_SETTING_${n}`, value: `value-${n}` })),
    volumeMounts: [{ name: 'run', mountPath: '/run/agent' }],
  };
  const template = {
    metadata: { creationTimestamp: null, labels },
    spec: {
      volumes: [{ name: 'run', hostPath: { path: '/run/agent', type: 'DirectoryOrCreate' } }],
      containers: [container],
      ...{ restartPolicy: 'Always', terminationGracePeriodSeconds: 30, dnsPolicy: 'ClusterFirst', hostNetwork: true },
      ...{ securityContext: {}, schedulerName: 'default-scheduler', tolerations },
    },
  };
  const rollingUpdate = { maxUnavailable: 1, maxSurge: 0 };
  const spec = {
    selector: { matchLabels: labels },
    template,
    updateStrategy: { type: 'RollingUpdate', rollingUpdate },
  };
  return {
    kind: 'DaemonSet',
    apiVersion: 'apps/v1',
    metadata: {
      ...{ name: 'agent', namespace: 'kube-system', uid: UID, generation: 1, creationTimestamp: CREATED, labels },
      managedFields: [managed('kubectl-create', fieldsOf({ metadata: { labels }, spec }))],
    },
    spec: { ...spec, revisionHistoryLimit: 10 },
    status: { currentNumberScheduled: 0, numberMisscheduled: 0, desiredNumberScheduled: 0, numberReady: 0 },
  };
}

interface About {
  readonly group: string;
  readonly kind: string;
  readonly resource: string;
  readonly operation: 'CREATE' | 'UPDATE';
  readonly name: string;
  readonly namespace?: string;
}

/** With its fields in the API server's order. */
function review(
  { group, kind, resource, operation, ...named }: About,
  object: object,
  oldObject: object | null,
): object {
  const version = 'v1';
  return {
    kind: 'AdmissionReview',
    apiVersion: 'admission.k8s.io/v1',
    request: {
      uid: UID,
      kind: { group, version, kind },
      resource: { group, version, resource },
      requestKind: { group, version, kind },
      requestResource: { group, version, resource },
      ...named,
      operation,
      userInfo: { username: 'dev@example.com', groups: ['developers', 'system:authenticated'] },
      object,
      oldObject,
      dryRun: false,
      options: { kind: `${operation[0]}${operation.slice(1).toLowerCase()}Options`, apiVersion: 'meta.k8s.io/v1' },
    },
  };
}

const NODE: About = {
  group: '',
  kind: 'Node',
  resource: 'nodes',
  operation: 'UPDATE',
  name: 'worker-1.bench.example.com',
};
const DAEMON_SET: About = {
  ...{ group: 'apps', kind: 'DaemonSet', resource: 'daemonsets', operation: 'CREATE' },
  ...{ name: 'agent', namespace: 'kube-system' },
};

const ALLOWED: Expected = { allowed: true, patched: false };

export const REVIEW_CASES: readonly ReviewCase[] = [
  {
    what: 'Node UPDATE, allowed',
    path: '/validate',
    review: review(NODE, largeNode([TAINT, START_UP]), largeNode([TAINT])),
    expected: ALLOWED,
  },
  {
    what: 'Node UPDATE, denied',
    path: '/validate',
    review: review(NODE, largeNode([START_UP]), largeNode([TAINT, START_UP])),
    expected: { allowed: false, patched: false },
  },
  {
    what: 'DaemonSet CREATE, patched',
    path: '/mutate',
    review: review(DAEMON_SET, daemonSet([]), null),
    expected: { allowed: true, patched: true },
  },
  {
    what: 'DaemonSet CREATE, left alone',
    path: '/mutate',
    review: review(DAEMON_SET, daemonSet([{ operator: 'Exists' }]), null),
    expected: ALLOWED,
  },
];
