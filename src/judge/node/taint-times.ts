import { equalTaints, type Taint } from '../../kubernetes/taint.ts';

/** When something happened to a taint, in milliseconds of the monotonic clock. */
export interface TaintTime {
  readonly taint: Taint;
  readonly at: number;
}

/** A list: nearly every Node has three taints or fewer, and a map for each Node takes three times the memory. */
export type TaintTimes = readonly TaintTime[];

export const NO_TIMES: TaintTimes = [];

/** The first time of the taint with this value. Undefined if there is none. */
export function timeOf(times: TaintTimes, taint: Taint): number | undefined {
  return times.find((one) => equalTaints(one.taint, taint))?.at;
}
