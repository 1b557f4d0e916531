import type { Static } from 'typebox';
import * as Type from 'typebox';
import { brokenConstraints, celValidations } from './constraint.ts';
import { backstopSchema, NamePatterns } from './field-schemas.ts';
import { formatPath, type Path, type Problem } from './problem.ts';
import { LabelSelectorSchema } from './selector.ts';
import { NO_CONTRADICTION, SPEC_CONSTRAINTS } from './taint-policy-constraints.ts';
import { checkRule, type TaintRule, TaintRuleSchema } from './taint-rule.ts';

/** What the API server does with a request if it cannot call the webhook (admissionregistration.k8s.io). */
export type FailurePolicy = 'Fail' | 'Ignore';

/**
 * What happens to an update that removes a taint of the policy while the webhook is unavailable.
 * @param mode the effective one: in mode Audit, the result is never Fail
 */
export function failurePolicyOf(spec: TaintPolicySpec, mode: TaintMode): FailurePolicy {
  if (mode === 'Audit') return 'Ignore';
  return spec.failurePolicy ?? (mode === 'Deny' ? 'Fail' : 'Ignore');
}

/** The effect of removing a taint, the strongest first. */
export const TAINT_MODES = ['Deny', 'Restore', 'Audit'] as const;
export type TaintMode = (typeof TAINT_MODES)[number];

/** How many rules one policy may list. */
export const MAX_POLICY_TAINTS = 64;

/** `spec` of a TaintPolicy: the source of the TypeScript type, the validation and the CRD. */
export const TaintPolicySpecSchema = Type.Object(
  {
    mode: Type.Enum([...TAINT_MODES], {
      description:
        'What happens to a request that removes a protected taint, or changes its value. Deny: it is refused. Restore: the taint is restored in ' +
        'the same request, and the other changes pass. Audit: it passes, with a warning and a record. Where several ' +
        'policies protect one taint, Deny wins over Restore over Audit. In mode Deny and Restore, the leader also sets taints of ' +
        '`ensure: Always` that a node lacks.',
    }),
    nodeSelector: Type.Optional(
      LabelSelectorSchema(
        'The nodes that the policy is for, by their labels before or after the update. Without it, every node.',
      ),
    ),
    taints: Type.Array(TaintRuleSchema, {
      description: 'The taints. One without `ensure`, or with `ensure: Always`, is protected.',
      minItems: 1,
      maxItems: MAX_POLICY_TAINTS,
    }),
    exempt: Type.Optional(
      Type.Object(
        {
          users: Type.Optional(NamePatterns('User names; `*` stands for any run of characters.')),
          groups: Type.Optional(NamePatterns('Group names; `*` stands for any run of characters.')),
        },
        {
          description:
            'The users who may remove protected taints. If one of them removes a taint of `ensure: Always`, taintkeeper adds it to the annotation ' +
            'taintkeeper.dev/allow-removal of the node in the same request, so that it stays off. ' +
            'Every node that registers gets its taints, also if an exempt user registers it.',
          additionalProperties: false,
        },
      ),
    ),
    removalByAnnotation: Type.Optional(
      Type.Enum(['Allowed', 'Forbidden'], {
        default: 'Allowed',
        description:
          'Whether the annotation taintkeeper.dev/allow-removal of a Node counts. Allowed: each taint that it lists, for example "dedicated=gpu:NoSchedule", may be ' +
          'removed from that node, and is not set again. The value before the request counts, so the annotation and the removal are two requests. ' +
          'Forbidden: it means nothing, and only exempt users may remove the taint.',
      }),
    ),
    // No default, because it depends on the mode.
    failurePolicy: Type.Optional(
      Type.Enum(['Fail', 'Ignore'], {
        description:
          'What happens to a request that removes a protected taint while taintkeeper cannot be called. Fail: it is ' +
          'refused. Ignore: it passes. Without it, Fail for mode Deny and Ignore for Restore; Audit policies are ' +
          'always Ignore. It has effect only where taintkeeper runs in the cluster and writes the webhook ' +
          'configurations itself.',
      }),
    ),
    backstop: Type.Optional(backstopSchema('only failurePolicy applies.')),
  },
  {
    description: 'Which taints nodes must have, and which ones only exempt users may remove.',
    additionalProperties: false,
    ...celValidations([...SPEC_CONSTRAINTS, NO_CONTRADICTION]),
  },
);

export type TaintPolicySpec = Static<typeof TaintPolicySpecSchema>;

/** A field of a rule with `ensure: UntilReady` that this version does not know: the taint may have to wait for something else as well. */
export interface UnknownPart {
  /** The index of the rule. */
  readonly rule: number;
  /** For example `spec.taints[0].readyWhen.future`. */
  readonly field: string;
}

/** @param ignored the fields of the policy that this version does not know */
export function unknownPartsOf({ taints }: TaintPolicySpec, ignored: readonly Path[]): UnknownPart[] {
  const fields = ignored.map(formatPath);
  return taints.flatMap(({ ensure }, rule) =>
    ensure === 'UntilReady'
      ? fields.filter((field) => field.startsWith(`spec.taints[${rule}]`)).map((field) => ({ rule, field }))
      : [],
  );
}

/** The problems of a TaintPolicy that a schema cannot express. Paths start at `spec`. */
export function checkTaintPolicy(spec: TaintPolicySpec, unknownParts: readonly UnknownPart[]): Problem[] {
  return [
    ...brokenConstraints(SPEC_CONSTRAINTS, spec, ['spec']),
    ...spec.taints.flatMap((rule, index) => [
      ...checkRule(
        rule,
        ['spec', 'taints', index],
        unknownParts.some((part) => part.rule === index),
      ),
      ...checkContradiction(spec.taints, index),
    ]),
  ];
}

/** The problem if an earlier rule with `ensure` has the same key and effect, and another value. A node can have only one of them. */
function checkContradiction(rules: readonly TaintRule[], index: number): Problem[] {
  const rule = rules[index];
  if (rule?.ensure === undefined || rule.value === undefined) return [];
  const other = rules
    .slice(0, index)
    .findIndex(
      ({ ensure, key, effect, value }) =>
        ensure !== undefined && key === rule.key && effect === rule.effect && (value ?? rule.value) !== rule.value,
    );
  if (other === -1) return [];
  return [
    {
      path: ['spec', 'taints', index, 'value'],
      message: `${NO_CONTRADICTION.message}, and spec.taints[${other}] has another`,
    },
  ];
}
