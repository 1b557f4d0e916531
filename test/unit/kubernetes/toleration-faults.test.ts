import { describe, expect, it } from 'vitest';
import type { Toleration } from '../../../src/kubernetes/toleration.ts';
import { tolerationFaults } from '../../../src/kubernetes/toleration-faults.ts';

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
