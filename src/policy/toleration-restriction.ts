import type { Static } from 'typebox';
import * as Type from 'typebox';
import { DNS_LABEL_LENGTH } from '../kubernetes/names.ts';
import { brokenConstraints } from './constraint.ts';
import { EffectSchema, LabelValue, QUALIFIED_NAME_CONSTRAINTS, QualifiedName } from './field-schemas.ts';
import type { Problem } from './problem.ts';

/** What happens to a pod that tolerates a restricted taint without authorization, the strongest first. */
export const RESTRICTION_MODES = ['Deny', 'Audit'] as const;
export type RestrictionMode = (typeof RESTRICTION_MODES)[number];

/** The namespaces of Kubernetes, and those in which the usual CNIs run (as in the built-in TolerationPolicy). */
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

/**
 * How many taints one object may name. The API server evaluates a native policy for ten million cost units. Each key takes twice 350,000 of
 * them (`check` in k8s.io/apiserver/pkg/cel/library/cost.go), for the service account and for the requester.
 */
export const MAX_RESTRICTED_TAINTS = 12;

const RestrictedTaintSchema = Type.Object(
  {
    key: QualifiedName('Key of the taint. It is the resource name in the RBAC rule that authorizes users.'),
    value: Type.Optional(LabelValue('Value of the taint. Without it, any value matches.')),
    effect: Type.Optional(EffectSchema('Effect of the taint. Without it, any effect matches.')),
  },
  { additionalProperties: false },
);

/** An item of `spec.taints` of a TolerationRestriction. */
export type RestrictedTaint = Static<typeof RestrictedTaintSchema>;

/** `spec` of a TolerationRestriction: the source of the TypeScript type, the validation and the CRD. */
export const TolerationRestrictionSpecSchema = Type.Object(
  {
    mode: Type.Enum([...RESTRICTION_MODES], {
      description:
        'What happens to a pod that tolerates one of the taints without authorization. Deny: the API server refuses it. Audit: it is ' +
        'created, with a warning and an entry in the audit log.',
    }),
    taints: Type.Array(RestrictedTaintSchema, {
      description:
        'The taints that only authorized pods may tolerate. A pod is authorized if its service account, or the person who creates it, ' +
        'is allowed the verb `tolerate` on the resource `taints` of the API group taintkeeper.dev, with the key as resource name.',
      minItems: 1,
      maxItems: MAX_RESTRICTED_TAINTS,
    }),
    exceptNamespaces: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: DNS_LABEL_LENGTH }), {
        description:
          'Namespaces whose pods may tolerate every taint; `*` stands for any run of characters. Without it, those of Kubernetes and ' +
          "of the usual CNIs. taintkeeper's own namespace is always among them.",
        default: [...DEFAULT_EXCEPT_NAMESPACES],
        maxItems: 64,
      }),
    ),
  },
  {
    description:
      'Which taints only authorized pods may tolerate. The API server decides by a ValidatingAdmissionPolicy that taintkeeper writes, so ' +
      'that no pod waits for taintkeeper. This needs permission to write such policies, which is off by default. Static pods are never ' +
      'restricted.',
    additionalProperties: false,
  },
);

export type TolerationRestrictionSpec = Static<typeof TolerationRestrictionSpecSchema>;

/** The problems of a TolerationRestriction that a schema cannot express. Paths start at `spec`. */
export function checkTolerationRestriction({ taints }: TolerationRestrictionSpec): Problem[] {
  return taints.flatMap(({ key }, index) =>
    brokenConstraints(QUALIFIED_NAME_CONSTRAINTS, key, ['spec', 'taints', index, 'key']),
  );
}

/** A TolerationRestriction as it is enforced, with all defaults. */
export interface CompiledTolerationRestriction {
  readonly kind: 'TolerationRestriction';
  readonly name: string;
  readonly mode: RestrictionMode;
  /** 0 for the strongest mode. */
  readonly rank: number;
  /** Each with its field, for example `spec.taints[0]`. */
  readonly taints: readonly (RestrictedTaint & { readonly field: string })[];
  /** Names and patterns. */
  readonly exceptNamespaces: readonly string[];
}

/** @param mode the effective mode */
export function compileTolerationRestriction(
  { name, spec }: { readonly name: string; readonly spec: TolerationRestrictionSpec },
  mode: RestrictionMode = spec.mode,
): CompiledTolerationRestriction {
  return {
    kind: 'TolerationRestriction',
    name,
    mode,
    rank: RESTRICTION_MODES.indexOf(mode),
    taints: spec.taints.map((taint, index) => ({ ...taint, field: `spec.taints[${index}]` })),
    exceptNamespaces: spec.exceptNamespaces ?? DEFAULT_EXCEPT_NAMESPACES,
  };
}
