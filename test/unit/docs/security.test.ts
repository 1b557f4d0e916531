import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { INSTALL, RIGHTS } from '../../../scripts/chart.ts';
import { ROOT } from './pages.ts';

const RIGHTS_PAGE = readFileSync(join(ROOT, 'docs/reference/rights.md'), 'utf8');

interface Rule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
  readonly resourceNames?: readonly string[];
}

/** The rows of the first table after a text, cell by cell, without its heading. */
function rowsAfter(text: string, page: string): string[][] {
  const [, after = ''] = page.split(text, 2);
  const [table = ''] = /(?:^\|.*\n)+/m.exec(after) ?? [];
  const rows = table.trim().split('\n').slice(2);
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  );
}

function rulesOf(kind: 'ClusterRole' | 'Role'): Rule[] {
  return rulesIn(INSTALL, kind);
}

function rulesIn(file: string, kind: 'ClusterRole' | 'Role'): Rule[] {
  const manifests = parseAllDocuments(readFileSync(file, 'utf8'));
  return manifests.flatMap((document) => {
    const object = document.toJS() as { kind?: string; rules?: Rule[] } | null;
    return object?.kind === kind ? (object.rules ?? []) : [];
  });
}

it.each([
  { kind: 'ClusterRole', after: '## In the whole cluster' },
  { kind: 'Role', after: '## In its own namespace' },
] as const)('the rights that the page lists are those of the $kind', ({ kind, after }) => {
  const listed = rowsAfter(after, RIGHTS_PAGE).map(([group = '', resources = '', verbs = '', named = '']) => ({
    apiGroups: [group === 'core' ? '' : group],
    resources: resources.split(', '),
    verbs: verbs.split(', '),
    ...(named === '' ? {} : { resourceNames: [named] }),
  }));
  expect(listed).toEqual(rulesOf(kind));
  expect(listed.length).toBeGreaterThan(4);
});

it('the rights that the page lists for each value of the chart are those of manifests/rights', () => {
  const listed = rowsAfter('## By a value of the chart', RIGHTS_PAGE).map(
    ([, group = '', resources = '', verbs = '', value = '']) => ({
      value,
      apiGroups: [group === 'core' ? '' : group],
      resources: resources.split(', '),
      verbs: verbs.split(', '),
    }),
  );
  const granted = Object.entries(RIGHTS).flatMap(([value, file]) =>
    rulesIn(file, 'ClusterRole').map((rule) => ({ value, ...rule })),
  );
  expect(listed).toEqual(granted);
});

it('each attack links a test, whose title `npm run lint` checks', () => {
  const rows =
    readFileSync(join(ROOT, 'test/attacks.md'), 'utf8')
      .match(/^\| .*$/gm)
      ?.slice(2) ?? [];
  expect(rows.length).toBeGreaterThan(50);
  expect(rows.filter((row) => !/^\| .*\p{L}{3}.* \| (?:\[[^\]]+\]\([^)]+\.ts\)(?:, )?)+ \|$/u.test(row))).toEqual([]);
});

it('no role of the manifests gives another user the right to write policies', () => {
  const manifests = parseAllDocuments(readFileSync(join(ROOT, 'manifests/install.yaml'), 'utf8')).map(
    (document) => document.toJS() as { kind?: string; metadata?: { labels?: object }; subjects?: { kind: string }[] },
  );
  // Those that `admin`, `edit` and `view` are made of have such a label.
  expect(JSON.stringify(manifests)).not.toContain('rbac.authorization.k8s.io/aggregate-to');
  const bound = manifests.flatMap(({ subjects = [] }) => subjects.map(({ kind }) => kind));
  expect(new Set(bound)).toEqual(new Set(['ServiceAccount']));
  const rights = rulesOf('ClusterRole').filter(({ resources }) => resources.includes('taintpolicies'));
  expect(rights.flatMap(({ verbs }) => verbs)).toEqual(['get', 'list', 'watch', 'create']);
});
