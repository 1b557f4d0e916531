import type { AdmissionRequest } from '../../src/admission/admission-review.ts';
import { judgeRequest } from '../../src/admission/judge-request.ts';
import type { ClusterDaemonSet, ClusterNode } from '../../src/cluster/objects/cluster-objects.ts';
import type { Phase } from '../../src/judge/decision.ts';
import { createDecisionLog, type DecisionLog } from '../../src/page/decision-log.ts';
import type { PageSources } from '../../src/page/page-sources.ts';
import { clusterPolicyStates } from '../../src/page/policy-states.ts';
import type { CertificateState, WebhookState } from '../../src/page/state.ts';
import type { PolicySet } from '../../src/policy/policy-set.ts';
import { absent } from '../unit/cluster/client/absent.ts';
import { sampleDaemonSets } from './sample-daemon-sets.ts';
import { CONFLICT_NODE, sampleNodes } from './sample-nodes.ts';
import { samplePolicies } from './sample-policies.ts';

/** When the sample is looked at: all that it says of time follows from this. */
export const SAMPLE_TIME = new Date('2026-03-14T02:07:30Z');

const REPLICA = 'taintkeeper-6c9d8f7b5-x2x9k';

export interface SampleOptions {
  readonly nodes: number;
  readonly daemonSets: number;
  /**
   * What is wrong: several things, nothing, a CNI that is kept off one pool, a taint that another writer removes repeatedly, or a certificate that the
   * webhooks do not trust.
   */
  readonly fault?: 'several' | 'none' | 'cni' | 'conflict' | 'untrusted';
  /** With a policy that is not in force. */
  readonly broken?: boolean;
  /** As with --audit. */
  readonly audit?: boolean;
}

/** What the page of a leader is made of, for a cluster that was made up; the page's own code makes the state from it. */
export function samplePage({
  nodes: nodeCount,
  daemonSets: daemonSetCount,
  broken = false,
  audit = false,
  fault = 'several',
}: SampleOptions): {
  sources: PageSources;
  decisions: DecisionLog;
} {
  const nodes = sampleNodes(nodeCount, fault === 'several' || fault === 'conflict' ? fault : 'none');
  const daemonSets = sampleDaemonSets(daemonSetCount, fault === 'several' || fault === 'cni' ? fault : 'none');
  const { policies, compiled, objects } = samplePolicies(nodes, daemonSets, { broken, audit });
  const sources: PageSources = {
    now: () => new Date(),
    replica: REPLICA,
    mode: 'cluster',
    audit,
    leader: () => ({ isThis: true, name: REPLICA }),
    checks: () => [
      broken
        ? { name: 'policies', state: 'degraded', detail: `${policies.length} in force; not usable: TaintPolicy idle` }
        : { name: 'policies', state: 'ok', detail: `${policies.length} in force` },
      { name: 'certificate', state: 'ok', detail: `expires ${CERTIFICATE.notAfter}, renewed in time` },
      { name: 'webhooks', state: 'ok', detail: `${WEBHOOKS.length} registered` },
      { name: 'shutdown', state: 'ok', detail: 'not asked for' },
    ],
    certificate: () => CERTIFICATE,
    webhooks: () => WEBHOOKS.map((webhook) => ({ ...webhook, trusted: fault !== 'untrusted' })),
    policies: () => clusterPolicyStates(objects, audit),
    cluster: () => ({
      compiled,
      clusterState: {
        isSynced: () => true,
        revision: () => 1,
        nodes: () => nodes,
        daemonSets: () => daemonSets,
        isInConflict: (node) => node === CONFLICT_NODE && fault !== 'none',
        startupOn: (node) => (fault === 'several' ? WAITING[node] : undefined),
      },
    }),
    objects: {
      policies: () => objects,
      async read(path) {
        const found = objectAt(path, nodes, daemonSets);
        if (found === undefined) throw absent('GET', path);
        return found;
      },
    },
  };
  return {
    sources,
    decisions: fault === 'several' ? sampleDecisions(compiled, audit) : createDecisionLog({ replica: REPLICA }),
  };
}

