import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dashboard } from '../../../scripts/dashboard.ts';
import { unknownMetrics } from './known-metrics.ts';
import { MONITORING } from './rules.ts';

interface PanelJson {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

const text = readFileSync(join(MONITORING, 'dashboard.json'), 'utf8');
const { panels } = JSON.parse(text) as { panels: readonly PanelJson[] };
const shown = panels.filter(({ type }) => type !== 'row');

it('is what the script makes', () => {
  expect(text).toBe(dashboard());
});

it('gives every panel a place and a number of its own', () => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, index) => `${x + (index % w)},${y + Math.floor(index / w)}`),
  );
  expect(new Set(cells).size).toBe(cells.length);
  expect(panels.every(({ gridPos: { x, w } }) => x + w <= 24)).toBe(true);
});

describe.each(shown)('$title', ({ datasource, targets = [] }) => {
  it('asks the data source that is chosen, for metrics that there are', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: Grafana fills it in.
    expect(datasource?.uid).toBe('${datasource}');
    expect(targets.length).toBeGreaterThan(0);
    expect(targets.flatMap(({ expr }) => unknownMetrics(expr))).toEqual([]);
  });

  it('names series by labels that are left', () => {
    for (const { expr, legendFormat } of targets) {
      const kept = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '));
      const used = [...legendFormat.matchAll(/\{\{(\w+)\}\}/g)].map(([, name = '']) => name);
      expect(used.filter((name) => name !== 'pod' && !kept.includes(name))).toEqual([]);
    }
  });
});
