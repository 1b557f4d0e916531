import { tableHead, tableRow } from '../../../bench/markdown-table.ts';
import { type ComparedSpec, differs, summarizeGroups } from './results.ts';

/** One setting, as the page names it. */
export interface PageColumn {
  readonly heading: string;
  /** What taintkeeper was asked meanwhile; empty without it. */
  readonly requests: string;
}

/**
 * The page with the outcome of a run, as Markdown.
 * @param command by which it is written again
 * @param version of Kubernetes, such as `1.36.1`
 * @param date of the run, such as `2026-11-28`
 */
export function conformancePage(
  command: string,
  version: string,
  date: string,
  columns: readonly PageColumn[],
  specs: readonly ComparedSpec[],
): string {
  const headings = columns.map(({ heading }) => heading);
  const groups = summarizeGroups(specs);
  const different = specs.filter(differs).length;
  const requests = columns.flatMap(({ heading, requests }) =>
    requests === ''
      ? []
      : [`Requests that the replicas running at the end had answered with ${heading}, without dry runs: ${requests}.`],
  );
  return [
    `<!-- Written by \`${command}\`: run it instead of editing this page. -->`,
    "# Kubernetes' own tests",
    `This page shows the outcome of one run, on ${date}. [The README](README.md) describes the nodes and the settings. The specs are those of Kubernetes ${version}: ${specs.length} specs, ${different} with another outcome in one setting than in another.`,
    ...requests,
    '## Passed specs by group',
    table(
      ['group', 'specs', ...headings],
      groups.map(({ group, specs, passed }) => [code(group), `${specs}`, ...passed.map(String)]),
    ),
    '## Outcome of each spec',
    ...groups.map(({ group }) =>
      table(
        [code(group), ...headings],
        specs.filter((spec) => spec.group === group).map(({ name, states }) => [code(name), ...states]),
      ),
    ),
  ]
    .join('\n\n')
    .concat('\n');
}

/** Names have brackets, which Markdown would take for links. */
function code(text: string): string {
  return `\`${text.replaceAll('|', '\\|').replaceAll('`', "'")}\``;
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  return [tableHead(...headings), ...rows.map((row) => tableRow(...row))].join('\n');
}
