import { expect, it } from 'vitest';
import { cel } from '../../../src/cel/expression.ts';
import { matchesAny } from '../../../src/cel/pattern.ts';

// That the API server finds the same texts with these as the engine does is shown in test/e2e/match-conditions.test.ts.

it.each<[patterns: string[], text: string, why: string]>([
  [['a'], 'x == "a"', ''],
  [['a', 'b', 'a'], 'x in ["a", "b"]', 'names are asked about together, each once'],
  [['*'], 'true', ''],
  [['a', '*'], 'true', ''],
  [['**'], 'true', ''],
  [[], 'false', ''],
  [['a*'], 'x.startsWith("a")', ''],
  [['*a'], 'x.endsWith("a")', ''],
  [['*a*'], 'x.contains("a")', ''],
  [['a*b'], 'x.startsWith("a") && x.endsWith("b") && size(x) >= 2', 'head and tail of "aba*aba" do not overlap'],
  [['🦆*é'], 'x.startsWith("🦆") && x.endsWith("é") && size(x) >= 2', 'CEL counts characters, not UTF-16'],
  [['a*b*c'], 'x.matches("(?s)^a.*b.*c$")', ''],
  [['a.(b)*c*\\d'], 'x.matches("(?s)^a\\\\.\\\\(b\\\\).*c.*\\\\\\\\d$")', 'all else stands for itself'],
  [['a\n*b*c'], 'x.matches("(?s)^a\\U0000000a.*b.*c$")', ''],
  [['\ud800', '\udc00*'], 'false', 'no string of the API server has half a surrogate pair'],
  [['a.b/*'], 'x.startsWith("a.b/")', ''],
  [
    ['a.b/*', 'c/*', 'a.b/c'],
    'x == "a.b/c" || x.substring(0, x.indexOf("/") + 1) in ["a.b/", "c/"]',
    'several domains are asked about together',
  ],
])('%j in CEL', (patterns, text) => {
  expect(matchesAny({ value: cel(1)`x`, maxLength: 63 }, patterns).text).toBe(text);
});
