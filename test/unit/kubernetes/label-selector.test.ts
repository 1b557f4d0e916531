import { describe, expect, it } from 'vitest';
import {
  formatLabels,
  type LabelSelector,
  ownValue,
  type StringMap,
  selects,
} from '../../../src/kubernetes/label-selector.ts';

describe('selects', () => {
  it.each<{ why: string; selector: LabelSelector; labels: StringMap; yes: boolean }>([
    { why: 'an empty selector selects everything', selector: {}, labels: {}, yes: true },
    {
      why: 'matchLabels: there',
      selector: { matchLabels: { pool: 'gpu' } },
      labels: { pool: 'gpu', a: 'b' },
      yes: true,
    },
    {
      why: 'matchLabels: another value',
      selector: { matchLabels: { pool: 'gpu' } },
      labels: { pool: 'cpu' },
      yes: false,
    },
    { why: 'matchLabels: absent', selector: { matchLabels: { pool: 'gpu' } }, labels: {}, yes: false },
    {
      why: 'matchLabels: an empty value is a value',
      selector: { matchLabels: { role: '' } },
      labels: { role: '' },
      yes: true,
    },
    {
      why: 'matchLabels: an empty value is not absence',
      selector: { matchLabels: { role: '' } },
      labels: {},
      yes: false,
    },
    { why: 'all of matchLabels', selector: { matchLabels: { a: '1', b: '2' } }, labels: { a: '1' }, yes: false },
    {
      why: 'In',
      selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['1', '2'] }] },
      labels: { a: '2' },
      yes: true,
    },
    {
      why: 'In, absent',
      selector: { matchExpressions: [{ key: 'a', operator: 'In', values: ['1'] }] },
      labels: {},
      yes: false,
    },
    {
      why: 'NotIn',
      selector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] },
      labels: { a: '1' },
      yes: false,
    },
    {
      why: 'NotIn holds where the label is absent',
      selector: { matchExpressions: [{ key: 'a', operator: 'NotIn', values: ['1'] }] },
      labels: {},
      yes: true,
    },
    { why: 'Exists', selector: { matchExpressions: [{ key: 'a', operator: 'Exists' }] }, labels: { a: '' }, yes: true },
    {
      why: 'DoesNotExist',
      selector: { matchExpressions: [{ key: 'a', operator: 'DoesNotExist' }] },
      labels: { a: '' },
      yes: false,
    },
    {
      why: 'labels and expressions together',
      selector: { matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'Exists' }] },
      labels: { a: '1' },
      yes: false,
    },
    {
      why: 'what every object inherits is no label',
      selector: { matchExpressions: [{ key: 'constructor', operator: 'Exists' }] },
      labels: {},
      yes: false,
    },
  ])('$why', ({ selector, labels, yes }) => {
    expect(selects(selector, labels)).toBe(yes);
  });
});

it('ownValue reads a label called __proto__ from parsed JSON, and none that is inherited', () => {
  expect(ownValue(JSON.parse('{"__proto__":"x"}'), '__proto__')).toBe('x');
  expect(ownValue({}, '__proto__')).toBeUndefined();
});

it('formatLabels writes labels as kubectl --selector takes them', () => {
  expect(formatLabels({ app: 'a', role: '', none: null })).toBe('app=a,role=,none=');
});
