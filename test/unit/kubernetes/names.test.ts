import { describe, expect, it } from 'vitest';
import { isDnsSubdomain, isLabelValue, isQualifiedName } from '../../../src/kubernetes/names.ts';

// The cases of k8s.io/apimachinery 0.36, pkg/util/validation/validation_test.go.
describe('names, as Kubernetes validates them', () => {
  const a = (length: number) => 'a'.repeat(length);

  it.each([
    ...['simple', 'now-with-dashes', '1-starts-with-num', '1234', 'simple/simple', 'now-with-dashes/simple'],
    ...['now-with-dashes/now-with-dashes', 'now.with.dots/simple', 'now-with.dashes-and.dots/simple'],
    ...['1-num.2-num/3-num', '1234/5678', '1.2.3.4/5678', 'Uppercase_Is_OK_123', 'example.com/Uppercase_Is_OK_123'],
    ...['requests.storage-foo', a(63), `${a(253)}/${a(63)}`],
  ])('%s is a qualified name', (text) => {
    expect(isQualifiedName(text)).toBe(true);
  });

  it.each([
    ...['nospecialchars%^=@', 'cantendwithadash-', '-cantstartwithadash-', 'only/one/slash', 'Example.com/abc'],
    ...['example_com/abc', 'example.com/', '/simple', a(64), `${a(254)}/abc`],
  ])('%s is no qualified name', (text) => {
    expect(isQualifiedName(text)).toBe(false);
  });

  it.each(['simple', 'now-with-dashes', '1-starts-with-num', 'end-with-num-1', '1234', a(63), ''])(
    '"%s" is a label value',
    (text) => {
      expect(isLabelValue(text)).toBe(true);
    },
  );

  it.each([
    ...['nospecialchars%^=@', 'Tama-nui-te-rā.is.Māori.sun', '\\backslashes\\are\\bad', '-starts-with-dash'],
    ...['ends-with-dash-', '.starts.with.dot', 'ends.with.dot.', a(64)],
  ])('"%s" is no label value', (text) => {
    expect(isLabelValue(text)).toBe(false);
  });

  it.each([
    ...['a', 'ab', 'a1', 'a-1', 'a--1--2--b', '0', '012', '1a', '1-a', 'a.a', 'a-1.a', 'a--1--2--b.1', '0.a', '1-a.a'],
    ...['1.1', '1--a--b--2.1', 'aa.bb.cc.dd.ee', '1.2.3.4.5', '11.22.33.44.55', a(253)],
  ])('%s is a DNS subdomain', (text) => {
    expect(isDnsSubdomain(text)).toBe(true);
  });

  it.each([
    ...['', 'A', 'aBc', 'A-1', '1-A', '-', 'a-', '-a', '1-', '_', 'a_', '_a', 'a_b', '.', 'a.', '.a', 'a..b', '1..2'],
    ...[' ', 'a ', ' a', 'a b', 'A.a', 'ab.A', '1A.1', '0.A', 'AA.BB.CC.DD.EE', 'aa.bB.cc.dd.ee'],
    ...['a@b', 'a,b', 'a;b', 'a:b', 'a%b', 'a?b', 'a$b', a(254)],
  ])('"%s" is no DNS subdomain', (text) => {
    expect(isDnsSubdomain(text)).toBe(false);
  });
});
