import { expect, it } from 'vitest';
import { type Machine, sameMachine, UNKNOWN_MACHINE } from '../../../src/kubernetes/machine.ts';

const machine: Machine = { systemUUID: '4c4c4544-0001', providerID: 'aws:///eu-west-1a/i-1' };

it.each<{ why: string; other: Machine; same: boolean }>([
  { why: 'the same values', other: { ...machine }, same: true },
  { why: 'the digits in the other case', other: { ...machine, systemUUID: '4C4C4544-0001' }, same: true },
  { why: 'no value', other: UNKNOWN_MACHINE, same: true },
  { why: 'no providerID yet', other: { ...machine, providerID: '' }, same: true },
  { why: 'no systemUUID', other: { ...machine, systemUUID: '' }, same: true },
  { why: 'another providerID', other: { ...machine, providerID: 'aws:///eu-west-1a/i-2' }, same: false },
  { why: 'another systemUUID', other: { ...machine, systemUUID: '4c4c4544-0002' }, same: false },
  { why: 'another providerID, and no systemUUID', other: { systemUUID: '', providerID: 'other' }, same: false },
])('$why: one machine: $same', ({ other, same }) => {
  expect([sameMachine(machine, other), sameMachine(other, machine)]).toEqual([same, same]);
});
