import { jsonText, yamlText } from '../../files/printed-data.ts';
import { printable } from '../../text/printable.ts';
import type { OutputFormat } from '../options.ts';
import { type Look, lookOf } from './look.ts';

/** The output of a command in the format of `-o`: {@link asJson} or {@link asYaml} of the data, or the table. */
export function formatAs(
  format: OutputFormat,
  { data, table }: { readonly data: () => object; readonly table: (look: Look) => string },
): string {
  switch (format) {
    case 'table':
    case 'wide':
      return table(lookOf(process.stdout, format === 'wide'));
    case 'json':
      return asJson(data());
    case 'yaml':
      return asYaml(data());
  }
}

export function asJson(data: object): string {
  return `${jsonText(data)}\n`;
}

export function asYaml(data: object): string {
  return yamlText(data);
}

/** Comments of YAML. */
export function asComments(lines: readonly string[]): string {
  return lines.map((line) => `${`# ${printable(line)}`.trimEnd()}\n`).join('');
}
