import * as Type from 'typebox';
import {
  DNS_SUBDOMAIN,
  DNS_SUBDOMAIN_LENGTH,
  LABEL_VALUE,
  LABEL_VALUE_LENGTH,
  QUALIFIED_NAME,
  QUALIFIED_NAME_LENGTH,
} from '../kubernetes/names.ts';
import { TAINT_EFFECTS } from '../kubernetes/taint.ts';
import { type Constraint, celValidations } from './constraint.ts';

// Parts that several schemas of policies use. The limits are those of Kubernetes' own validation (k8s.io/apimachinery/pkg/util/validation). Where it
// has no limit, a large one keeps policies readable.

/**
 * `spec.backstop`: what enforces the policy in addition to the webhook.
 * @param withoutIt the effect of `None` for this kind, as a sentence
 */
export function backstopSchema(withoutIt: string) {
  return Type.Enum(['None', 'Native'], {
    default: 'None',
    description:
      'What enforces the policy while taintkeeper cannot be called. Native: in the cluster, taintkeeper also writes the policy as ' +
      'ValidatingAdmissionPolicy and MutatingAdmissionPolicy, as far as they can express it, and keeps them up to date; ' +
      'the condition Backstop says what of it is in force. It needs permission to write such policies, which is off by default. ' +
      `None: ${withoutIt}`,
  });
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

/** The constraint that the pattern of a {@link QualifiedName} cannot express. */
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

/** A qualified name in which `*` may stand for any characters. */
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

/** How many names or patterns a field of a policy may have. */
export const MAX_NAME_PATTERNS = 64;

/** A list of names, each of which may contain `*`. */
export const NamePatterns = (description: string, options: { default?: string[] } = {}) =>
  Type.Array(Type.String({ minLength: 1, maxLength: 253 }), { description, maxItems: MAX_NAME_PATTERNS, ...options });
