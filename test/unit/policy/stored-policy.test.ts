import { describe, expect, it } from 'vitest';
import { parsePolicy, parseStoredPolicy } from '../../../src/policy/policy.ts';
import { formatPath, formatProblem } from '../../../src/policy/problem.ts';
import { manifest, storedTaintPolicies } from './policies.ts';

const KEEP = { mode: 'Deny', taints: [{ key: 'a' }] };
const read = (value: unknown) => {
  const { result, ignored } = parseStoredPolicy(value);
  return { result, ignored: ignored.map(formatPath) };
};

describe('a policy that the API server stores', () => {
  it('is read as in a file if every field is known', () => {
    const value = manifest('TaintPolicy', 'p', KEEP);
    expect(read(value)).toEqual({ result: parsePolicy(value), ignored: [] });
  });

  it('is read without a field that this version does not know, and the result names it', () => {
    const spec = {
      ...KEEP,
      future: { a: [1] },
      taints: [{ key: 'a', later: true, 'odd name': 1 }],
    };
    const value = manifest('TaintPolicy', 'p', spec);
    const before = structuredClone(value);
    expect(read(value)).toEqual({
      result: parsePolicy(manifest('TaintPolicy', 'p', KEEP)),
      ignored: ['spec.taints[0].later', 'spec.taints[0]["odd name"]', 'spec.future'],
    });
    expect(value).toEqual(before);
    expect(parsePolicy(value)).toMatchObject({ ok: false });
  });

  it.each(['Nonsense', 'toString', undefined, [['TaintPolicy']]])('is not valid: kind %s', (kind) => {
    const { result, ignored } = read({ ...manifest('TaintPolicy', 'p', { ...KEEP, future: 1 }), kind });
    expect({ ok: result.ok, ignored }).toEqual({ ok: false, ignored: [] });
  });

  it.each([
    ['RecoveryPolicy', { daemonSets: { namespaces: ['a'], nodes: [] }, stuckSeconds: 10 }],
    [
      'TolerationPolicy',
      { mode: 'Audit', daemonSets: { namespaces: ['a'], nodes: [] }, tolerations: [{ key: 'a', x: 1 }] },
    ],
  ])('is read without unknown fields in a %s', (kind, spec) => {
    const { result, ignored } = read(manifest(kind, 'p', spec));
    expect(result.ok).toBe(true);
    expect(ignored).toHaveLength(2);
  });

  it('is read without very many unknown fields, and without one named __proto__', () => {
    const future = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`future${index}`, index]));
    const value = JSON.parse(
      JSON.stringify(manifest('TaintPolicy', 'p', { ...KEEP, ...future })).replace('"future7"', '"__proto__"'),
    );
    const { result, ignored } = read(value);
    expect(result.ok).toBe(true);
    expect(ignored).toHaveLength(500);
  });

  it.each([
    ['null in place of a map', { ...KEEP, nodeSelector: null }, 'spec.nodeSelector: expected a map, got null'],
    ['null in place of a list', { mode: 'Deny', taints: null }, 'spec.taints: expected a list, got null'],
  ])('says what is wrong with %s', (_why, spec, problem) => {
    const { result } = parseStoredPolicy(manifest('TaintPolicy', 'p', spec));
    expect(result.ok ? [] : result.problems.map(formatProblem)).toEqual([problem]);
  });

  it('reports a problem of a whole list', () => {
    const { result } = parseStoredPolicy([]);
    expect(result.ok ? [] : result.problems.map(formatProblem)).toEqual([
      'expected kind TaintPolicy, TolerationPolicy, TolerationRestriction or RecoveryPolicy, got nothing',
    ]);
  });

  it('has metadata whose unknown fields are not reported as ignored', () => {
    const metadata = { name: 'p', uid: 'u', managedFields: [{ manager: 'kubectl' }] };
    const value = { ...manifest('TaintPolicy', 'p', KEEP), metadata };
    expect(read(value)).toEqual({ result: parsePolicy(value), ignored: [] });
  });

  it.each([
    ['a mode of a newer version', { ...KEEP, mode: 'Warn', future: 1 }],
    ['a field of another shape', { ...KEEP, exempt: ['a'] }],
    ['nothing to protect', { mode: 'Deny', taints: [] }],
    ['nothing at all', undefined],
  ])('cannot be used with %s', (_why, spec) => {
    expect(read(manifest('TaintPolicy', 'p', spec)).result).toMatchObject({ ok: false });
  });

  it.each([undefined, null, 'x', { kind: 'Other' }, { kind: 'toString' }])('is not a policy: %j', (value) => {
    expect(read(value)).toMatchObject({ result: { ok: false }, ignored: [] });
  });
});

