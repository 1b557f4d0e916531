/** Prints a row of a Markdown table. */
export function printRow(cells: readonly string[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}

/** Such as `2.0 s`. */
export function seconds(value: number): string {
  return `${value.toFixed(1)} s`;
}
