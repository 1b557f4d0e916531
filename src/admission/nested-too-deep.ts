import { MalformedObjectError } from './malformed-object-error.ts';
import type { AdmissionRequest } from './review.ts';

/** No object of Kubernetes is nested like that, and the stack ends at several times as many. */
const MAX_DEPTH = 1_000;

/**
 * What an error says when it comes from lists in lists in lists, until the stack ends. Any other RangeError is a fault of ours.
 * @returns undefined for an error of another kind
 */
export function nestedTooDeep(error: unknown, request: AdmissionRequest): MalformedObjectError | undefined {
  if (!(error instanceof RangeError)) return undefined;
  const field = (['object', 'oldObject'] as const).find((name) => isDeeperThan(request[name], MAX_DEPTH));
  return field && new MalformedObjectError(['request', field], 'nested too deep');
}

function isDeeperThan(value: unknown, depth: number): boolean {
  let level = [value];
  for (let reached = 0; level.length > 0; reached++) {
    if (reached > depth) return true;
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
  return false;
}
