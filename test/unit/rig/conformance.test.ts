import { expect, it } from 'vitest';
import { CONFORMANCE } from '../../control-plane/conformance.ts';
import { lockedVersion } from '../../control-plane/go-modules.ts';
import { KUBERNETES } from '../../control-plane/kubernetes.ts';
import { conformancePage } from '../../real-node/conformance/page.ts';
import {
  compareRuns,
  differs,
  failsEverywhere,
  parseReport,
  summarizeGroups,
} from '../../real-node/conformance/results.ts';

const report = (...specs: object[]) => JSON.stringify([{ SpecReports: specs }]);

const spec = (name: string, state: string, more: object = {}) => ({
  ContainerHierarchyTexts: ['[sig-apps] Daemon set', 'when updated'],
  LeafNodeType: 'It',
  LeafNodeText: name,
  State: state,
  NumAttempts: 1,
  RunTime: 2_500_000_000,
  ...more,
});

it("the tests are those of the control plane's version", () => {
  expect(lockedVersion(CONFORMANCE[0], 'e2e.test')).toBe(lockedVersion(KUBERNETES, 'kube-apiserver'));
});

it('a report has the specs that ran, and what failed beside them', () => {
  const results = parseReport(
    report(
      spec('rolls back', 'failed', { Failure: { Message: 'timed out' } }),
      spec('is filtered out', 'skipped', { NumAttempts: 0 }),
      spec('skips itself', 'skipped', { Failure: { Message: 'needs 5 nodes' } }),
      { ...spec('', 'failed'), ContainerHierarchyTexts: null, LeafNodeType: 'SynchronizedBeforeSuite' },
      { ...spec('', 'passed'), ContainerHierarchyTexts: null, LeafNodeType: 'ReportAfterSuite' },
    ),
  );
  expect(results.map(({ group, name, state, message }) => [group, name, state, message])).toEqual([
    ['SynchronizedBeforeSuite', '', 'failed', ''],
    ['[sig-apps] Daemon set', 'when updated rolls back', 'failed', 'timed out'],
    ['[sig-apps] Daemon set', 'when updated skips itself', 'skipped', 'needs 5 nodes'],
  ]);
  expect(results[1]?.seconds).toBe(2.5);
});

it('specs are compared by name, and one that ran only once differs', () => {
  const without = parseReport(report(spec('a', 'passed'), spec('b', 'passed'), spec('c', 'failed')));
  const strict = parseReport(report(spec('b', 'failed'), spec('c', 'failed'), spec('d', 'passed')));
  const compared = compareRuns([without, strict]);
  expect(compared.map(({ name, states }) => [name, ...states])).toEqual([
    ['when updated a', 'passed', 'not run'],
    ['when updated b', 'passed', 'failed'],
    ['when updated c', 'failed', 'failed'],
    ['when updated d', 'not run', 'passed'],
  ]);
  expect(compared.filter(differs)).toHaveLength(3);
  expect(compared.filter(failsEverywhere).map(({ name }) => name)).toEqual(['when updated c']);
  expect(summarizeGroups(compared)).toEqual([{ group: '[sig-apps] Daemon set', specs: 4, passed: [2, 1] }]);
});

it('the page counts the specs of each group, and names what taintkeeper was asked', () => {
  const runs = ['passed', 'failed'].map((state) => parseReport(report(spec('a [Conformance]', state))));
  const columns = [
    { heading: 'without', requests: '' },
    { heading: 'strict', requests: '9 allowed' },
  ];
  const page = conformancePage('npm run x', '1.36.1', '2026-11-28', columns, compareRuns(runs));
  expect(page).toContain('one run, on 2026-11-28.');
  expect(page).toContain('1 specs, 1 with another outcome');
  expect(page).toContain('with strict, without dry runs: 9 allowed.');
  expect(page).toContain('| `[sig-apps] Daemon set` | 1 | 1 | 0 |');
  expect(page).toContain('| `when updated a [Conformance]` | passed | failed |');
});
