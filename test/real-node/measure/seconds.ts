/** Such as `2.0 s`. */
export function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
