import { expect, it } from 'vitest';
import { eventsOfLoss } from '../../../../src/controllers/nodes/node-reports.ts';
import type { BlockedBy } from '../../../../src/judge/node-record.ts';
import { driftOf, nodeOf, rule } from '../../judge/node-drifts.ts';

const node = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' };
const [found] = driftOf(
  { p: rule('Restore', { key: 'a', value: 'x', effect: 'NoSchedule', ensure: 'Always' }) },
  nodeOf([]),
).losses;
if (!found) throw new Error('nothing is lost');
const loss = found;

it.each<{
  blockedBy: BlockedBy | undefined;
  otherWriter?: string;
  type?: string;
  reason: string;
  action?: string;
  note: string;
}>([
  {
    blockedBy: undefined,
    type: 'Normal',
    reason: 'TaintRestored',
    action: 'RestoreTaint',
    note: 'restored taint a=x:NoSchedule',
  },
  {
    blockedBy: 'ModeDoesNotRestore',
    reason: 'TaintMissing',
    note: 'reports missing taint a=x:NoSchedule: mode Restore does not restore it',
  },
  {
    blockedBy: 'WouldEvictPods',
    reason: 'TaintMissing',
    note: 'reports missing taint a=x:NoSchedule: it would evict pods: add it by hand, or require it with mayEvict: true',
  },
  {
    blockedBy: 'OtherValuePresent',
    reason: 'TaintMissing',
    note: 'reports missing taint a=x:NoSchedule: another value of it comes first',
  },
  {
    blockedBy: 'Conflict',
    reason: 'TaintContested',
    note: 'pauses restoring taint a=x:NoSchedule: another writer removes it repeatedly',
  },
  {
    blockedBy: 'Conflict',
    otherWriter: 'field manager "nodectl" (Update)',
    reason: 'TaintContested',
    note: 'pauses restoring taint a=x:NoSchedule: another writer removes it repeatedly, last by field manager "nodectl" (Update)',
  },
])('with blockedBy $blockedBy, node and policy say: $reason', (expected) => {
  const { blockedBy, otherWriter, note, ...event } = {
    type: 'Warning',
    action: 'LeaveTaint',
    otherWriter: undefined,
    ...expected,
  };
  expect(eventsOfLoss(node, { ...loss, blockedBy }, otherWriter)).toEqual([
    { regarding: node, ...event, note: `TaintPolicy p ${note}` },
    {
      regarding: { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', name: 'p' },
      ...event,
      note: `Node n1: ${note}`,
    },
  ]);
});

it.each<{ blockedBy: BlockedBy; note: string }>([
  { blockedBy: 'OtherValuePresent', note: 'both values are protected; to change it: taintkeeper explain node n1' },
  {
    blockedBy: 'ModeDoesNotRestore',
    note: 'mode Restore does not restore it; to change it: taintkeeper explain node n1',
  },
])('of another value, with blockedBy $blockedBy, node and policy say which one the node carries', (expected) => {
  const { blockedBy, note } = expected;
  const carried = { key: 'a', value: 'y', effect: 'NoSchedule' };
  const events = eventsOfLoss(node, { ...loss, blockedBy }, undefined, { carried });
  expect(events.map(({ reason }) => reason)).toEqual(['TaintValueDiffers', 'TaintValueDiffers']);
  expect(events.map(({ note: text }) => text)).toEqual([
    `TaintPolicy p reports taint a=y:NoSchedule in place of a=x:NoSchedule: ${note}`,
    `Node n1: reports taint a=y:NoSchedule in place of a=x:NoSchedule: ${note}`,
  ]);
});

it('of a taint that the node has never carried, node and policy say that it was added', () => {
  const events = eventsOfLoss(node, { ...loss, blockedBy: undefined }, undefined, { isFirst: true });
  expect(events.map(({ reason, action, note }) => [reason, action, note])).toEqual([
    ['TaintAdded', 'AddTaint', 'TaintPolicy p added taint a=x:NoSchedule'],
    ['TaintAdded', 'AddTaint', 'Node n1: added taint a=x:NoSchedule'],
  ]);
});
