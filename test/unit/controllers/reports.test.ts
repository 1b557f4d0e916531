import { expect, it } from 'vitest';
import type { PolicyObject } from '../../../src/cluster/policies.ts';
import { createReports, type Report, type StalledProblem } from '../../../src/controllers/reports.ts';

const problem = (reason: StalledProblem['reason']): StalledProblem => ({
  kind: 'TaintPolicy',
  policy: 'p',
  reason,
  message: '',
});
const POLICY = { kind: 'TaintPolicy', name: 'p' } as PolicyObject;

it('tells of all problems, in the order in which the controllers came, and of all conditions once each controller knows its own', () => {
  const reports = createReports();
  expect([reports.problems(), reports.conditions(POLICY), reports.awaitingEviction(POLICY)]).toEqual([[], [], 0]);
  reports.add({ problems: () => [problem('NotPermitted')], awaitingEviction: () => 0 });
  const unready = { type: 'Ready', status: 'False', reason: 'NotRegistered', message: '' } as const;
  const undeclared = { type: 'PoolLacksTaint', status: 'True', reason: 'Undeclared', message: '' } as const;
  reports.add({ conditions: () => [unready] });
  reports.add({
    problems: () => [problem('RepairRefused')],
    awaitingEviction: () => 1,
    conditions: () => [undeclared],
    isInConflict: (node) => node === 'n1',
  });
  expect(reports.problems().map(({ reason }) => reason)).toEqual(['NotPermitted', 'RepairRefused']);
  expect(reports.conditions(POLICY)).toEqual([unready, undeclared]);
  expect(reports.awaitingEviction(POLICY)).toBe(1);
  reports.add({ conditions: () => 'pending' });
  expect(reports.conditions(POLICY)).toBe('pending');
  const taint = { key: 'a', effect: 'NoSchedule' } as const;
  expect(['n1', 'n2'].map((node) => reports.isInConflict(node, taint))).toEqual([true, false]);
});

it('says which of them may say something else, and when all may be asked', async () => {
  const reports = createReports();
  const heard: Report[] = [];
  reports.changes.subscribe((report) => heard.push(report));
  const first = Promise.withResolvers<void>();
  const one = { ready: first.promise };
  const changed = reports.add(one);
  reports.add({});
  changed();
  expect(heard).toEqual([one]);
  let isReady = false;
  const ready = reports.ready().then(() => {
    isReady = true;
  });
  await Promise.resolve();
  expect(isReady).toBe(false);
  first.resolve();
  await ready;
});
