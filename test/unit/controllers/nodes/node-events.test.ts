import { expect, it } from 'vitest';
import { eventsOfMissingTaint } from '../../../../src/controllers/nodes/node-events.ts';
import type { BlockedBy, MissingTaint } from '../../../../src/judge/missing-taint.ts';
import type { Taint } from '../../../../src/kubernetes/taint.ts';
import { driftOf, nodeOf, type Policies, rule } from '../../judge/node-drifts.ts';

const node = { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' };

const REQUIRED = { key: 'a', value: 'x', effect: 'NoSchedule', ensure: 'Always' } as const;
const OTHER_VALUE: Taint = { key: 'a', value: 'y', effect: 'NoSchedule' };

/** A node that lacks a taint, and what policy p, among others, says about it. */
interface Situation {
  readonly policies: Policies;
  readonly carried?: Taint;
  readonly isInConflict?: boolean;
}

function missingTaintOf({ policies, carried, isInConflict = false }: Situation): MissingTaint {
  const { missing } = driftOf(policies, nodeOf(carried ? [carried] : []), () => isInConflict);
  const [missingTaint, ...others] = missing.filter(({ policy }) => policy.name === 'p');
  if (!missingTaint || others.length > 0)
    throw new Error(`expected one missing taint of policy p, found ${others.length}`);
  return missingTaint;
}

const RESTORED: Situation = { policies: { p: rule('Restore', REQUIRED) } };
const IN_CONFLICT: Situation = { ...RESTORED, isInConflict: true };

it.each<{
  situation: Situation;
  blockedBy: BlockedBy | undefined;
  otherWriter?: string;
  type?: string;
  reason: string;
  action?: string;
  note: string;
}>([
  {
    situation: RESTORED,
    blockedBy: undefined,
    type: 'Normal',
    reason: 'TaintAdded',
    action: 'AddTaint',
    note: 'set missing taint a=x:NoSchedule',
  },
  {
    situation: { policies: { p: rule('Audit', REQUIRED) } },
    blockedBy: 'ModeDoesNotRestore',
    reason: 'TaintMissing',
    note: 'reports missing taint a=x:NoSchedule: mode Audit does not set it',
  },
  {
    situation: { policies: { p: rule('Restore', { ...REQUIRED, effect: 'NoExecute' }) } },
    blockedBy: 'WouldEvictPods',
    reason: 'TaintMissing',
    note: 'reports missing taint a=x:NoExecute: it would evict pods, so a node gets it only when it registers',
  },
  {
    situation: { policies: { o: rule('Restore', { ...REQUIRED, value: 'y' }), p: rule('Restore', REQUIRED) } },
    blockedBy: 'ValuesDiffer',
    reason: 'TaintMissing',
    note: 'reports missing taint a=x:NoSchedule: policies require different values of it',
  },
  {
    situation: IN_CONFLICT,
    blockedBy: 'Conflict',
    reason: 'TaintConflict',
    note: 'pauses setting taint a=x:NoSchedule: another writer removes it repeatedly',
  },
  {
    situation: IN_CONFLICT,
    blockedBy: 'Conflict',
    otherWriter: 'field manager "nodectl" (Update)',
    reason: 'TaintConflict',
    note: 'pauses setting taint a=x:NoSchedule: another writer removes it repeatedly, last by field manager "nodectl" (Update)',
  },
])('node and policy have an Event: $note', (expected) => {
  const { situation, blockedBy, otherWriter, note, ...event } = {
    type: 'Warning',
    action: 'LeaveTaint',
    otherWriter: undefined,
    ...expected,
  };
  const missingTaint = missingTaintOf(situation);
  expect(missingTaint.blockedBy).toBe(blockedBy);
  expect(eventsOfMissingTaint(node, missingTaint, otherWriter)).toEqual([
    { regarding: node, ...event, note: `TaintPolicy p ${note}` },
    {
      regarding: { apiVersion: 'taintkeeper.dev/v1alpha1', kind: 'TaintPolicy', name: 'p' },
      ...event,
      note: `Node n1: ${note}`,
    },
  ]);
});

it.each<{ situation: Situation; blockedBy: BlockedBy; note: string }>([
  {
    situation: { policies: { o: rule('Deny', { key: 'a' }), p: rule('Restore', REQUIRED) } },
    blockedBy: 'OtherValuePresent',
    note: 'the node carries another value of it, which another policy protects or sets; to change it: taintkeeper explain node n1',
  },
  {
    situation: { policies: { p: rule('Audit', REQUIRED) } },
    blockedBy: 'ModeDoesNotRestore',
    note: 'mode Audit does not set it; to change it: taintkeeper explain node n1',
  },
])('the Events name the value that the node carries instead, with blockedBy $blockedBy', (expected) => {
  const missingTaint = missingTaintOf({ ...expected.situation, carried: OTHER_VALUE });
  expect(missingTaint.blockedBy).toBe(expected.blockedBy);
  const events = eventsOfMissingTaint(node, missingTaint, undefined, OTHER_VALUE);
  expect(events.map(({ reason }) => reason)).toEqual(['TaintMissing', 'TaintMissing']);
  expect(events.map(({ note }) => note)).toEqual([
    `TaintPolicy p reports taint a=y:NoSchedule in place of a=x:NoSchedule: ${expected.note}`,
    `Node n1: reports taint a=y:NoSchedule in place of a=x:NoSchedule: ${expected.note}`,
  ]);
});
