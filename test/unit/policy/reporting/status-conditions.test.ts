import { describe, expect, it } from 'vitest';
import {
  assessCondition,
  CONDITIONS,
  type Reason,
  reported,
  saysUnusable,
} from '../../../../src/policy/reporting/status-conditions.ts';

describe('a condition', () => {
  it.each([
    { type: 'Ready', status: 'True', reason: 'InForce', level: 'quiet' },
    { type: 'Ready', status: 'False', reason: 'Invalid', level: 'failed' },
    { type: 'Ready', status: 'False', reason: 'EarlierInForce', level: 'problem' },
    // A reason of False says nothing of a status that is True.
    { type: 'Ready', status: 'True', reason: 'EarlierInForce', level: 'quiet' },
    { type: 'Stalled', status: 'True', reason: 'TaintConflict', level: 'problem' },
    { type: 'Stalled', status: 'True', reason: 'OfAnotherVersion', level: 'problem' },
    { type: 'Ready', status: 'True', reason: 'PoolLacksTaint', level: 'attention' },
    { type: 'Ready', status: 'True', reason: 'PoolsNotPermitted', level: 'quiet' },
    { type: 'Stalled', status: 'True', reason: 'WouldEvictPods', level: 'problem' },
    // Of other versions, or with a name that every object has.
    { type: 'OfAnotherVersion', status: 'True', reason: 'A', level: 'quiet' },
    { type: 'constructor', status: 'False', reason: 'toString', level: 'quiet' },
  ])('$type $status ($reason) has the level $level', ({ level, ...condition }) => {
    expect(assessCondition(condition).level).toBe(level);
  });

  it.each([
    { type: 'Ready', status: 'False', reason: 'Invalid', unusable: true },
    { type: 'Ready', status: 'False', reason: 'EarlierInForce', unusable: true },
    { type: 'Ready', status: 'False', reason: 'NotRegistered', unusable: false },
    { type: 'Ready', status: 'True', reason: 'Invalid', unusable: false },
    { type: 'Stalled', status: 'False', reason: 'Invalid', unusable: false },
  ])('$type $status ($reason) says that the spec is unusable: $unusable', ({ unusable, ...condition }) => {
    expect(saysUnusable(condition)).toBe(unusable);
  });

  it('has its own word, or none if this version does not know its type', () => {
    const word = (type: string) => assessCondition({ type, status: 'True', reason: 'OfAnotherVersion' }).word;
    expect([word('Stalled'), word('OfAnotherVersion')]).toEqual(['stalled', '']);
  });

  it('names the next step, unless no action is needed', () => {
    const next = 'correct the fields that the message names';
    expect(assessCondition({ type: 'Ready', status: 'False', reason: 'Invalid' })).toMatchObject({ next });
    expect(assessCondition({ type: 'Ready', status: 'True', reason: 'Invalid' }).next).toBeUndefined();
  });

  it('calls a policy "not in force" only if no part of it is in force', () => {
    const word = (reason: string) => assessCondition({ type: 'Ready', status: 'False', reason }).word;
    expect([word('Invalid'), word('EarlierInForce')]).toEqual(['not in force', 'in force as it was']);
  });

  it('never proposes to delete a Node: a running kubelet does not register it again', () => {
    const steps = Object.values(CONDITIONS).flatMap(({ reasons }) => Object.values<Reason>(reasons));
    expect(steps.filter(({ next = '' }) => /delete the nodes?\b|register again/.test(next))).toEqual([]);
  });

  it('has a next step for each reason of a level that is not quiet', () => {
    const without = Object.entries(CONDITIONS).flatMap(([type, { healthy, reasons }]) =>
      Object.keys(reasons).filter((reason) => {
        const { level, next } = assessCondition({ type, status: healthy === 'True' ? 'False' : 'True', reason });
        return level !== 'quiet' && next === undefined && reason !== 'InForce';
      }),
    );
    expect(without).toEqual([]);
  });
});

it('reported returns a condition of the type, or nothing', () => {
  const state = { status: 'True', reason: 'InForce', message: 'the policy is in force' } as const;
  expect(reported('Ready', state)).toEqual([{ type: 'Ready', ...state }]);
  expect(reported('Ready', undefined)).toEqual([]);
});
