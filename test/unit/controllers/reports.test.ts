import { expect, it } from 'vitest';
import type { PolicyObject } from '../../../src/cluster/policies/policy-object.ts';
import { createReports, type StalledProblem } from '../../../src/controllers/reports.ts';
import { createSubject } from '../../../src/runtime/source.ts';

const problem = (reason: StalledProblem['reason']): StalledProblem => ({
  kind: 'TaintPolicy',
  policy: 'p',
  reason,
  message: '',
});
const changes = createSubject();
const POLICY = { kind: 'TaintPolicy', name: 'p' } as PolicyObject;

it('tells of all problems, in the order of the controllers, whichever starts first, and of all conditions once each controller knows its own', () => {
  const reports = createReports();
  expect([reports.problems(), reports.conditions(POLICY)]).toEqual([[], []]);
  const unready = { type: 'Ready', status: 'False', reason: 'NotRegistered', message: '' } as const;
  const undeclared = { type: 'Ready', status: 'True', reason: 'PoolLacksTaint', message: '' } as const;
  reports.add('webhooks', { changes, conditions: () => [unready] });
  reports.add('nodes', {
    changes,
    problems: () => [problem('RepairRefused')],
    conditions: () => [undeclared],
  });
  reports.add('rights', { changes, problems: () => [problem('NotPermitted')] });
  expect(reports.problems().map(({ reason }) => reason)).toEqual(['NotPermitted', 'RepairRefused']);
  expect(reports.conditions(POLICY)).toEqual([unready, undeclared]);
  reports.add('backstop', { changes, conditions: () => 'pending' });
  expect(reports.conditions(POLICY)).toBe('pending');
});

it('says when one of them may say something else, and when all may be asked', async () => {
  const reports = createReports();
  const heard: string[] = [];
  reports.changes.subscribe(() => heard.push('all'));
  const first = Promise.withResolvers<void>();
  const [one, other] = [createSubject(), createSubject()];
  reports.add('nodes', { changes: one, ready: first.promise });
  reports.add('daemonSets', { changes: other });
  one.subscribe(() => heard.push('one'));
  other.subscribe(() => heard.push('other'));
  one.next();
  expect(heard).toEqual(['all', 'one']);
  let isReady = false;
  const ready = reports.ready().then(() => {
    isReady = true;
  });
  await Promise.resolve();
  expect(isReady).toBe(false);
  first.resolve();
  await ready;
});
