import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import {
  equalToleration,
  formatSeconds,
  formatToleration,
  hasUnknownOperator,
  mayTolerate,
  type Toleration,
  tolerates,
} from '../../../src/kubernetes/toleration.ts';

const taint = (key: string, value: string | undefined, effect: string): Taint => ({ key, value, effect });

// Kubernetes' rule, case by case.
describe('tolerates', () => {
  it.each<{ why: string; toleration: Toleration; taint: Taint; yes: boolean }>([
    {
      why: 'Exists, same key and effect',
      toleration: { key: 'foo', operator: 'Exists', effect: 'NoSchedule' },
      taint: taint('foo', 'bar', 'NoSchedule'),
      yes: true,
    },
    {
      why: 'Exists, another key',
      toleration: { key: 'foo', operator: 'Exists', effect: 'NoSchedule' },
      taint: taint('bar', '', 'NoSchedule'),
      yes: false,
    },
    {
      why: 'Exists, another effect',
      toleration: { key: 'foo', operator: 'Exists', effect: 'NoSchedule' },
      taint: taint('foo', '', 'NoExecute'),
      yes: false,
    },
    {
      why: 'an empty effect matches every effect',
      toleration: { key: 'foo', operator: 'Exists', effect: '' },
      taint: taint('foo', '', 'NoExecute'),
      yes: true,
    },
    {
      why: 'no effect matches every effect',
      toleration: { key: 'foo', operator: 'Exists' },
      taint: taint('foo', '', 'PreferNoSchedule'),
      yes: true,
    },
    {
      why: 'an empty key with Exists matches every key',
      toleration: { key: '', operator: 'Exists', effect: 'NoSchedule' },
      taint: taint('any', 'v', 'NoSchedule'),
      yes: true,
    },
    {
      why: 'no key with Exists matches every key',
      toleration: { operator: 'Exists' },
      taint: taint('any', 'v', 'NoExecute'),
      yes: true,
    },
    {
      why: 'an empty key needs Exists',
      toleration: { key: '', operator: 'Equal' },
      taint: taint('any', '', 'NoExecute'),
      yes: false,
    },
    {
      why: 'Equal, same value',
      toleration: { key: 'foo', operator: 'Equal', value: 'bar', effect: 'NoSchedule' },
      taint: taint('foo', 'bar', 'NoSchedule'),
      yes: true,
    },
    {
      why: 'Equal, another value',
      toleration: { key: 'foo', operator: 'Equal', value: 'bar', effect: 'NoSchedule' },
      taint: taint('foo', 'baz', 'NoSchedule'),
      yes: false,
    },
    {
      why: 'no operator means Equal',
      toleration: { key: 'foo', value: 'bar', effect: 'NoSchedule' },
      taint: taint('foo', 'bar', 'NoSchedule'),
      yes: true,
    },
    {
      why: 'no operator, no value: the taint without a value',
      toleration: { key: 'foo', effect: 'NoSchedule' },
      taint: taint('foo', undefined, 'NoSchedule'),
      yes: true,
    },
    {
      why: 'no operator, no value: not the taint with one',
      toleration: { key: 'foo', effect: 'NoSchedule' },
      taint: taint('foo', 'bar', 'NoSchedule'),
      yes: false,
    },
    {
      why: 'tolerationSeconds does not count',
      toleration: { key: 'foo', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 1 },
      taint: taint('foo', '', 'NoExecute'),
      yes: true,
    },
    {
      why: 'Gt is not known, so it tolerates nothing',
      toleration: { key: 'foo', operator: 'Gt', value: '1', effect: 'NoSchedule' },
      taint: taint('foo', '5', 'NoSchedule'),
      yes: false,
    },
    {
      why: 'Lt is not known, so it tolerates nothing',
      toleration: { key: 'foo', operator: 'Lt', value: '9', effect: 'NoSchedule' },
      taint: taint('foo', '5', 'NoSchedule'),
      yes: false,
    },
    {
      why: 'an operator is written exactly',
      toleration: { key: 'foo', operator: 'exists', effect: 'NoSchedule' },
      taint: taint('foo', '', 'NoSchedule'),
      yes: false,
    },
  ])('$why', ({ toleration, taint, yes }) => {
    expect(tolerates(toleration, taint)).toBe(yes);
  });
});

