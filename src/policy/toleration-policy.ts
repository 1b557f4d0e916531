import Type, { type Static } from 'typebox';
import type { Problem } from './problem.ts';
import { EffectSchema, LabelSelectorSchema, LabelValue, NamePatterns, QualifiedName } from './schema.ts';

export const TOLERATION_MODES = ['Mutate', 'Audit'] as const;
export type TolerationMode = (typeof TOLERATION_MODES)[number];

const PolicyTolerationSchema = Type.Object(
  {
    key: Type.Optional(QualifiedName('Key of the taint that is tolerated. Without it, and with Exists, every key.')),
    operator: Type.Optional(
      Type.Enum(['Exists', 'Equal'], { default: 'Equal', description: 'Exists: any value. Equal: this value.' }),
    ),
    value: Type.Optional(LabelValue('The value that is tolerated; for Equal only.')),
    effect: Type.Optional(EffectSchema('The effect that is tolerated. Without it, every effect.')),
    tolerationSeconds: Type.Optional(
      Type.Integer({ description: 'For NoExecute: how many seconds the taint is tolerated. Without it, forever.' }),
    ),
  },
  { additionalProperties: false },
);

export type PolicyToleration = Static<typeof PolicyTolerationSchema>;

/** What a TolerationPolicy that lists none asks for: both names of the control plane's taint. */
export const DEFAULT_TOLERATIONS: readonly PolicyToleration[] = [
  { key: 'node-role.kubernetes.io/master', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node-role.kubernetes.io/control-plane', operator: 'Exists', effect: 'NoSchedule' },
];

/** `spec` of a TolerationPolicy: the TypeScript type, the validation and the CRD all come from here. */
export const TolerationPolicySpecSchema = Type.Object(
  {
    mode: Type.Enum([...TOLERATION_MODES], {
      description:
        'What happens to a DaemonSet that lacks a toleration. Mutate: it is appended when the DaemonSet is created or ' +
        'its pod template changes. Audit: it is reported.',
    }),
    daemonSets: Type.Object(
      {
        namespaces: Type.Array(Type.String({ minLength: 1, maxLength: 63 }), {
          description: 'Namespaces of the DaemonSets; `*` stands for any run of characters.',
          minItems: 1,
          maxItems: 64,
        }),
        names: Type.Optional(
          NamePatterns('Names of the DaemonSets; `*` stands for any run of characters, and is the default.'),
        ),
        selector: Type.Optional(LabelSelectorSchema('Labels of the DaemonSets. Without it, any.')),
      },
      {
        description: 'The DaemonSets that the policy is for: all three parts must match.',
        additionalProperties: false,
      },
    ),
    tolerations: Type.Optional(
      Type.Array(PolicyTolerationSchema, {
        description: "The tolerations that the DaemonSets need. Without it, both names of the control plane's taint.",
        default: [...DEFAULT_TOLERATIONS],
        minItems: 1,
        maxItems: 64,
      }),
    ),
    existing: Type.Optional(
      Type.Enum(['Report', 'Patch'], {
        default: 'Report',
        description:
          'What happens to DaemonSets that already run. Report: they are reported. Patch: they are changed, one at a ' +
          'time, which restarts their pods.',
      }),
    ),
  },
  { additionalProperties: false },
);

export type TolerationPolicySpec = Static<typeof TolerationPolicySpecSchema>;

/** What is wrong with a TolerationPolicy that a schema cannot say, by Kubernetes' ValidateTolerations. Paths start at `spec`. */
export function checkTolerationPolicy(spec: TolerationPolicySpec): Problem[] {
  const unsupported: Problem[] =
    spec.existing === 'Patch'
      ? [{ path: ['spec', 'existing'], message: 'Patch is not supported by this version of taintkeeper: use Report' }]
      : [];
  const refused = (spec.tolerations ?? []).flatMap((toleration, index) => {
    const path = ['spec', 'tolerations', index];
    const problems: Problem[] = [];
    if (toleration.key === undefined && toleration.operator !== 'Exists') {
      problems.push({ path, message: 'a toleration without a key needs operator: Exists' });
    }
    if (toleration.operator === 'Exists' && toleration.value) {
      problems.push({ path: [...path, 'value'], message: 'a toleration with operator Exists takes no value' });
    }
    if (toleration.tolerationSeconds !== undefined && toleration.effect !== 'NoExecute') {
      problems.push({ path: [...path, 'tolerationSeconds'], message: 'tolerationSeconds needs effect: NoExecute' });
    }
    return problems;
  });
  return [...unsupported, ...refused];
}
