import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ROWS } from '../../scripts/dashboard-panels.ts';
import { obstacleToPromtool, promtoolPath } from '../control-plane/promtool.ts';
import { runTool } from '../control-plane/run-tool.ts';
import { skipFor } from '../skip-for.ts';
import { ALERT_CASES, type AlertCase } from '../unit/monitoring/alert-cases.ts';
import { ALERTS, RULES } from '../unit/monitoring/rules.ts';
import { temporaryDirectory } from '../unit/temporary-directory.ts';

const promtool = promtoolPath();
const needed = skipFor(obstacleToPromtool());

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await runTool(promtool ?? '', args, { env: process.env });
  return code === 0 ? 'ok' : `${stdout}\n${stderr}`;
}

/** The case as promtool tests it. `ALERTS` is the series by which Prometheus itself shows which alerts fire. */
function promtoolTest({ alert, why, series, at, firing }: AlertCase): object {
  const severity = RULES.find((rule) => rule.alert === alert)?.labels.severity ?? '';
  const samples = firing.map((labels) => {
    const all = Object.entries({ alertname: alert, alertstate: 'firing', severity, ...labels });
    return { labels: `ALERTS{${all.map(([name, value]) => `${name}="${value}"`).join(', ')}}`, value: 1 };
  });
  return {
    name: `${alert}: ${why}`,
    interval: '1m',
    input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
    promql_expr_test: [
      { expr: `ALERTS{alertname="${alert}", alertstate="firing"}`, eval_time: `${at}m`, exp_samples: samples },
    ],
  };
}

it("the dashboard's queries are PromQL", needed, async () => {
  const file = join(temporaryDirectory(), 'queries.yaml');
  const queries = ROWS.flatMap(({ panels }) => panels.flatMap((panel) => panel.queries.map(({ expr }) => expr)));
  const rules = queries.map((expr, index) => ({
    record: `query:${index}`,
    expr: expr.replaceAll('$__rate_interval', '5m'),
  }));
  writeFileSync(file, stringify({ groups: [{ name: 'dashboard', rules }] }));
  expect(await run('check', 'rules', file)).toBe('ok');
});

describe('the alerts, by promtool', needed, () => {
  it('are rules that Prometheus takes', async () => {
    expect(await run('check', 'rules', ALERTS)).toBe('ok');
  });

  it.each(RULES)('$alert fires when it should, and only then', async ({ alert }) => {
    const file = join(temporaryDirectory(), 'cases.yaml');
    const tests = ALERT_CASES.filter((one) => one.alert === alert).map(promtoolTest);
    writeFileSync(file, stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }));
    expect(await run('test', 'rules', file)).toBe('ok');
  });

  it.each<{ alert: string; metric: string; value: number; labels: Readonly<Record<string, string>>; texts: object }>([
    {
      alert: 'TaintkeeperStalled',
      metric: 'taintkeeper_stalled',
      value: 1,
      labels: { namespace: 'tk', kind: 'TaintPolicy', policy: 'gpu', reason: 'RepairRefused' },
      texts: { summary: 'TaintPolicy gpu is stalled: RepairRefused' },
    },
    {
      alert: 'TaintkeeperPoliciesInvalid',
      metric: 'taintkeeper_policies_invalid',
      value: 1,
      labels: { namespace: 'tk', kind: 'TaintPolicy' },
      texts: {
        description:
          'Each replica enforces the last valid generation of the TaintPolicy that it has read. After a restart, it enforces nothing of that policy.',
      },
    },
    {
      alert: 'TaintkeeperPoliciesInvalid',
      metric: 'taintkeeper_policy_load_success',
      value: 0,
      labels: { namespace: 'tk' },
      texts: {
        description: 'The policy files are invalid. The replica enforces all policies as they were before the error.',
      },
    },
  ])('name what is at fault in their texts: $metric', async ({ alert, metric, value, labels, texts }) => {
    const file = join(temporaryDirectory(), 'texts.yaml');
    const rule = RULES.find((one) => one.alert === alert);
    const selector = Object.entries(labels).map(([name, text]) => `${name}="${text}"`);
    const expected = {
      exp_labels: { ...labels, ...rule?.labels },
      exp_annotations: { ...rule?.annotations, ...texts },
    };
    const test = {
      interval: '1m',
      input_series: [{ series: `${metric}{${selector.join(', ')}}`, values: `${value}x20` }],
      alert_rule_test: [{ eval_time: '16m', alertname: alert, exp_alerts: [expected] }],
    };
    writeFileSync(file, stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests: [test] }));
    expect(await run('test', 'rules', file)).toBe('ok');
  });
});
