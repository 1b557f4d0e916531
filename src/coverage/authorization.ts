import { matchesPattern } from '../kubernetes/pattern.ts';
import { givenEffects, type Toleration } from '../kubernetes/toleration.ts';
import type { AuthorizationMode } from '../policy/guards.ts';
import type { Policy } from '../policy/policy.ts';
import { type CompiledTaintPolicy, compilePolicies } from '../policy/policy-set.ts';
import type { TaintRule } from '../policy/taint-rule.ts';

/** The right that a pod's service account, or the person who creates the pod, must have. The resource name is the key of the taint. */
export const TOLERATE = { apiGroup: 'taintkeeper.dev', resource: 'taints', verb: 'tolerate' } as const;

/** Every pod has one; where its spec names none, this. */
export const DEFAULT_SERVICE_ACCOUNT = 'default';

/** Names that start like this belong to service accounts, to nodes, and to parts of the control plane. */
export const SYSTEM_PREFIX = 'system:';

/** The administrator's name in the kubeconfig of k3s, RKE2 and OpenShift. */
export const SYSTEM_ADMIN = 'system:admin';

/** Who makes a request, and for what pod. */
export interface Requester {
  readonly user: string;
  /** Whether the pod has an owner reference with `controller: true`, which every workload controller sets. */
  readonly hasController: boolean;
}

/**
 * True when the requester's own right counts, besides that of the pod's service account. A controller creates pods for others, so its
 * right proves nothing about them. A controller is a service account, a user of the system, or the author of a pod that has a controller.
 * The last one covers controllers that run with the credentials of a person, such as a controller manager with the file of an administrator.
 */
export function isPerson({ user, hasController }: Requester): boolean {
  return !hasController && (user === SYSTEM_ADMIN || !user.startsWith(SYSTEM_PREFIX));
}

/** A key, and the rules of one policy that ask who may tolerate it. */
export interface AuthorizedKey {
  readonly key: string;
  readonly rules: readonly Pick<TaintRule, 'key' | 'value' | 'effect'>[];
  /** The rules, for example `spec.taints[0]`. */
  readonly fields: readonly string[];
  /** Whether a pod with a `nodeName` of its own is asked about: the scheduler, which holds all but NoExecute, never sees it. */
  readonly asksOfNodeName: boolean;
}

/** The keys that only the authorized may tolerate, in the order of the policy. */
export function authorizedKeys({ authorization }: Pick<CompiledTaintPolicy, 'authorization'>): AuthorizedKey[] {
  return [...Map.groupBy(authorization?.rules ?? [], ({ key }) => key)].map(([key, rules]) => ({
    key,
    rules,
    fields: rules.map(({ field }) => field),
    asksOfNodeName: rules.some(({ effect }) => effect !== 'NoExecute'),
  }));
}

/** The keys that only the authorized may tolerate, by any of the policies. */
export function allAuthorizedKeys(policies: readonly Policy[]): string[] {
  const keys = compilePolicies(policies).taintPolicies.flatMap((policy) =>
    authorizedKeys(policy).map(({ key }) => key),
  );
  return [...new Set(keys)];
}

/**
 * True when the toleration tolerates some taint that the rule means, but for those that Kubernetes itself gives to pods. An operator
 * other than `Exists` and `Equal` (`Gt` and `Lt` of KEP-5471) is taken to tolerate every value.
 */
function isAskedAbout(
  { key, operator, value, effect }: Toleration,
  rule: Pick<TaintRule, 'key' | 'value' | 'effect'>,
): boolean {
  if (key && key !== rule.key) return false;
  if (effect && rule.effect !== undefined && effect !== rule.effect) return false;
  if (key && effect && givenEffects(key).includes(effect)) return false;
  return rule.value === undefined || !['', 'Equal'].includes(operator ?? '') || (value ?? '') === rule.value;
}

/** What of a pod, or of the template of pods, says which keys it is asked about. */
export interface PodView {
  readonly namespace: string;
  /** Empty: {@link DEFAULT_SERVICE_ACCOUNT}. */
  readonly serviceAccount: string;
  /** As it is when the pod is created: the scheduler names a node later. */
  readonly nodeName: string;
  readonly tolerations: readonly Toleration[];
}

/** A key that a pod may have only if it is authorized. */
export interface AskedKey {
  readonly policy: string;
  readonly mode: AuthorizationMode;
  readonly key: string;
  readonly fields: readonly string[];
  /** Those of the pod's by which it is asked about. None: by its nodeName alone. */
  readonly tolerations: readonly Toleration[];
}

/** What the API server asks about a pod that is created, by the native policies of the taint policies. */
export function askedKeys(
  { namespace, nodeName, tolerations }: PodView,
  policies: readonly Pick<CompiledTaintPolicy, 'name' | 'authorization'>[],
): AskedKey[] {
  return policies.flatMap((policy) => {
    const { mode = 'Audit', exceptNamespaces = [] } = policy.authorization ?? {};
    if (exceptNamespaces.some((pattern) => matchesPattern(pattern, namespace))) return [];
    return authorizedKeys(policy).flatMap(({ key, rules, fields, asksOfNodeName }) => {
      const found = tolerations.filter((toleration) => rules.some((rule) => isAskedAbout(toleration, rule)));
      const isAsked = found.length > 0 || (asksOfNodeName && nodeName !== '');
      return isAsked ? [{ policy: policy.name, mode, key, fields, tolerations: found }] : [];
    });
  });
}
