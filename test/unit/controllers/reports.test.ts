import { expect, it } from 'vitest';
import type { PolicyObject } from '../../../src/cluster/policies.ts';
import { createReports, type Report, type Trouble } from '../../../src/controllers/reports.ts';

const trouble = (reason: Trouble['reason']): Trouble => ({ kind: 'TaintPolicy', policy: 'p', reason, message: '' });
const POLICY = { kind: 'TaintPolicy', name: 'p' } as PolicyObject;

it('tells of all troubles, in the order in which the controllers came, and of the rest what one of them knows', () => {
  const reports = createReports();
  expect([reports.troubles(), reports.standing(POLICY), reports.evicting(POLICY)]).toEqual([[], 'pending', undefined]);
  reports.add({ troubles: () => [trouble('NotPermitted')], evicting: () => undefined });
  reports.add({ standing: () => ({ fault: 'no way' }) });
  reports.add({
    troubles: () => [trouble('RepairRefused')],
    evicting: () => ({ nodes: 1, condition: undefined }),
    undeclared: () => ({ status: 'True', reason: 'Undeclared', message: '' }),
    isContested: (node) => node === 'n1',
  });
  expect(reports.troubles().map(({ reason }) => reason)).toEqual(['NotPermitted', 'RepairRefused']);
  expect(reports.standing(POLICY)).toEqual({ fault: 'no way' });
  expect(reports.evicting(POLICY)?.nodes).toBe(1);
  expect(reports.undeclared(POLICY)?.reason).toBe('Undeclared');
  const taint = { key: 'a', effect: 'NoSchedule' } as const;
  expect(['n1', 'n2'].map((node) => reports.isContested(node, taint))).toEqual([true, false]);
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
