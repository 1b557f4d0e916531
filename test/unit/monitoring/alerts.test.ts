import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { prometheusRule } from '../../../scripts/prometheus-rule.ts';
import { ALERT_CASES } from './alert-cases.ts';
import { unknownMetrics } from './known-metrics.ts';
import { ALERTS, MONITORING, RULES, type RuleGroups } from './rules.ts';

const DOCS = join(import.meta.dirname, '..', '..', '..', 'docs');
const RUNBOOKS = join(DOCS, 'runbooks');
const NAMES = RULES.map(({ alert }) => alert);

it('there is a runbook for every alert, and no other; docs/monitoring.md lists them', () => {
  const pages = readdirSync(RUNBOOKS).map((file) => file.replace(/\.md$/, ''));
  expect(pages.sort()).toEqual([...NAMES].sort());
  const listed = [...readFileSync(join(DOCS, 'monitoring.md'), 'utf8').matchAll(/\]\(runbooks\/(\w+)\.md\)/g)];
  expect(listed.map(([, name]) => name).sort()).toEqual([...NAMES].sort());
});

describe.each(RULES)('$alert', ({ alert, expr, labels, annotations, for: wait }) => {
  it('links to its runbook, says how bad it is, and does not fire at once', () => {
    // A name that no one can register (RFC 2606), as for the image.
    expect(annotations.runbook_url).toBe(`https://taintkeeper.invalid/docs/runbooks/${alert}.md`);
    expect(['critical', 'warning', 'info']).toContain(labels.severity);
    expect(wait).toMatch(/^[1-9]\d*[mh]$/);
  });

  it('asks for metrics that there are, by labels that they have', () => {
    expect(unknownMetrics(expr)).toEqual([]);
  });

  it('speaks of labels that it has', () => {
    const grouped = [...expr.matchAll(/by \(([^)]*)\)/g)].flatMap(([, names = '']) => names.split(', '));
    const known = grouped.length > 0 ? grouped : ['resource'];
    const used = [...`${annotations.summary} ${annotations.description}`.matchAll(/\$labels\.(\w+)/g)];
    expect(used.map(([, name]) => name).filter((name) => !known.includes(name ?? ''))).toEqual([]);
  });

  it('has a case that fires and one that does not', () => {
    const cases = ALERT_CASES.filter((one) => one.alert === alert);
    expect(new Set(cases.map(({ firing }) => firing.length > 0))).toEqual(new Set([true, false]));
  });

  it('has a runbook that says what it means, what it costs, how to look and how to fix it', () => {
    const text = readFileSync(join(RUNBOOKS, `${alert}.md`), 'utf8');
    expect(text.startsWith(`# ${alert}\n`)).toBe(true);
    expect([...text.matchAll(/^## (.*)$/gm)].map(([, title]) => title)).toEqual([
      'Meaning',
      'Impact',
      'Diagnosis',
      'Mitigation',
    ]);
    expect(text).toContain('taintkeeper doctor --namespace taintkeeper');
  });
});

it('the PrometheusRule holds the same rules', () => {
  const file = readFileSync(join(MONITORING, 'prometheus-rule.yaml'), 'utf8');
  expect(file).toBe(prometheusRule(readFileSync(ALERTS, 'utf8')));
  const { kind, spec } = parse(file) as { kind: string; spec: RuleGroups };
  expect(kind).toBe('PrometheusRule');
  expect(spec.groups.flatMap(({ rules }) => rules)).toEqual(RULES);
});
