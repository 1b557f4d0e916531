import { readFileSync } from 'node:fs';
import { isMap, isScalar, type Pair, parseDocument } from 'yaml';
import { CHART } from './chart.ts';

/** The reference page of the chart's values: names, defaults and comments of values.yaml. */
export function helmValuesPage(): string {
  const values = parseDocument(readFileSync(`${CHART}/values.yaml`, 'utf8')).contents;
  if (!isMap(values)) throw new Error('values.yaml is no map');
  return [
    '# Helm values\n',
    'The values of [the chart](../install.md#install), with their defaults. Unknown values are refused. `manifests/chart/presets/` has files ' +
      'for `--values`.\n',
    '| value | default | meaning |',
    '| --- | --- | --- |',
    ...values.items.flatMap((pair) => rowsOf(pair as Pair, '')),
    '',
  ].join('\n');
}

/** @param comment of the value's group, where the parser gives the comment of the first value in it */
function rowsOf({ key, value }: Pair, prefix: string, comment?: string | null): string[] {
  if (!isScalar(key)) return [];
  const name = `${prefix}${key.value}`;
  const meaning = textOf(key.commentBefore ?? comment);
  if (isMap(value) && value.items.length > 0) {
    const group = meaning === '' ? [] : [row(name, '', meaning)];
    const inner = value.items.flatMap((pair, index) =>
      rowsOf(pair as Pair, `${name}.`, index === 0 ? value.commentBefore : undefined),
    );
    return [...group, ...inner];
  }
  const shown = JSON.stringify((value as { toJSON?: () => unknown } | null)?.toJSON?.() ?? null);
  return [row(name, `\`${shown}\``, meaning)];
}

function row(name: string, shown: string, meaning: string): string {
  return `| \`${name}\` | ${shown} | ${meaning} |`;
}

/** The last paragraph: the ones before it are about all values that follow. */
function textOf(comment: string | null | undefined): string {
  const [text = ''] = (comment ?? '').split(/\n\s*\n/).slice(-1);
  return text.replaceAll(/\s+/g, ' ').replaceAll('|', '\\|').trim();
}
