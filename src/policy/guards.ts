import type { Static } from 'typebox';
import * as Type from 'typebox';

/*
 * What a TaintPolicy guards besides the taints that nodes carry: who may add and tolerate them, and what becomes of pods.
 */

/**
 * The namespaces whose pods are not asked about: those of Kubernetes, and those in which the usual CNIs run (as in the built-in
 * TolerationPolicy).
 */
export const DEFAULT_EXCEPT_NAMESPACES: readonly string[] = [
  'kube-system',
  'kube-public',
  'kube-node-lease',
  'kube-flannel',
  'calico-system',
  'tigera-operator',
  'cilium',
  'weave',
  'kube-router',
  'antrea-system',
  'kube-ovn',
  'ovn-kubernetes',
  'multus',
];

/** `spec.authorization` of a TaintPolicy. */
export const AuthorizationSchema = Type.Object(
  {
    mode: Type.Optional(
      Type.Enum(['Audit', 'Deny'], {
        default: 'Audit',
        description:
          'What happens to a pod that tolerates a key without leave. Audit: it is created, with a warning and an entry in the audit log. Deny: it is refused.',
      }),
    ),
    exceptNamespaces: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
        description:
          'Namespaces whose pods may tolerate every key; `*` stands for any run of characters. Without it, those of Kubernetes and ' +
          "of the usual CNIs. taintkeeper's own namespace is always among them.",
        default: [...DEFAULT_EXCEPT_NAMESPACES],
        maxItems: 64,
      }),
    ),
  },
  {
    description:
      'For rules with `tolerate: Authorized`. The API server decides by itself, by a ValidatingAdmissionPolicy that taintkeeper ' +
      'writes, so that no pod waits for taintkeeper; this needs permission to write such policies, which is off by default. ' +
      'Static pods are never asked about.',
    additionalProperties: false,
  },
);

/** What a pod leads to that tolerates a key without being authorized. */
export type AuthorizationMode = NonNullable<Static<typeof AuthorizationSchema>['mode']>;

/** That only the authorized may tolerate some keys: `spec.authorization` as it is in force. */
export interface CompiledAuthorization<Rule> {
  readonly mode: AuthorizationMode;
  /** Names and patterns. */
  readonly exceptNamespaces: readonly string[];
  /** At least one; no key has a wildcard. */
  readonly rules: readonly Rule[];
}

/** Undefined where none of the rules asks who may tolerate. */
export function compileAuthorization<Rule extends { readonly tolerate?: string }>(
  {
    mode = 'Audit',
    exceptNamespaces = DEFAULT_EXCEPT_NAMESPACES,
  }: Partial<Omit<CompiledAuthorization<Rule>, 'rules'>> = {},
  all: readonly Rule[],
  audit: boolean,
): CompiledAuthorization<Rule> | undefined {
  const rules = all.filter(({ tolerate }) => tolerate === 'Authorized');
  return rules.length === 0 ? undefined : { mode: audit ? 'Audit' : mode, exceptNamespaces, rules };
}

/**
 * How many rules of a policy may ask who is authorized: the API server evaluates a policy for ten million cost units, and twice
 * 350,000 of them are for each key (`check` in k8s.io/apiserver/pkg/cel/library/cost.go), of the service account and of the requester.
 */
export const MAX_AUTHORIZED_RULES = 12;

/** `spec.deletedNodeRetentionSeconds` of a TaintPolicy. */
export const DeletedNodeRetentionSchema = Type.Integer({
  description:
    'For how many seconds after the deletion of a node its protected taints are kept. A node that registers within this time ' +
    'under the same name, on the same machine, gets them back. taintkeeper recognizes the machine by its providerID or ' +
    'systemUUID. Where neither is known, the name decides. Taints that were removed with permission before stay off. ' +
    'Without this field, nothing is kept.',
  format: 'int32',
  minimum: 1,
  maximum: 31_536_000,
});
