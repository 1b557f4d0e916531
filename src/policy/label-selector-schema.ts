import Type, { type Static } from 'typebox';
import { brokenConstraints, type CelRule, type Constraint, celValidations } from './constraint.ts';
import type { LabelSelector } from './label-selector.ts';
import type { Path, Problem } from './problem.ts';
import {
  celIsQualifiedName,
  isQualifiedName,
  LabelValue,
  QUALIFIED_NAME_CONSTRAINTS,
  QualifiedName,
} from './schema.ts';

// What a LabelSelector's schema cannot say is ValidateLabelSelector of k8s.io/apimachinery/pkg/apis/meta/v1/validation.

const LABEL_KEY: Constraint<string> = {
  holds: isQualifiedName,
  cel: celIsQualifiedName('self'),
  message: 'expected a label key, NAME or DOMAIN/NAME',
};

/** {@link LABEL_KEY} for a whole map: a CRD has no place for constraints on a map's keys. */
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
    // Two appliers never share a selector: half of one is another one. As in meta/v1.
    { description, additionalProperties: false, 'x-kubernetes-map-type': 'atomic' },
  );

/** A selector as it stands in a policy. */
export type PolicySelector = Static<ReturnType<typeof LabelSelectorSchema>>;

/** What is wrong with a LabelSelector that its schema cannot say. `path` leads to it. */
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