/** An object as the API server has it, as far as it is read. */
function objectAt(
  path: string,
  nodes: readonly ClusterNode[],
  daemonSets: readonly ClusterDaemonSet[],
): object | undefined {
  const writer = { manager: 'kubectl-taint', operation: 'Update', time: '2026-03-14T01:12:40Z' };
  const metadata = { managedFields: [{ ...writer, fieldsV1: { 'f:spec': { 'f:taints': {}, 'f:template': {} } } }] };
  const node = nodes.find(({ name }) => path === `/api/v1/nodes/${name}`);
  if (node) {
    const { name, labels, taints } = node;
    return { metadata: { ...metadata, name, labels }, spec: { taints } };
  }
  const daemonSet = daemonSets.find(
    (one) => path === `/apis/apps/v1/namespaces/${one.namespace}/daemonsets/${one.name}`,
  );
  if (!daemonSet) return undefined;
  const { namespace, name, labels, tolerations, nodeSelector, isCritical } = daemonSet;
  const priorityClassName = isCritical ? 'system-node-critical' : '';
  const spec = { template: { spec: { tolerations, nodeSelector, priorityClassName } } };
  return { metadata: { ...metadata, namespace, name, labels }, spec };
}

const CERTIFICATE: CertificateState = { notAfter: '2026-05-17T01:00:00.000Z', daysLeft: 63, expiresSoon: false };

/** What the startup taints of nodes wait for. */
const WAITING: Readonly<Record<string, string>> = {
  'worker-a-0040': 'startup taint example.com/cni:NoSchedule waits for a ready pod of DaemonSet cilium/cilium',
  'worker-b-0017': 'startup taint example.com/cni:NoSchedule waits for a ready pod of DaemonSet cilium/cilium',
};

const WEBHOOKS: readonly WebhookState[] = ['restore', 'tolerate', 'protect'].map((name) => ({
  name: `${name}.taintkeeper.dev`,
  trusted: true,
}));

const GPU_TAINT = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const TEAM_TAINT = { key: 'team.example.com/vision', effect: 'NoSchedule' };
const CONTROL_PLANE_TAINT = { key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' };
const FLANNEL = [{ key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' }];

/** Decisions as the program itself makes them, of requests in the last hour. */
function sampleDecisions(policies: PolicySet, audit: boolean): DecisionLog {
  let at = SAMPLE_TIME;
  const log = createDecisionLog({ replica: REPLICA, now: () => at });
  const decide = (secondsAgo: number, usual: Phase, request: AdmissionRequest) => {
    // Where nothing is changed, it is the second phase that reports.
    const phase = audit ? 'validate' : usual;
    at = new Date(SAMPLE_TIME.getTime() - secondsAgo * 1_000);
    log.record({ phase, request, judgement: judgeRequest(request, phase, policies), origin: '10.0.0.10' });
  };
  decide(
    3_100,
    'mutate',
    daemonSetCreation('kube-flannel', 'kube-flannel-ds', 'system:serviceaccount:argocd:controller'),
  );
  decide(
    1_900,
    'mutate',
    nodeUpdate('gpu-a-0001', 'gpu', [GPU_TAINT, TEAM_TAINT], [], 'system:serviceaccount:ops:node-labeller'),
  );
  decide(
    640,
    'validate',
    nodeUpdate('edge-a-0001', 'edge', [EDGE_TAINT], [], 'system:serviceaccount:ops:node-labeller'),
  );
  decide(
    95,
    'mutate',
    nodeUpdate('gpu-b-0002', 'gpu', [GPU_TAINT], [{ ...GPU_TAINT, value: 'batch' }], 'dana@example.com'),
  );
  decide(12, 'validate', nodeUpdate('cp-2', 'control-plane', [CONTROL_PLANE_TAINT], [], 'dev@example.com'));
  return log;
}

const EDGE_TAINT = { key: 'example.com/edge', effect: 'NoExecute' };

function nodeUpdate(name: string, pool: string, before: unknown, after: unknown, username: string): AdmissionRequest {
  const node = (taints: unknown) => ({ metadata: { name, labels: { pool } }, spec: { taints } });
  return {
    uid: `update-${name}`,
    operation: 'UPDATE',
    resource: { group: '', version: 'v1', resource: 'nodes' },
    name,
    userInfo: { username },
    oldObject: node(before),
    object: node(after),
  };
}

function daemonSetCreation(namespace: string, name: string, username: string): AdmissionRequest {
  return {
    uid: `create-${name}`,
    operation: 'CREATE',
    resource: { group: 'apps', version: 'v1', resource: 'daemonsets' },
    namespace,
    name,
    userInfo: { username },
    object: { metadata: { namespace, name }, spec: { template: { spec: { tolerations: FLANNEL } } } },
  };
}
