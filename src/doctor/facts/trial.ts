import type { AdmissionRequest } from '../../admission/admission-review.ts';
import { judgeRequest } from '../../admission/judge-request.ts';
import { namespacedPath } from '../../cluster/client/object-path.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../../judge/allow-removal.ts';
import { PHASES } from '../../judge/decision.ts';
import { isPattern } from '../../kubernetes/pattern.ts';
import { needsNativePolicies } from '../../policy/backstop.ts';
import type { Policy } from '../../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../../policy/policy-set.ts';

/** A dry-run request to which the webhook responds with a denial, a patch or a warning. */
export interface Trial {
  /** Its description. */
  readonly what: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly contentType: string;
  readonly body: object;
  /** Whether native policies may decide it before the webhook is called, which then leaves no mark. */
  readonly isNative: boolean;
  /** Whether the answer to a request that was allowed shows the effect of a policy. */
  shows(answer: unknown): boolean;
}

/** Objects of the cluster, and the user who sends the request. */
export interface TrialMaterial {
  readonly policies: readonly Policy[];
  readonly nodes: readonly NodeLike[];
  readonly requester: { readonly username: string; readonly groups: readonly string[] };
  /** taintkeeper's namespace: the webhooks are not called for its DaemonSets. */
  readonly namespace: string;
}

export interface NodeLike {
  readonly metadata: { readonly name: string; readonly annotations?: Readonly<Record<string, string>> | null };
  readonly spec?: { readonly taints?: readonly object[] | null };
}

/** The name of the DaemonSet in the dry run. */
const TRIAL_NAME = 'taintkeeper-doctor-trial';

/** A request, and the trial that sends it. */
interface Candidate {
  readonly request: Omit<AdmissionRequest, 'uid' | 'userInfo'>;
  readonly trial: Omit<Trial, 'isNative'>;
}

/**
 * Finds a request that the policies deny or patch: a node that loses its taints, else a DaemonSet without a required toleration. The
 * engine of the webhook judges it beforehand. Undefined if there is none. A request that native policies decide first is the last choice.
 */
export function findTrial(material: TrialMaterial): Trial | undefined {
  const { policies, requester } = material;
  const userInfo = { username: requester.username, groups: [...requester.groups] };
  const mattersTo =
    (compiled: PolicySet) =>
    ({ request }: Candidate) =>
      PHASES.some(
        (phase) => judgeRequest({ uid: 'trial', userInfo, ...request }, phase, compiled).decision.action !== 'allow',
      );
  const isDecided = mattersTo(compilePolicies(policies));
  const isNative = mattersTo(compilePolicies(policies.filter(needsNativePolicies)));
  let native: Trial | undefined;
  for (const candidate of candidates(material)) {
    if (!isDecided(candidate)) continue;
    if (!isNative(candidate)) return { ...candidate.trial, isNative: false };
    native ??= { ...candidate.trial, isNative: true };
  }
  return native;
}

function* candidates({ policies, nodes, namespace }: TrialMaterial): Generator<Candidate> {
  for (const node of nodes) {
    const object = { ...node, spec: { ...node.spec, taints: [] } };
    const resource = { group: '', version: 'v1', resource: 'nodes' };
    const request = { resource, operation: 'UPDATE', name: node.metadata.name, object, oldObject: node };
    yield { request, trial: nodeTrial(node) };
  }
  for (const policy of policies) {
    if (policy.kind !== 'TolerationPolicy' || policy.spec.mode !== 'Mutate') continue;
    const { namespaces, names = ['*'], selector } = policy.spec.daemonSets;
    const home = namespaces.find((one) => !isPattern(one) && one !== namespace);
    if (home === undefined) continue;
    const name = names.find((one) => !isPattern(one)) ?? TRIAL_NAME;
    const object = daemonSet(home, name, { ...selector?.matchLabels });
    const resource = { group: 'apps', version: 'v1', resource: 'daemonsets' };
    const request = { resource, operation: 'CREATE', namespace: home, name, object };
    yield { request, trial: daemonSetTrial(home, object) };
  }
}

function nodeTrial(node: NodeLike): Candidate['trial'] {
  const { metadata } = node;
  return {
    what: `removing the taints of node ${metadata.name}`,
    method: 'PATCH',
    path: `/api/v1/nodes/${metadata.name}`,
    contentType: 'application/merge-patch+json',
    body: { spec: { taints: null } },
    // If the user is exempt, the taints are removed, and mutation records that in the annotation.
    shows: (answer) =>
      (taintsOf(answer).length > 0 && taintsOf(node).length > 0) || allowRemovalOf(answer) !== allowRemovalOf(node),
  };
}

function taintsOf(node: unknown): readonly object[] {
  return (node as Partial<NodeLike>).spec?.taints ?? [];
}

function allowRemovalOf(node: unknown): string | undefined {
  return (node as Partial<NodeLike>).metadata?.annotations?.[ALLOW_REMOVAL_ANNOTATION];
}

function daemonSetTrial(namespace: string, object: ReturnType<typeof daemonSet>): Candidate['trial'] {
  return {
    what: `creating DaemonSet ${namespace}/${object.metadata.name}`,
    method: 'POST',
    path: namespacedPath('/apis/apps/v1', namespace, 'daemonsets'),
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

/** Half of a node's size is the list of its images. */
export function withoutStatus(object: unknown): NodeLike {
  return { ...(object as NodeLike), status: undefined } as NodeLike;
}
