import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

export const MONITORING = join(import.meta.dirname, '..', '..', '..', 'manifests', 'monitoring');
export const ALERTS = join(MONITORING, 'alerts.yaml');

export interface AlertRule {
  readonly alert: string;
  readonly expr: string;
  readonly for: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly description: string; readonly runbook_url: string };
}

export interface RuleGroups {
  readonly groups: readonly { readonly name: string; readonly rules: readonly AlertRule[] }[];
}

export const RULES: readonly AlertRule[] = (parse(readFileSync(ALERTS, 'utf8')) as RuleGroups).groups.flatMap(
  ({ rules }) => rules,
);