it.each([
  ['Gt', true],
  ['Lt', true],
  ['exists', true],
  ['Exists', false],
  ['Equal', false],
  ['', false],
  [undefined, false],
])('hasUnknownOperator(%o) is %o', (operator, unknown) => {
  expect(hasUnknownOperator({ key: 'foo', operator })).toBe(unknown);
});

it.each<{ toleration: Toleration; yes: boolean }>([
  { toleration: { key: 'foo', operator: 'Gt', value: '1', effect: 'NoSchedule' }, yes: true },
  { toleration: { key: 'bar', operator: 'Gt', value: '1', effect: 'NoSchedule' }, yes: false },
  { toleration: { key: 'foo', operator: 'Gt', value: '1', effect: 'NoExecute' }, yes: false },
  { toleration: { key: 'foo', operator: 'Equal', value: '1' }, yes: false },
])('a taint of foo with another value may be tolerated by $toleration: $yes', ({ toleration, yes }) => {
  expect(mayTolerate(toleration, { key: 'foo', value: '2', effect: 'NoSchedule' })).toBe(yes);
});

it.each([
  { toleration: { key: 'a', operator: 'Exists' }, text: 'a:NoExecute without tolerationSeconds' },
  { toleration: { key: 'a', value: 'x', effect: 'NoExecute', tolerationSeconds: 0 }, text: 'a=x:NoExecute for 0 s' },
])('says for how long: $text', ({ toleration, text }) => {
  expect(formatSeconds(toleration)).toBe(text);
});

describe('equalToleration', () => {
  const full: Toleration = { key: 'a', operator: 'Equal', value: 'x', effect: 'NoExecute', tolerationSeconds: 5 };

  it.each<{ what: string; one: Toleration; other: Toleration; equal: boolean }>([
    { what: 'the same', one: full, other: { ...full }, equal: true },
    { what: 'another key', one: full, other: { ...full, key: 'b' }, equal: false },
    { what: 'another operator', one: full, other: { ...full, operator: 'Exists' }, equal: false },
    { what: 'another value', one: full, other: { ...full, value: 'y' }, equal: false },
    { what: 'another effect', one: full, other: { ...full, effect: 'NoSchedule' }, equal: false },
    { what: 'other seconds', one: full, other: { ...full, tolerationSeconds: 6 }, equal: false },
    { what: 'seconds, and none', one: full, other: { ...full, tolerationSeconds: undefined }, equal: false },
    { what: 'no seconds, and zero', one: { key: 'a' }, other: { key: 'a', tolerationSeconds: 0 }, equal: false },
    { what: 'no operator, and Equal', one: { key: 'a' }, other: { key: 'a', operator: 'Equal' }, equal: true },
    { what: 'nothing, and what is empty', one: {}, other: { key: '', value: '', effect: '' }, equal: true },
  ])('$what: $equal', ({ one, other, equal }) => {
    expect([equalToleration(one, other), equalToleration(other, one)]).toEqual([equal, equal]);
  });
});

it.each<{ toleration: Toleration; text: string }>([
  { toleration: { operator: 'Exists' }, text: '*' },
  { toleration: { key: '', operator: 'Exists', effect: 'NoExecute' }, text: '*:NoExecute' },
  { toleration: { key: 'a', value: 'x', effect: 'NoSchedule' }, text: 'a=x:NoSchedule' },
  { toleration: { key: 'a', operator: 'Exists', effect: 'NoSchedule' }, text: 'a:NoSchedule' },
  { toleration: { key: 'a', operator: 'Equal', value: '', effect: 'NoSchedule' }, text: 'a=:NoSchedule' },
  { toleration: { key: 'a' }, text: 'a=' },
  { toleration: { key: 'a', operator: 'Gt', value: '1' }, text: 'a=1 (Gt)' },
])('formatToleration: $text', ({ toleration, text }) => {
  expect(formatToleration(toleration)).toBe(text);
});
