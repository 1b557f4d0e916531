/** Prints the head of a Markdown table. */
export function printHead(...headings: readonly string[]): void {
  printRow(...headings);
  printRow(...headings.map(() => '---'));
}

export function printRow(...cells: readonly string[]): void {
  process.stdout.write(`| ${cells.join(' | ')} |\n`);
}
