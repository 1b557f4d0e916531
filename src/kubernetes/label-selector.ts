/**
 * Labels or annotations of an object; null is Go's empty string. Read them with {@link own}, because users choose their keys.
 */
export type StringMap = Readonly<Record<string, string | null>>;

/** A LabelSelector of meta/v1. An empty one selects everything. */
export interface LabelSelector {
  readonly matchLabels?: StringMap;
  readonly matchExpressions?: readonly LabelSelectorRequirement[];
}

export interface LabelSelectorRequirement {
  readonly key: string;
  readonly operator: 'In' | 'NotIn' | 'Exists' | 'DoesNotExist';
  /** Needed by `In` and `NotIn`, forbidden for the others. */
  readonly values?: readonly string[];
}

/** The value of `key` if the map itself has it, never an inherited one such as `constructor`. */
export function own(map: StringMap, key: string): string | undefined {
  return Object.hasOwn(map, key) ? (map[key] ?? '') : undefined;
}

/** `a=b,c=d`: labels as text, and in the form of a query's `labelSelector` and kubectl's `-l`. Empty for none. */
export function formatLabels(labels: StringMap): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value ?? ''}`)
    .join(',');
}

/**
 * True when the labels satisfy the whole selector, by the rules of `LabelSelectorAsSelector` in
 * k8s.io/apimachinery/pkg/apis/meta/v1: all terms must hold, and `NotIn` holds where the label is absent.
 */
export function selects(selector: LabelSelector, labels: StringMap): boolean {
  return compileSelector(selector)(labels);
}

/**
 * {@link selects} for many objects. The time for one does not depend on the number of values in the selector. An absent selector selects everything.
 */
export function compileSelector({
  matchLabels = {},
  matchExpressions = [],
}: LabelSelector = {}): (labels: StringMap) => boolean {
  const required = Object.entries(matchLabels);
  const expressions = matchExpressions.map(({ key, operator, values }) => ({ key, operator, values: new Set(values) }));
  return (labels) =>
    required.every(([key, value]) => own(labels, key) === value) &&
    expressions.every((requirement) => satisfies(requirement, labels));
}

interface CompiledRequirement extends Pick<LabelSelectorRequirement, 'key' | 'operator'> {
  readonly values: ReadonlySet<string>;
}

function satisfies({ key, operator, values }: CompiledRequirement, labels: StringMap): boolean {
  const value = own(labels, key);
  switch (operator) {
    case 'In':
      return value !== undefined && values.has(value);
    case 'NotIn':
      return value === undefined || !values.has(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}

// The limits are those of Kubernetes' own validation (k8s.io/apimachinery/pkg/util/validation).

export const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';

export const LABEL_VALUE_LENGTH = 63;

export const DNS_SUBDOMAIN_LENGTH = 253;

/** A DNS subdomain, a slash and a name. */
export const QUALIFIED_NAME_LENGTH = DNS_SUBDOMAIN_LENGTH + 1 + 63;

/** A part of a DNS subdomain, and a name of a namespace (RFC 1123, label). */
export const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

export const DNS_SUBDOMAIN = `${DNS_LABEL}(\\.${DNS_LABEL})*`;

const DNS_SUBDOMAIN_ALONE = new RegExp(`^${DNS_SUBDOMAIN}$`);

/** Whether a text is a valid name of an object such as a node (RFC 1123, subdomain). */
export function isDnsSubdomain(text: string): boolean {
  return text.length <= DNS_SUBDOMAIN_LENGTH && DNS_SUBDOMAIN_ALONE.test(text);
}

/** A label or taint key: an optional DNS subdomain as prefix, and a name. */
export const QUALIFIED_NAME = `^(${DNS_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`;

/** True for a valid label or taint key. */
export function isQualifiedName(text: string): boolean {
  return new RegExp(QUALIFIED_NAME).test(text) && text.indexOf('/') <= DNS_SUBDOMAIN_LENGTH;
}

/** True for a valid label value. */
export function isLabelValue(text: string): boolean {
  return text.length <= LABEL_VALUE_LENGTH && new RegExp(LABEL_VALUE).test(text);
}
