/** The time as Kubernetes' MicroTime (meta/v1) is written: always six digits, of which ours has three. */
export function microTime(ms: number): string {
  return new Date(ms).toISOString().replace('Z', '000Z');
}
