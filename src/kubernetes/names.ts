// The limits are those of Kubernetes' own validation (k8s.io/apimachinery/pkg/util/validation).

export const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';

export const LABEL_VALUE_LENGTH = 63;

export const DNS_SUBDOMAIN_LENGTH = 253;

/** A DNS subdomain, a slash and a name. */
export const QUALIFIED_NAME_LENGTH = DNS_SUBDOMAIN_LENGTH + 1 + 63;

/** A part of a DNS subdomain, and a name of a namespace (RFC 1123, label). */
export const DNS_LABEL = '[a-z0-9]([-a-z0-9]*[a-z0-9])?';

export const DNS_LABEL_LENGTH = 63;

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
