import { expect, it } from 'vitest';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { rulesOverlap } from '../../../src/policy/taint-rule-overlap.ts';

it.each<[a: TaintRule, b: TaintRule, expected: boolean, why: string]>([
  [{ key: 'a' }, { key: 'a' }, true, 'the same key'],
  [{ key: 'a' }, { key: 'b' }, false, 'other keys'],
  [{ key: 'a/*' }, { key: '*/b' }, true, 'patterns that share a text'],
  [{ key: 'a/*' }, { key: 'b/*' }, false, 'patterns that share none'],
  [{ key: 'a', effect: 'NoSchedule' }, { key: 'a' }, true, 'any effect'],
  [{ key: 'a', effect: 'NoSchedule' }, { key: 'a', effect: 'NoExecute' }, false, 'other effects'],
  [{ key: 'a', value: '' }, { key: 'a', value: 'x' }, false, 'other values'],
  [{ key: '*' }, { key: 'node.kubernetes.io/not-ready' }, false, 'a pattern never covers taints that Kubernetes sets'],
  [{ key: '*', except: ['a/*'] }, { key: 'a/b' }, false, 'a pattern never covers the keys that it excepts'],
  [{ key: '*', except: ['a/*', 'c'] }, { key: 'a/b' }, false, 'nor a key that one of several exceptions matches'],
  [{ key: '*', except: ['a/*'] }, { key: 'b' }, true, 'and means the rest'],
  [{ key: '*' }, { key: 'b' }, true, 'a pattern without exceptions'],
  [{ key: 'node.kubernetes.io/not-ready' }, { key: 'node.kubernetes.io/not-ready' }, true, 'but a name does'],
])('%j, %j: %s, %s', (a, b, expected) => {
  const withOther: TaintRule[] = [{ key: 'none', effect: 'NoExecute', value: 'none' }, a];
  const results = [rulesOverlap([a], [b]), rulesOverlap([b], withOther), rulesOverlap(withOther, [b])];
  expect(results).toEqual([expected, expected, expected]);
});
