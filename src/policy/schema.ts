import Type from 'typebox';
import { type Constraint, celValidations } from './constraint.ts';
import { TAINT_EFFECTS } from './taint.ts';

// Parts that the policies' schemas share. The bounds are those of Kubernetes' own validation
// (k8s.io/apimachinery/pkg/util/validation), or, where it has none, generous ones that keep a policy readable.

const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';
const LABEL_VALUE_LENGTH = 63;
const DNS_SUBDOMAIN_LENGTH = 253;
/** A DNS subdomain, a slash and a name. */
export const QUALIFIED_NAME_LENGTH = DNS_SUBDOMAIN_LENGTH + 1 + 63;

const DNS_SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';

/** A label or taint key: an optional DNS subdomain as prefix, and a name. */
const QUALIFIED_NAME = `^(${DNS_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`;

/** True for a label or taint key. */
export function isQualifiedName(text: string): boolean {
  return new RegExp(QUALIFIED_NAME).test(text) && DOMAIN_LENGTH.holds(text);
}

/** True for a label's value. */
export function isLabelValue(text: string): boolean {
  return text.length <= LABEL_VALUE_LENGTH && new RegExp(LABEL_VALUE).test(text);
}

/** {@link isQualifiedName} in CEL. */
export const celIsQualifiedName = (text: string) =>
  `(${text}.matches(r'${QUALIFIED_NAME}') && ${celDomainLength(text)})`;

const celDomainLength = (text: string) => `${text}.indexOf('/') <= ${DNS_SUBDOMAIN_LENGTH}`;

const DOMAIN_LENGTH: Constraint<string> = {
  holds: (key) => key.indexOf('/') <= DNS_SUBDOMAIN_LENGTH,
  cel: celDomainLength('self'),
  message: `expected at most ${DNS_SUBDOMAIN_LENGTH} characters before the slash`,
};

/** What the pattern of a {@link QualifiedName} cannot say. */
export const QUALIFIED_NAME_CONSTRAINTS = [DOMAIN_LENGTH];

/** The name of a cluster-scoped object. */
export const ObjectName = Type.String({ pattern: `^${DNS_SUBDOMAIN}$`, maxLength: DNS_SUBDOMAIN_LENGTH });

export const QualifiedName = (description: string) =>
  Type.String({
    description,
    pattern: QUALIFIED_NAME,
    maxLength: QUALIFIED_NAME_LENGTH,
    ...celValidations(QUALIFIED_NAME_CONSTRAINTS),
  });

/** A qualified name in which `*` may stand for any run of characters. */
export const QualifiedNamePattern = (description: string, constraints: readonly Constraint<string>[]) =>
  Type.String({
    description,
    pattern: '^[A-Za-z0-9*][-A-Za-z0-9_.*/]*$',
    maxLength: QUALIFIED_NAME_LENGTH,
    ...celValidations(constraints),
  });

export const LabelValue = (description: string) =>
  Type.String({ description, pattern: LABEL_VALUE, maxLength: LABEL_VALUE_LENGTH });

export const EffectSchema = (description: string) => Type.Enum([...TAINT_EFFECTS], { description });

/** A list of names, each of which may contain `*`. */
export const NamePatterns = (description: string, options: { default?: string[] } = {}) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { description, maxItems: 64, ...options });
