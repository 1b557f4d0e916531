import { sameTaint, type Taint } from '../../kubernetes/taint.ts';

/** The startup taints that the leader set again after a reboot, and that the API server did not store. The object looks as if a user had removed them. */
export interface UnstoredTaints {
  readonly bootId: string | undefined;
  readonly taints: readonly Taint[];
}

/** Undefined for none. */
export function unstoredIn(bootId: string | undefined, taints: readonly Taint[]): UnstoredTaints | undefined {
  return taints.length === 0 ? undefined : { bootId, taints };
}

/** The taints that the Node has not got since, in the boot into which it rebooted. */
export function stillUnstored(
  unstored: UnstoredTaints | undefined,
  { bootId, taints }: { readonly bootId?: string | undefined; readonly taints: readonly Taint[] },
): readonly Taint[] {
  if (unstored === undefined || unstored.bootId !== bootId) return [];
  return unstored.taints.filter((taint) => !taints.some((one) => sameTaint(one, taint)));
}

/** After a write of these taints, of which the API server has not stored some. Those of an earlier write in the same boot stay. */
export function unstoredAfterWrite(
  before: UnstoredTaints | undefined,
  sent: readonly Taint[],
  { bootId, taints }: UnstoredTaints,
): UnstoredTaints | undefined {
  return unstoredIn(bootId, [...stillUnstored(before, { bootId, taints: sent }), ...taints]);
}
