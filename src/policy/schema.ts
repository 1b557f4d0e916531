import Type from 'typebox';
import {
  DNS_SUBDOMAIN,
  DNS_SUBDOMAIN_LENGTH,
  LABEL_VALUE,
  LABEL_VALUE_LENGTH,
  QUALIFIED_NAME,
  QUALIFIED_NAME_LENGTH,
} from '../kubernetes/qualified-name.ts';
import { TAINT_EFFECTS } from '../kubernetes/taint.ts';
import type { Path, Problem } from './problem.ts';
import { show } from './schema-problems.ts';

/** `spec.backstop`: what stands under the webhook. */
export const BackstopSchema = Type.Enum(['None', 'Native'], {
  default: 'None',
  description:
    'What holds while taintkeeper cannot be asked. Native: in the cluster, taintkeeper writes the policy once more in the API ' +
    "server's own language, as far as that goes (ValidatingAdmissionPolicy and MutatingAdmissionPolicy), and keeps it so; " +
    'the condition Backstop says what of it is in force. That takes the right to write such policies, which is off by default. ' +
    'None: nothing but failurePolicy.',
});

/** A rule of a CRD, which the API server holds. */
export interface CelRule {
  /** In CEL, where `self` is the value. */
  readonly cel: string;
  /** What is expected. */
  readonly message: string;
  /** The field of the value that is at fault; without it, the value as a whole. */
  readonly field?: string;
}

/** What a JSON Schema cannot say of a value, said twice: in CEL for the API server, and for this program. */
export interface Constraint<Value> extends CelRule {
  readonly holds: (value: Value) => boolean;
}

/** The rules as a schema carries them: a keyword that a CRD knows and that TypeBox leaves alone. */
export function celValidations(rules: readonly CelRule[]) {
  return {
    'x-kubernetes-validations': rules.map(({ cel, message, field }) => ({
      rule: cel,
      message,
      ...(field === undefined ? {} : { fieldPath: `.${field}` }),
    })),
  };
}

/** One problem for each constraint that does not hold. `path` leads to the value. */
export function brokenConstraints<Value>(
  constraints: readonly Constraint<Value>[],
  value: Value,
  path: Path,
): Problem[] {
  return constraints
    .filter(({ holds }) => !holds(value))
    .map(({ message, field }) => ({
      path: field === undefined ? path : [...path, field],
      message: typeof value === 'string' ? `${message}, got ${show(value)}` : message,
    }));
}

// Parts that the policies' schemas share. The bounds are those of Kubernetes' own validation
// (k8s.io/apimachinery/pkg/util/validation), or, where it has none, generous ones that keep a policy readable.

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
