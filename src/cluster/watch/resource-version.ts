/**
 * Negative when the first resourceVersion is the older one, positive when it is the newer one, 0 when they are the same.
 * They are decimal numbers without leading zeros that may exceed a double (KEP-5504). The order of other values is not known, and the result is
 * `undefined`.
 */
export function compareResourceVersions(one: string, other: string): number | undefined {
  if (one === other) return 0;
  if (!NUMBER.test(one) || !NUMBER.test(other)) return undefined;
  if (one.length !== other.length) return one.length - other.length;
  return one < other ? -1 : 1;
}

const NUMBER = /^(0|[1-9]\d*)$/;
