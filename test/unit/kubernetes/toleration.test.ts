import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import {
  alwaysTolerated,
  daemonTolerations,
  equalToleration,
  formatSeconds,
  formatToleration,
  givenEffects,
  hasUnknownOperator,
  mayTolerate,
  outlastsItsSeconds,
  type Toleration,
  tolerates,
  tolerationFaults,
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
  { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute', where: 'in every pod' },
  { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule', where: 'nowhere' },
  { key: 'node.kubernetes.io/network-unavailable', effect: 'NoSchedule', where: 'with the host network' },
  { key: 'dedicated', effect: 'NoSchedule', where: 'nowhere' },
] as const)('$key:$effect is tolerated $where, whatever the template says', ({ key, effect, where }) => {
  expect(alwaysTolerated({ key, value: undefined, effect })).toBe(where);
});

it.each([
  { hostNetwork: false, added: 6 },
  { hostNetwork: true, added: 7 },
])('the DaemonSet controller adds $added tolerations, host network: $hostNetwork', ({ hostNetwork, added }) => {
  const own: Toleration = { key: 'dedicated', operator: 'Exists' };
  const tolerations = daemonTolerations([own], hostNetwork);
  expect(tolerations[0]).toBe(own);
  expect(tolerations.slice(1).map(({ key, operator }) => [key?.split('/')[0], operator])).toEqual(
    Array.from({ length: added }, () => ['node.kubernetes.io', 'Exists']),
  );
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
  { toleration: { key: 'a', operator: 'Gt', value: '1' }, text: 'a=1 (Gt)' },
])('formatToleration: $text', ({ toleration, text }) => {
  expect(formatToleration(toleration)).toBe(text);
});

// By AddOrUpdateDaemonPodTolerations of k8s.io/kubernetes/pkg/controller/daemon/util.
it.each([
  { key: 'node.kubernetes.io/not-ready', effects: ['NoExecute'] },
  { key: 'node.kubernetes.io/unreachable', effects: ['NoExecute'] },
  { key: 'node.kubernetes.io/disk-pressure', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/memory-pressure', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/pid-pressure', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/unschedulable', effects: ['NoSchedule'] },
  { key: 'node.kubernetes.io/network-unavailable', effects: ['NoSchedule'] },
  { key: 'dedicated', effects: [] },
])('Kubernetes itself gives tolerations of $key with $effects', ({ key, effects }) => {
  expect(givenEffects(key)).toEqual(effects);
});

it.each<{ toleration: Toleration; yes: boolean }>([
  { toleration: { key: 'node.kubernetes.io/not-ready', operator: 'Exists' }, yes: true },
  { toleration: { key: 'node.kubernetes.io/unreachable', operator: 'Exists' }, yes: true },
  { toleration: { key: 'node.kubernetes.io/not-ready', operator: 'Equal' }, yes: false },
  { toleration: { key: 'node.kubernetes.io/not-ready' }, yes: false },
  { toleration: { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists' }, yes: false },
  { toleration: { operator: 'Exists' }, yes: false },
])('the seconds of $toleration do not count: $yes', ({ toleration, yes }) => {
  expect(outlastsItsSeconds(toleration)).toBe(yes);
});

describe('tolerationFaults is empty for what the API server accepts', () => {
  it.each<{ why: string; toleration: Toleration }>([
    { why: 'every taint', toleration: { operator: 'Exists' } },
    { why: 'every taint of an effect', toleration: { operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 } },
    { why: 'no operator, which means Equal', toleration: { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' } },
    { why: 'Equal in words', toleration: { key: 'dedicated', operator: 'Equal', value: 'gpu' } },
    {
      why: 'null for absent fields',
      toleration: { key: 'a', operator: null, value: null, effect: null, tolerationSeconds: null },
    },
    { why: 'Gt, which may be on', toleration: { key: 'sla', operator: 'Gt', value: '-950' } },
    { why: 'the largest integer', toleration: { key: 'sla', operator: 'Lt', value: '9223372036854775807' } },
  ])('$why', ({ toleration }) => {
    expect(tolerationFaults(toleration)).toEqual([]);
  });
});

describe('tolerationFaults says why the API server refuses', () => {
  const OPERATOR = 'operator must be Equal or Exists (Gt and Lt depend on a feature gate)';
  const EFFECT = 'effect must be NoSchedule, PreferNoSchedule or NoExecute';

  it.each<{ why: string; toleration: Toleration; faults: string[] }>([
    {
      why: 'an operator in lower case',
      toleration: { key: 'dedicated', operator: 'exists', effect: 'NoSchedule' },
      faults: [`operator: "exists" is not valid, write Exists: ${OPERATOR}`],
    },
    {
      why: 'an operator of selectors',
      toleration: { key: 'dedicated', operator: 'In', value: 'gpu' },
      faults: [`operator: "In" is not valid: ${OPERATOR}`],
    },
    {
      why: 'Exists with a value',
      toleration: { key: 'dedicated', operator: 'Exists', value: 'gpu' },
      faults: ['value: operator Exists takes no value: leave it out, or use Equal'],
    },
    {
      why: 'seconds without NoExecute',
      toleration: { key: 'a', operator: 'Exists', effect: 'NoSchedule', tolerationSeconds: 30 },
      faults: ['effect: tolerationSeconds needs effect NoExecute'],
    },
    {
      why: 'seconds without an effect',
      toleration: { key: 'a', operator: 'Exists', tolerationSeconds: 0 },
      faults: ['effect: tolerationSeconds needs effect NoExecute'],
    },
    {
      why: 'an effect as cloud providers write it',
      toleration: { key: 'a', operator: 'Exists', effect: 'NO_SCHEDULE' },
      faults: [`effect: "NO_SCHEDULE" is not valid, write NoSchedule: ${EFFECT}`],
    },
    {
      why: 'no effect of Kubernetes',
      toleration: { key: 'a', operator: 'Exists', effect: 'Never' },
      faults: [`effect: "Never" is not valid: ${EFFECT}`],
    },
    {
      why: 'an effect alone',
      toleration: { effect: 'NoSchedule' },
      faults: ['operator: without a key, operator must be Exists, which matches every taint'],
    },
    {
      why: 'nothing at all',
      toleration: {},
      faults: ['operator: without a key, operator must be Exists, which matches every taint'],
    },
    {
      why: 'Gt without a key',
      toleration: { operator: 'Gt', value: '1' },
      faults: ['operator: without a key, operator must be Exists, which matches every taint'],
    },
    {
      why: 'Gt with a text',
      toleration: { key: 'a', operator: 'Gt', value: 'x' },
      faults: ['value: operator Gt takes a decimal integer, not "x"'],
    },
    {
      why: 'Lt with a leading zero',
      toleration: { key: 'a', operator: 'Lt', value: '07' },
      faults: ['value: operator Lt takes a decimal integer, not "07"'],
    },
    {
      why: 'Lt with more than 64 bits',
      toleration: { key: 'a', operator: 'Lt', value: '9223372036854775808' },
      faults: ['value: operator Lt takes a decimal integer, not "9223372036854775808"'],
    },
    {
      why: 'a key with a value in it',
      toleration: { key: 'dedicated=gpu', operator: 'Exists' },
      faults: ['key: "dedicated=gpu" is no key of a taint'],
    },
    {
      why: 'the longest key that is quoted whole',
      toleration: { key: `${'x'.repeat(79)}=`, operator: 'Exists' },
      faults: [`key: "${'x'.repeat(79)}=" is no key of a taint`],
    },
    {
      why: 'a longer key, of which the beginning is quoted',
      toleration: { key: `${'x'.repeat(80)}=`, operator: 'Exists' },
      faults: [`key: "${'x'.repeat(80)}…" is no key of a taint`],
    },
    {
      why: 'a value with a blank',
      toleration: { key: 'a', value: 'b c' },
      faults: ['value: "b c" is no value of a taint'],
    },
    {
      why: 'several fields',
      toleration: { key: 'a b', operator: 'equal', effect: 'noschedule' },
      faults: [
        'key: "a b" is no key of a taint',
        `operator: "equal" is not valid, write Equal: ${OPERATOR}`,
        `effect: "noschedule" is not valid, write NoSchedule: ${EFFECT}`,
      ],
    },
  ])('$why', ({ toleration, faults }) => {
    expect(tolerationFaults(toleration).map(({ field, message }) => `${field}: ${message}`)).toEqual(faults);
  });
});
