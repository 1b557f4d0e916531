import Type from 'typebox';
import { TAINT_EFFECTS } from './taint.ts';

// Parts that the policies' schemas share. The bounds are those of Kubernetes' own validation
// (k8s.io/apimachinery/pkg/util/validation), or, where it has none, generous ones that keep a policy readable.

const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';
const LABEL_VALUE_LENGTH = 63;
/** A DNS subdomain, a slash and a name: 253 + 1 + 63. */
const QUALIFIED_NAME_LENGTH = 317;

const DNS_SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';

/** A label or taint key: an optional DNS subdomain as prefix, and a name. */
const QUALIFIED_NAME = `^(${DNS_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`;

/** True for a label or taint key. */
export function isQualifiedName(text: string): boolean {
  return new RegExp(QUALIFIED_NAME).test(text);
}

/** The name of a cluster-scoped object. */
export const ObjectName = Type.String({ pattern: `^${DNS_SUBDOMAIN}$`, maxLength: 253 });

export const QualifiedName = (description: string) =>
  Type.String({ description, pattern: QUALIFIED_NAME, maxLength: QUALIFIED_NAME_LENGTH });

/** A qualified name in which `*` may stand for any run of characters. */
export const QualifiedNamePattern = (description: string) =>
  Type.String({ description, pattern: '^[A-Za-z0-9*][-A-Za-z0-9_.*/]*$', maxLength: QUALIFIED_NAME_LENGTH });

export const LabelValue = (description: string) =>
  Type.String({ description, pattern: LABEL_VALUE, maxLength: LABEL_VALUE_LENGTH });

export const EffectSchema = (description: string) => Type.Enum([...TAINT_EFFECTS], { description });

/** A list of names, each of which may contain `*`. */
export const NamePatterns = (description: string) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { description, maxItems: 64 });

export const LabelSelectorSchema = (description: string) =>
  Type.Object(
    {
      matchLabels: Type.Optional(
        Type.Record(Type.String(), LabelValue('The value that the label must have.'), {
          description: 'Labels that must all be there with these values.',
        }),
      ),
      matchExpressions: Type.Optional(
        Type.Array(
          Type.Object(
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
            { additionalProperties: false },
          ),
          { description: 'Requirements that must all hold.', maxItems: 64 },
        ),
      ),
    },
    { description, additionalProperties: false },
  );
