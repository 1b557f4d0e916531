/** The head of a Markdown table: two lines. */
export function tableHead(...headings: readonly string[]): string {
  return `${tableRow(...headings)}\n${tableRow(...headings.map(() => '---'))}`;
}

export function tableRow(...cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}

export function printHead(...headings: readonly string[]): void {
  process.stdout.write(`${tableHead(...headings)}\n`);
}

export function printRow(...cells: readonly string[]): void {
  process.stdout.write(`${tableRow(...cells)}\n`);
}
