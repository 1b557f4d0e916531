import type { AdmissionRequest } from '../admission/admission-review.ts';
import { judgeRequest } from '../admission/judge-request.ts';
import type { ApiClient } from '../cluster/client/api-client.ts';
import { ApiError } from '../cluster/client/api-error.ts';
import { isOurs, OWN_SUFFIX } from '../cluster/installation/own-names.ts';
import { type PolicyObject, policiesInForce } from '../cluster/policies/policy-object.ts';
import { whoAmI } from '../cluster/rights/access-review.ts';
import { ALLOW_REMOVAL_ANNOTATION } from '../judge/allow-removal.ts';
import { PHASES } from '../judge/decision.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { needsNativePolicies } from '../policy/backstop.ts';
import type { Policy } from '../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import { type ConnectionFault, connectionFault } from './dial.ts';
import { all, known, type Reading, read, unknown, unreadable } from './reading.ts';

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

/**
 * The outcome of a {@link Trial}. `passed`: no response of the webhook, because it was not called, or the call failed and `failurePolicy`
 * ignores that. `failed`: the API server could not call a webhook.
 */
export type Admission =
  | { readonly outcome: 'answered' | 'passed'; readonly what: string }
  | { readonly outcome: 'failed'; readonly what: string; readonly webhook: string; readonly fault: ConnectionFault }
  /** Decided by a native policy of taintkeeper, which the API server evaluates itself. Only one that denies the request is known by name. */
  | { readonly outcome: 'answered natively'; readonly what: string; readonly policy?: string }
  /** There is no request that the policies deny or patch. */
  | { readonly outcome: 'nothing to try' };

/** Several webhooks may be called, one after the other, each with a timeout of 2 s. */
const TRIAL_TIMEOUT_MS = 8_000;

/** Finds a {@link Trial} in the objects of the cluster. */
export async function trialFor(
  client: ApiClient,
  namespace: string,
  cluster: { readonly policies: Reading<readonly PolicyObject[]>; readonly nodes: Reading<readonly NodeLike[]> },
): Promise<Reading<Trial | undefined>> {
  const material = all({ ...cluster, requester: await read(() => whoAmI(client)) });
  if (!material.ok) return material;
  const { policies, nodes, requester } = material.value;
  return known(findTrial({ policies: policiesInForce(policies), nodes, requester, namespace }));
}

/** Sends a {@link Trial}. */
export async function sendTrial(client: ApiClient, trial: Trial): Promise<Reading<Admission>> {
  const { what, method, path, contentType, body } = trial;
  let warnings = '';
  try {
    const answer = await client.request(method, path, {
      query: { dryRun: 'All' },
      body,
      contentType,
      timeoutMs: TRIAL_TIMEOUT_MS,
      onHeaders: ({ warning }) => {
        warnings = String(warning ?? '');
      },
    });
    // The webhook's warnings begin with the policy. Those of native policies begin with the native policy.
    if (/"(Taint|Toleration)Policy /.test(warnings)) return known({ outcome: 'answered', what });
    if (!trial.shows(answer)) return known({ outcome: 'passed', what });
    return known({ outcome: trial.isNative ? 'answered natively' : 'answered', what });
  } catch (error) {
    return readRefusal(error, what);
  }
}

/** The messages are those of k8s.io/apiserver/pkg/admission/plugin/webhook: `errors/statuserror.go`, and `ErrCallingWebhook`. */
export function readRefusal(error: unknown, what: string): Reading<Admission> {
  if (!(error instanceof ApiError)) return unreadable(error);
  const [, denier] = /admission webhook "([^"]*)" denied the request/.exec(error.message) ?? [];
  if (denier !== undefined) {
    return isOurs(denier)
      ? known({ outcome: 'answered', what })
      : unknown(`${what}, as a trial, is refused by ${denier}, which is not taintkeeper's`);
  }
  // `policyDecisionErrorMessage` of k8s.io/apiserver/pkg/admission/plugin/policy/validating.
  const [, native] =
    /ValidatingAdmissionPolicy '([^']*)' with binding '[^']*' denied request/.exec(error.message) ?? [];
  if (native !== undefined) {
    return native.includes(OWN_SUFFIX)
      ? known({ outcome: 'answered natively', what, policy: native })
      : unknown(`${what}, as a trial, is refused by ValidatingAdmissionPolicy ${native}, which is not taintkeeper's`);
  }
  const [, webhook, reason = ''] = /failed calling webhook "([^"]*)": (.*)$/s.exec(error.message) ?? [];
  if (webhook !== undefined)
    return known({ outcome: 'failed', what, webhook, fault: connectionFault(innermost(reason)) });
  return unreadable(error);
}

/** Removes the URL of the call, and the words around it. */
function innermost(reason: string): string {
  return reason.replace(/^failed to call webhook: /, '').replace(/^Post "[^"]*": /, '');
}

/** Half of a node's size is the list of its images. */
export function withoutStatus(object: unknown): NodeLike {
  return { ...(object as NodeLike), status: undefined } as NodeLike;
}
