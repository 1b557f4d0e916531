import Type, { type Static } from 'typebox';
import { isPattern } from './pattern.ts';
import type { Problem } from './problem.ts';
import {
  EffectSchema,
  isQualifiedName,
  LabelSelectorSchema,
  LabelValue,
  NamePatterns,
  QualifiedNamePattern,
} from './schema.ts';
import { isTransientTaintKey } from './transient-taints.ts';

/** What a dropped taint leads to, the strongest first. */
export const TAINT_MODES = ['Deny', 'Restore', 'Audit'] as const;
export type TaintMode = (typeof TAINT_MODES)[number];

const TaintRuleSchema = Type.Object(
  {
    key: QualifiedNamePattern(
      'Key of the taint. `*` stands for any run of characters; a key with `*` never covers taints that come and go by ' +
        'themselves, such as node.kubernetes.io/not-ready or the start-up taints of well-known agents.',
    ),
    value: Type.Optional(LabelValue('Value of the taint. Without it, any value is meant (and none is set).')),
    effect: Type.Optional(EffectSchema('Effect of the taint. Without it, any effect is meant.')),
    ensure: Type.Optional(
      Type.Enum(['Preserved', 'Present'], {
        default: 'Preserved',
        description:
          'Preserved: once a selected node carries the taint, it stays. Present: in addition, every selected node gets ' +
          'the taint when it registers; this needs a key without `*`, and an effect.',
      }),
    ),
  },
  { additionalProperties: false },
);

/** `spec` of a TaintPolicy: the TypeScript type, the validation and the CRD all come from here. */
export const TaintPolicySpecSchema = Type.Object(
  {
    mode: Type.Enum([...TAINT_MODES], {
      description:
        'What happens to an update that drops a protected taint. Deny: it is refused. Restore: the taint is put back in ' +
        'the same request, the other changes pass. Audit: it passes, with a warning and a record. Where several ' +
        'policies protect one taint, Deny wins over Restore over Audit.',
    }),
    nodeSelector: Type.Optional(
      LabelSelectorSchema(
        'The nodes that the policy is for, by their labels before or after the update. Without it, every node.',
      ),
    ),
    taints: Type.Array(TaintRuleSchema, { description: 'The protected taints.', minItems: 1, maxItems: 64 }),
    exempt: Type.Optional(
      Type.Object(
        {
          users: Type.Optional(NamePatterns('User names; `*` stands for any run of characters.')),
          groups: Type.Optional(NamePatterns('Group names; `*` stands for any run of characters.')),
        },
        {
          description: 'Who may remove the taints. Present taints are set at registration whoever registers the node.',
          additionalProperties: false,
        },
      ),
    ),
    release: Type.Optional(
      Type.Enum(['ByAnnotation', 'Never'], {
        default: 'ByAnnotation',
        description:
          'Whether a taint may be removed on purpose. ByAnnotation: yes, after the node was annotated with ' +
          'taintkeeper.dev/release: "key=value:Effect" in an earlier request. Never: only by changing the policy.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type TaintPolicySpec = Static<typeof TaintPolicySpecSchema>;
export type TaintRule = Static<typeof TaintRuleSchema>;

/** What is wrong with a TaintPolicy that a schema cannot say. Paths start at `spec`. */
export function checkTaintPolicy(spec: TaintPolicySpec): Problem[] {
  return spec.taints.flatMap((rule, index) => {
    const path = ['spec', 'taints', index];
    return [
      ...checkKey(rule).map((message) => ({ path: [...path, 'key'], message })),
      ...(rule.ensure === 'Present' && rule.effect === undefined
        ? [{ path, message: 'a Present taint needs an effect: add NoSchedule, PreferNoSchedule or NoExecute' }]
        : []),
    ];
  });
}

function checkKey({ key, ensure }: TaintRule): string[] {
  if (!isPattern(key)) {
    return isQualifiedName(key) ? [] : [`"${key}" is no taint key: expected NAME or DOMAIN/NAME`];
  }
  if (ensure === 'Present') return ['a Present taint needs a key without "*": it has to be set'];
  // The pattern itself, taken for a key: if that comes and goes by itself, so does all that it could match.
  return isTransientTaintKey(key) ? [`"${key}" protects nothing: such taints come and go, so name an exact key`] : [];
}
