import type { Static } from 'typebox';
import * as Type from 'typebox';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import { isQualifiedName } from '../kubernetes/names.ts';
import { brokenConstraints, type CelRule, type Constraint, celValidations } from './constraint.ts';
import { celIsQualifiedName, LabelValue, QUALIFIED_NAME_CONSTRAINTS, QualifiedName } from './field-schemas.ts';
import type { Path, Problem } from './problem.ts';

// The constraints beyond a LabelSelector's schema are those of ValidateLabelSelector (k8s.io/apimachinery/pkg/apis/meta/v1/validation).

const LABEL_KEY: Constraint<string> = {
  holds: isQualifiedName,
  cel: celIsQualifiedName('self'),
  message: 'expected a label key, NAME or DOMAIN/NAME',
};

/** {@link LABEL_KEY} for a whole map, because a CRD cannot have constraints on the keys of a map. */
const LABEL_KEYS: CelRule = {
  cel: `self.all(key, ${celIsQualifiedName('key')})`,
  message: LABEL_KEY.message,
};

interface Requirement {
  readonly operator: string;
  readonly values?: readonly string[];
}

const hasValues = ({ values = [] }: Requirement) => values.length > 0;
const CEL_HAS_VALUES = '(has(self.values) && self.values.size() > 0)';

const REQUIREMENT_CONSTRAINTS: readonly Constraint<Requirement>[] = [
  {
    holds: (requirement) => !['In', 'NotIn'].includes(requirement.operator) || hasValues(requirement),
    cel: `!(self.operator in ['In', 'NotIn']) || ${CEL_HAS_VALUES}`,
    message: 'operators In and NotIn need values',
  },
  {
    holds: (requirement) => !['Exists', 'DoesNotExist'].includes(requirement.operator) || !hasValues(requirement),
    cel: `!(self.operator in ['Exists', 'DoesNotExist']) || !${CEL_HAS_VALUES}`,
    message: 'operators Exists and DoesNotExist take no values',
    field: 'values',
  },
];

const RequirementSchema = Type.Object(
  {
    key: QualifiedName('The label that the expression is about.'),
    operator: Type.Enum(['In', 'NotIn', 'Exists', 'DoesNotExist'], {
      description: 'How the label is compared with the values.',
    }),
    values: Type.Optional(
      Type.Array(LabelValue('A value of the label.'), {
        description: 'Needed by In and NotIn, forbidden for Exists and DoesNotExist.',
        maxItems: 64,
      }),
    ),
  },
  { additionalProperties: false, ...celValidations(REQUIREMENT_CONSTRAINTS) },
);

/** A LabelSelector of meta/v1. */
export const LabelSelectorSchema = (description: string) =>
  Type.Object(
    {
      matchLabels: Type.Optional(
        Type.Record(Type.String(), LabelValue('The value that the label must have.'), {
          description: 'Labels that must all be there with these values.',
          maxProperties: 64,
          ...celValidations([LABEL_KEYS]),
        }),
      ),
      matchExpressions: Type.Optional(
        Type.Array(RequirementSchema, { description: 'Requirements that must all hold.', maxItems: 64 }),
      ),
    },
    // Only one field manager owns the whole selector, because a part of it would select other objects. As in meta/v1.
    { description, additionalProperties: false, 'x-kubernetes-map-type': 'atomic' },
  );

/** A selector in a policy. */
export type PolicySelector = Static<ReturnType<typeof LabelSelectorSchema>>;

/** The problems of a LabelSelector that its schema cannot express. `path` leads to it. */
export function checkSelector(path: Path, { matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): Problem[] {
  return [
    ...Object.keys(matchLabels).flatMap((key) => brokenConstraints([LABEL_KEY], key, [...path, 'matchLabels', key])),
    ...matchExpressions.flatMap((requirement, index) => {
      const at = [...path, 'matchExpressions', index];
      return [
        ...brokenConstraints(QUALIFIED_NAME_CONSTRAINTS, requirement.key, [...at, 'key']),
        ...brokenConstraints(REQUIREMENT_CONSTRAINTS, requirement, at),
      ];
    }),
  ];
}
