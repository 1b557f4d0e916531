import type { Static } from 'typebox';
import * as Type from 'typebox';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { brokenConstraints, type Constraint, celValidations } from './constraint.ts';
import { DaemonSetSelectionSchema } from './daemon-set-selection.ts';
import {
  backstopSchema,
  EffectSchema,
  LabelValue,
  QUALIFIED_NAME_CONSTRAINTS,
  QualifiedName,
} from './field-schemas.ts';
import type { Problem } from './problem.ts';

export const TOLERATION_MODES = ['Mutate', 'Audit'] as const;
export type TolerationMode = (typeof TOLERATION_MODES)[number];

/** ValidateTolerations of k8s.io/kubernetes/pkg/apis/core/validation. */
const TOLERATION_CONSTRAINTS: readonly Constraint<{
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}>[] = [
  {
    holds: ({ key, operator }) => key !== undefined || operator === 'Exists',
    cel: "has(self.key) || (has(self.operator) && self.operator == 'Exists')",
    message: 'a toleration without a key needs operator: Exists',
  },
  {
    holds: ({ operator, value }) => operator !== 'Exists' || !value,
    cel: "!has(self.operator) || self.operator != 'Exists' || !has(self.value) || self.value == ''",
    message: 'a toleration with operator Exists takes no value',
    field: 'value',
  },
  {
    holds: ({ effect, tolerationSeconds }) => tolerationSeconds === undefined || effect === 'NoExecute',
    cel: "!has(self.tolerationSeconds) || (has(self.effect) && self.effect == 'NoExecute')",
    message: 'tolerationSeconds needs effect: NoExecute',
    field: 'tolerationSeconds',
  },
];

const PolicyTolerationSchema = Type.Object(
  {
    key: Type.Optional(QualifiedName('Key of the taint that is tolerated. Without it, and with Exists, every key.')),
    operator: Type.Optional(
      Type.Enum(['Exists', 'Equal'], { default: 'Equal', description: 'Exists: any value. Equal: this value.' }),
    ),
    value: Type.Optional(LabelValue('The value that is tolerated; for Equal only.')),
    effect: Type.Optional(
      EffectSchema(
        'The effect that is tolerated. Without it, every effect. Nothing is added for PreferNoSchedule, which keeps no pod of ' +
          'a DaemonSet off a node.',
      ),
    ),
    tolerationSeconds: Type.Optional(
      Type.Integer({
        description:
          'For NoExecute: how many seconds, at least, the taint is tolerated. Without it, forever. The first toleration that matches a taint ' +
          'determines the time, and additions come last. So a DaemonSet whose own toleration ends earlier is reported, and nothing is added.',
        format: 'int64',
        // JavaScript cannot represent all integers beyond these limits.
        minimum: Number.MIN_SAFE_INTEGER,
        maximum: Number.MAX_SAFE_INTEGER,
      }),
    ),
  },
  { additionalProperties: false, ...celValidations(TOLERATION_CONSTRAINTS) },
);

export type PolicyToleration = Static<typeof PolicyTolerationSchema>;

/** The required tolerations of a TolerationPolicy that lists none: both names of the control plane's taint. */
export const DEFAULT_TOLERATIONS: readonly PolicyToleration[] = [
  { key: OLD_ROLE, operator: 'Exists', effect: 'NoSchedule' },
  { key: NEW_ROLE, operator: 'Exists', effect: 'NoSchedule' },
];

/** How many tolerations one policy may list. */
export const MAX_POLICY_TOLERATIONS = 64;

const SPEC_CONSTRAINTS: readonly Constraint<{ mode: string; existing?: string }>[] = [
  {
    holds: ({ mode, existing }) => mode !== 'Audit' || existing !== 'Patch',
    cel: "self.mode != 'Audit' || !has(self.existing) || self.existing != 'Patch'",
    message: 'an Audit policy changes nothing: use Report, or mode Mutate',
    field: 'existing',
  },
];

/** `spec` of a TolerationPolicy: the source of the TypeScript type, the validation and the CRD. */
export const TolerationPolicySpecSchema = Type.Object(
  {
    mode: Type.Enum([...TOLERATION_MODES], {
      description:
        'What happens to a DaemonSet that lacks a toleration. Mutate: it is appended when the DaemonSet is created or ' +
        'its pod template changes. Audit: it is reported.',
    }),
    daemonSets: DaemonSetSelectionSchema,
    tolerations: Type.Optional(
      Type.Array(PolicyTolerationSchema, {
        description:
          "The tolerations that the DaemonSets need. Without it, both names of the control plane's taint. One is added only if it " +
          'lets the pods tolerate a further NoSchedule or NoExecute taint, even one that no node has. Three kinds of taints count as already ' +
          'tolerated. First, those that another toleration of the template tolerates, in any form. A required `Exists` requires every value, ' +
          `except for ${OLD_ROLE} and ${NEW_ROLE}, where \`Equal\` without a value is enough. Second, those that the DaemonSet controller ` +
          'tolerates for each pod, such as node.kubernetes.io/unschedulable:NoSchedule and, with the host network, ' +
          'node.kubernetes.io/network-unavailable:NoSchedule. Third, those of another required toleration that is also added: the one with the ' +
          'longest `tolerationSeconds` comes first, then the one that matches the most taints.',
        default: [...DEFAULT_TOLERATIONS],
        minItems: 1,
        maxItems: MAX_POLICY_TOLERATIONS,
      }),
    ),
    existing: Type.Optional(
      Type.Enum(['Report', 'Patch'], {
        default: 'Report',
        description:
          'What happens to DaemonSets that already run. Report: they are reported. Patch: the tolerations are appended, ' +
          'one DaemonSet at a time, the next one when the pods of the one before are replaced and available. It ' +
          'restarts their pods, and needs permission to patch DaemonSets, which is off by default.',
      }),
    ),
    backstop: Type.Optional(
      backstopSchema(
        'DaemonSets pass unchanged, and the leader reports or patches them afterwards, as `existing` says.',
      ),
    ),
  },
  {
    description: 'Which DaemonSets have to tolerate which taints.',
    additionalProperties: false,
    ...celValidations(SPEC_CONSTRAINTS),
  },
);

export type TolerationPolicySpec = Static<typeof TolerationPolicySpecSchema>;

/** The required tolerations of the policy. */
export function tolerationsOf({
  tolerations = [...DEFAULT_TOLERATIONS],
}: TolerationPolicySpec): readonly PolicyToleration[] {
  return tolerations;
}

/** Whether the policy patches DaemonSets that already run. @param mode the effective mode */
export function patchesExisting({ existing }: Pick<TolerationPolicySpec, 'existing'>, mode: string): boolean {
  return mode === 'Mutate' && existing === 'Patch';
}

/** The problems of a TolerationPolicy that a schema cannot express. Paths start at `spec`. */
export function checkTolerationPolicy(spec: TolerationPolicySpec): Problem[] {
  return [
    ...brokenConstraints(SPEC_CONSTRAINTS, spec, ['spec']),
    ...(spec.tolerations ?? []).flatMap((toleration, index) => {
      const path = ['spec', 'tolerations', index];
      const { key } = toleration;
      return [
        ...(key === undefined ? [] : brokenConstraints(QUALIFIED_NAME_CONSTRAINTS, key, [...path, 'key'])),
        ...brokenConstraints(TOLERATION_CONSTRAINTS, toleration, path),
      ];
    }),
  ];
}
