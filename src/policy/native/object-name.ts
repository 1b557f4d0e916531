/** Characters of the longest name of an object: a DNS subdomain (RFC 1123). */
export const OBJECT_NAME_LENGTH = 253;
