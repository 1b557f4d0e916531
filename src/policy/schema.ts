import type { TSchema } from 'typebox';
import * as Type from 'typebox';
import { Settings } from 'typebox/system';
import * as Value from 'typebox/value';
import { valueAt } from '../kubernetes/json.ts';
import { pointerNames, pointerPath } from '../kubernetes/json-patch.ts';
import {
  DNS_SUBDOMAIN,
  DNS_SUBDOMAIN_LENGTH,
  LABEL_VALUE,
  LABEL_VALUE_LENGTH,
  QUALIFIED_NAME,
  QUALIFIED_NAME_LENGTH,
} from '../kubernetes/names.ts';
import { TAINT_EFFECTS } from '../kubernetes/taint.ts';
import type { Path, Problem } from './problem.ts';

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

/** A rule of a CRD, which the API server checks. */
export interface CelRule {
  /** In CEL, where `self` is the value. */
  readonly cel: string;
  /** The expectation, as text. */
  readonly message: string;
  /** The invalid field of the value. Absent: the value as a whole. */
  readonly field?: string;
}

/** A constraint that JSON Schema cannot express, in two forms: in CEL for the API server, and for this program. */
export interface Constraint<Value> extends CelRule {
  readonly holds: (value: Value) => boolean;
}

/** The rules in a schema: a keyword that a CRD knows and TypeBox ignores. */
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

// Parts that several schemas of policies use. The limits are those of Kubernetes' own validation (k8s.io/apimachinery/pkg/util/validation). Where it
// has no limit, a large one keeps policies readable.

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

// The default is 8, which is too few, because some of TypeBox's errors repeat others.
Settings.Set({ maxErrors: 100 });

/** The problems of a value by a schema, with the expected and the actual value. */
export function schemaProblems(schema: TSchema, value: unknown): Problem[] {
  return Value.Errors(schema, value).flatMap((error): Problem[] => {
    const path = pointerPath(error.instancePath, value);
    const found = valueAt(value, path);
    switch (error.keyword) {
      case 'boolean': // Repeats additionalProperties, which says more.
      case '~refine': // A faster form of another check in the same schema, which also reports the problem.
        return [];
      case 'additionalProperties':
        return error.params.additionalProperties.map((name) => ({
          path: [...path, name],
          message: `unknown field; known here: ${knownFields(schema, error.schemaPath).join(', ')}`,
        }));
      case 'required':
        return error.params.requiredProperties.map((name) => ({ path, message: `${name} is missing` }));
      case 'enum':
        return [{ path, message: `expected ${error.params.allowedValues.join(' or ')}, got ${show(found)}` }];
      case 'type':
        return [{ path, message: `expected ${article(String(error.params.type))}, got ${show(found)}` }];
      case 'pattern':
        return [{ path, message: `${show(found)} is not allowed here: it must match ${error.params.pattern}` }];
      default:
        return [{ path, message: `${error.message}, got ${show(found)}` }];
    }
  });
}

/** The fields that a schema of objects and lists does not know. */
export function unknownFieldsIn(schema: TSchema, value: unknown, path: Path = []): Path[] {
  const { properties, items, additionalProperties } = schema as {
    properties?: Readonly<Record<string, TSchema>>;
    items?: TSchema;
    additionalProperties?: unknown;
  };
  if (Array.isArray(value)) {
    return items ? value.flatMap((item, index) => unknownFieldsIn(items, item, [...path, index])) : [];
  }
  if (typeof value !== 'object' || value === null || !properties) return [];
  return Object.entries(value).flatMap(([name, field]): Path[] => {
    const known = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (known) return unknownFieldsIn(known, field, [...path, name]);
    return additionalProperties === false ? [[...path, name]] : [];
  });
}

function knownFields(schema: TSchema, schemaPath: string): string[] {
  return Object.keys((valueAt(schema, [...pointerNames(schemaPath), 'properties']) as object | undefined) ?? {});
}

function article(type: string): string {
  return type === 'array'
    ? 'a list'
    : type === 'object'
      ? 'a map'
      : type === 'integer'
        ? 'a whole number'
        : `a ${type}`;
}

const SHOWN_CHARACTERS = 60;

/** A value in an error message: short, and on one line. */
export function show(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (typeof value === 'object' && value !== null) return 'a map';
  const text = JSON.stringify(value);
  return text.length > SHOWN_CHARACTERS ? `${text.slice(0, SHOWN_CHARACTERS)}…` : text;
}