describe('a startup taint with fields that this version does not know', () => {
  const daemonSets = [{ namespace: 'kube-system', name: 'cni' }];
  const rule = (more: object = {}, readyWhen: object = { daemonSets }) => ({
    key: 'a',
    effect: 'NoSchedule',
    ensure: 'UntilReady',
    readyWhen,
    ...more,
  });

  it.each<{ why: string; taints: object[]; fields: string[] }>([
    {
      why: 'a part beside known ones',
      taints: [{ key: 'b' }, rule({}, { daemonSets, future: [{ name: 'x' }] })],
      fields: ['spec.taints[1].readyWhen.future'],
    },
    {
      why: 'a part that is the only one',
      taints: [rule({}, { future: true })],
      fields: ['spec.taints[0].readyWhen.future'],
    },
    {
      why: 'a part that is the only one, although the taint is set again after a reboot',
      taints: [rule({ afterReboot: 'SetAgain' }, { future: true })],
      fields: ['spec.taints[0].readyWhen.future'],
    },
    {
      why: 'a part beside one that does not say when the node booted',
      taints: [rule({ afterReboot: 'SetAgain' }, { allDaemonSets: {}, future: true })],
      fields: ['spec.taints[0].readyWhen.future'],
    },
    {
      why: 'a field of an item, which may require more of it',
      taints: [rule({}, { daemonSets: [{ ...daemonSets[0], generation: 2 }] })],
      fields: ['spec.taints[0].readyWhen.daemonSets[0].generation'],
    },
    {
      why: 'a field beside readyWhen, which may say more of when it holds',
      taints: [rule({ future: 'x' })],
      fields: ['spec.taints[0].future'],
    },
    {
      why: 'a part of the second of two, and none of the first',
      taints: [rule(), rule({ key: 'b' }, { future: true })],
      fields: ['spec.taints[1].readyWhen.future'],
    },
    { why: 'none', taints: [rule()], fields: [] },
    { why: 'one of a rule that is no startup taint', taints: [{ key: 'a', future: 1 }], fields: [] },
  ])('is in force, and says which: $why', ({ taints, fields }) => {
    const [policy] = storedTaintPolicies({ p: { mode: 'Restore', taints } });
    const found = policy?.untilReady.flatMap(({ unknownParts, field }) => unknownParts.map((part) => [field, part]));
    expect(found).toEqual(fields.map((part) => [/^spec\.taints\[\d\]/.exec(part)?.[0], part]));
    expect(policy?.startup).toHaveLength(taints.filter((one) => 'ensure' in one).length);
  });

  it('does not count as a condition of another startup taint of the policy', () => {
    const taints = [rule({}, { future: true }), rule({ key: 'b' }, {})];
    const { result } = parseStoredPolicy(manifest('TaintPolicy', 'p', { mode: 'Restore', taints }));
    expect(result.ok ? [] : result.problems.map(({ path }) => formatPath(path))).toEqual(['spec.taints[1].readyWhen']);
  });

  it('does not say when the node booted, of another startup taint of the policy', () => {
    const again = { afterReboot: 'SetAgain' };
    const taints = [rule(again, { future: true }), rule({ key: 'b', ...again }, { allDaemonSets: {} })];
    const { result } = parseStoredPolicy(manifest('TaintPolicy', 'p', { mode: 'Restore', taints }));
    expect(result.ok ? [] : result.problems.map(({ path }) => formatPath(path))).toEqual([
      'spec.taints[1].afterReboot',
    ]);
  });

  it('does not count as a condition in a file', () => {
    expect(parsePolicy(manifest('TaintPolicy', 'p', { mode: 'Restore', taints: [rule({}, {})] }))).toMatchObject({
      ok: false,
    });
  });
});
