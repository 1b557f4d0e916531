// The bounds are those of Kubernetes' own validation (k8s.io/apimachinery/pkg/util/validation).

export const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';

export const LABEL_VALUE_LENGTH = 63;

export const DNS_SUBDOMAIN_LENGTH = 253;

/** A DNS subdomain, a slash and a name. */
export const QUALIFIED_NAME_LENGTH = DNS_SUBDOMAIN_LENGTH + 1 + 63;

export const DNS_SUBDOMAIN = '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*';

/** A label or taint key: an optional DNS subdomain as prefix, and a name. */
export const QUALIFIED_NAME = `^(${DNS_SUBDOMAIN}/)?([A-Za-z0-9][-A-Za-z0-9_.]{0,61})?[A-Za-z0-9]$`;

/** True for a label or taint key. */
export function isQualifiedName(text: string): boolean {
  return new RegExp(QUALIFIED_NAME).test(text) && text.indexOf('/') <= DNS_SUBDOMAIN_LENGTH;
}

/** True for a label's value. */
export function isLabelValue(text: string): boolean {
  return text.length <= LABEL_VALUE_LENGTH && new RegExp(LABEL_VALUE).test(text);
}
