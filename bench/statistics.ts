/** The middle one of the values; of an even number of them, the upper one. 0 for none. */
export const median = (values: readonly number[]) => percentile(values, 0.5);

/** The value below which such a part of them lies, from 0 to 1. 0 for none. */
export function percentile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(Math.floor(sorted.length * part), sorted.length - 1)] ?? 0;
}

/** From the least to the most, such as `1.2-3.4`. */
export function range(values: readonly number[], digits = 0): string {
  return `${Math.min(...values).toFixed(digits)}-${Math.max(...values).toFixed(digits)}`;
}
