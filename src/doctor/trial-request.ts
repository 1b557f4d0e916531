import { judge } from '../admission/admit.ts';
import type { AdmissionRequest } from '../admission/review.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import type { Policy } from '../policy/policy.ts';
import { compilePolicies } from '../policy/policy-set.ts';

/** A dry-run request that changes nothing, and to which the webhook has something to say. */
export interface Trial {
  /** What is tried, in words. */
  readonly what: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly contentType: string;
  readonly body: object;
  /** Whether the answer of a request that passed shows that the webhook was asked. */
  shows(answer: unknown): boolean;
}

/** What a trial is made of: the API server's own objects, and who asks. */
export interface TrialMaterial {
  readonly policies: readonly Policy[];
  readonly nodes: readonly NodeLike[];
  readonly requester: { readonly username: string; readonly groups: readonly string[] };
  /** No webhook of ours is asked about DaemonSets in here. */
  readonly namespace: string;
}

export interface NodeLike {
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly taints?: readonly object[] | null };
}

/** Name of the DaemonSet that is never made. */
const TRIAL_NAME = 'taintkeeper-doctor-trial';

/**
 * Finds a request that the policies do not let pass as it is: a node that loses its taints, or else a DaemonSet that lacks
 * a toleration. The same engine that will be asked says so beforehand. Undefined where there is none.
 */
export function findTrial({ policies, nodes, requester, namespace }: TrialMaterial): Trial | undefined {
  const compiled = compilePolicies(policies);
  const userInfo = { username: requester.username, groups: [...requester.groups] };
  const matters = (request: Omit<AdmissionRequest, 'uid' | 'userInfo'>) =>
    (['mutate', 'validate'] as const).some(
      (phase) => judge({ uid: 'trial', userInfo, ...request }, phase, compiled).decision.verdict !== 'allow',
    );
  for (const node of nodes) {
    const trial = nodeTrial(node);
    const object = { ...node, spec: { ...node.spec, taints: [] } };
    const resource = { group: '', version: 'v1', resource: 'nodes' };
    if (matters({ resource, operation: 'UPDATE', name: node.metadata.name, object, oldObject: node })) return trial;
  }
  for (const policy of policies) {
    if (policy.kind !== 'TolerationPolicy' || policy.spec.mode !== 'Mutate') continue;
    const { namespaces, names = ['*'], selector } = policy.spec.daemonSets;
    const home = namespaces.find((one) => !isPattern(one) && one !== namespace);
    if (home === undefined) continue;
    const name = names.find((one) => !isPattern(one)) ?? TRIAL_NAME;
    const object = daemonSet(home, name, { ...selector?.matchLabels });
    const resource = { group: 'apps', version: 'v1', resource: 'daemonsets' };
    if (matters({ resource, operation: 'CREATE', namespace: home, name, object })) return daemonSetTrial(home, object);
  }
  return undefined;
}

function nodeTrial({ metadata, spec }: NodeLike): Trial {
  return {
    what: `dropping the taints of node ${metadata.name}`,
    method: 'PATCH',
    path: `/api/v1/nodes/${metadata.name}`,
    contentType: 'application/merge-patch+json',
    body: { spec: { taints: null } },
    shows: (answer) => ((answer as NodeLike).spec?.taints ?? []).length > 0 && (spec?.taints ?? []).length > 0,
  };
}

function daemonSetTrial(namespace: string, object: ReturnType<typeof daemonSet>): Trial {
  return {
    what: `creating DaemonSet ${namespace}/${object.metadata.name}`,
    method: 'POST',
    path: `/apis/apps/v1/namespaces/${namespace}/daemonsets`,
    contentType: 'application/json',
    body: object,
    shows: (answer) => tolerationsOf(answer).length > 0,
  };
}

function tolerationsOf(daemonSet: unknown): readonly unknown[] {
  const { spec } = daemonSet as { spec?: { template?: { spec?: { tolerations?: readonly unknown[] } } } };
  return spec?.template?.spec?.tolerations ?? [];
}

function daemonSet(namespace: string, name: string, labels: object) {
  const own = { 'app.kubernetes.io/name': TRIAL_NAME };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace, labels },
    spec: {
      selector: { matchLabels: own },
      template: {
        metadata: { labels: own },
        spec: { containers: [{ name: 'none', image: 'registry.k8s.io/pause' }] },
      },
    },
  };
}
