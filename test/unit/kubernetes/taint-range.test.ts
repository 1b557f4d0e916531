import { describe, expect, it } from 'vitest';
import { contains, covers, rangesOf, reaches, type TaintRange } from '../../../src/kubernetes/taint-range.ts';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';

const MASTER = 'node-role.kubernetes.io/master';
const range = (key: string | undefined, value?: string, effect: TaintRange['effect'] = 'NoSchedule'): TaintRange => ({
  key,
  value,
  effect,
});

describe('rangesOf', () => {
  it.each<{ why: string; toleration: Toleration; ranges: TaintRange[] }>([
    {
      why: 'any value by Exists',
      toleration: { key: 'a', operator: 'Exists', effect: 'NoSchedule' },
      ranges: [range('a')],
    },
    {
      why: 'one value by Equal',
      toleration: { key: 'a', value: 'x', effect: 'NoSchedule' },
      ranges: [range('a', 'x')],
    },
    {
      why: 'every key',
      toleration: { operator: 'Exists', effect: 'NoExecute' },
      ranges: [range(undefined, undefined, 'NoExecute')],
    },
    {
      why: 'both effects that keep a daemon off where none is named',
      toleration: { key: 'a', operator: 'Exists' },
      ranges: [range('a'), range('a', undefined, 'NoExecute')],
    },
    {
      why: 'nothing for PreferNoSchedule, which keeps no daemon off',
      toleration: { key: 'a', operator: 'Exists', effect: 'PreferNoSchedule' },
      ranges: [],
    },
    {
      why: 'a role taint as it is, without a value',
      toleration: { key: MASTER, operator: 'Exists', effect: 'NoSchedule' },
      ranges: [range(MASTER, '')],
    },
  ])('$why', ({ toleration, ranges }) => {
    expect(rangesOf(toleration)).toEqual(ranges);
  });
});

describe('covers and reaches', () => {
  it.each<{ toleration: Toleration; of: TaintRange; all: boolean; some: boolean }>([
    { toleration: { operator: 'Exists' }, of: range(undefined), all: true, some: true },
    { toleration: { operator: 'Exists', effect: 'NoSchedule' }, of: range('a'), all: true, some: true },
    { toleration: { operator: 'Exists', effect: 'NoExecute' }, of: range('a'), all: false, some: false },
    { toleration: { key: 'a', operator: 'Exists' }, of: range(undefined), all: false, some: true },
    { toleration: { key: 'a', operator: 'Exists' }, of: range('b'), all: false, some: false },
    { toleration: { key: 'a' }, of: range('a'), all: false, some: true },
    { toleration: { key: 'a' }, of: range('a', ''), all: true, some: true },
    { toleration: { key: 'a', operator: 'Equal', value: 'x' }, of: range('a'), all: false, some: true },
    { toleration: { key: 'a', value: 'x' }, of: range('a', 'y'), all: false, some: false },
    { toleration: { key: 'a', operator: 'Gt', value: '1' }, of: range('a'), all: false, some: false },
    { toleration: { key: '', operator: 'Equal' }, of: range(undefined), all: false, some: false },
  ])('$toleration, $of: all $all, some $some', ({ toleration, of, all, some }) => {
    expect([covers(toleration, of), reaches(toleration, of)]).toEqual([all, some]);
  });
});

it.each<{ one: TaintRange; other: TaintRange; yes: boolean }>([
  { one: range(undefined), other: range('a', 'x'), yes: true },
  { one: range('a'), other: range('a', 'x'), yes: true },
  { one: range('a', 'x'), other: range('a'), yes: false },
  { one: range('a'), other: range(undefined), yes: false },
  { one: range('a'), other: range('a', undefined, 'NoExecute'), yes: false },
])('$one contains $other: $yes', ({ one, other, yes }) => {
  expect(contains(one, other)).toBe(yes);
});
