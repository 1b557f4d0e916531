import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PolicySnapshot } from '../../../../src/cluster/policies/policies.ts';
import { followPolicies } from '../../../../src/controllers/webhooks/followed-entries.ts';
import { parsePolicies } from '../../../../src/files/policy-files.ts';
import { compilePolicies } from '../../../../src/policy/policy-set.ts';
import { captureLog } from '../../captured-log.ts';
import { TOLERATION_POLICY_YAML, taintPolicyYaml } from '../../reviews.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function snapshot(text?: string): PolicySnapshot {
  const policies = text === undefined ? [] : parsePolicies([{ name: 'test', text }]);
  return { policies, compiled: compilePolicies(policies), versions: new Set() };
}
const [none, deny, both] = [
  undefined,
  taintPolicyYaml('Deny'),
  `${taintPolicyYaml('Deny')}---\n${TOLERATION_POLICY_YAML}`,
].map(snapshot) as [PolicySnapshot, PolicySnapshot, PolicySnapshot];

it('takes up a first change at once, and the next one some time later', () => {
  let latest = none;
  const entries = followPolicies(() => latest, false, captureLog().log);
  expect(entries.current()).toEqual({ entries: [], from: none });
  expect(entries.dueInMs()).toBe(0);

  latest = deny;
  const first = entries.current();
  expect(first.entries.length).toBeGreaterThan(0);
  expect(first.from).toBe(deny);

  latest = both;
  expect(entries.current()).toBe(first);
  vi.advanceTimersByTime(entries.dueInMs());
  expect(entries.current().entries.length).toBeGreaterThan(first.entries.length);
  expect(entries.current().from).toBe(both);
});

it('says from the start which webhooks are called more often than necessary, and only once', () => {
  const policies = parsePolicies(
    Array.from({ length: 150 }, (_, index) => ({
      name: `test-${index}`,
      text: `apiVersion: taintkeeper.dev/v1alpha1
kind: TaintPolicy
metadata: { name: p${index} }
spec:
  mode: Restore
  nodeSelector: { matchLabels: { pool: pool-${index} } }
  taints: [{ key: example.com/dedicated-${index}, effect: NoSchedule, ensure: Always }]
  failurePolicy: Fail
`,
    })),
  );
  const many = { policies, compiled: compilePolicies(policies), versions: new Set<string>() };
  let latest = many;
  const { log, lines } = captureLog();
  const entries = followPolicies(() => latest, false, log);
  const said = [expect.stringContaining('webhooks that are called more often than necessary: restore.taintkeeper.dev')];
  expect(lines().map(({ msg }) => msg)).toEqual(said);
  latest = { ...many };
  expect(entries.current().from).toBe(latest);
  expect(lines().map(({ msg }) => msg)).toEqual(said);
});

it('compiles nothing anew while nothing has changed', () => {
  const entries = followPolicies(() => deny, false, captureLog().log);
  const first = entries.current();
  vi.advanceTimersByTime(60_000);
  expect(entries.current()).toBe(first);
});
