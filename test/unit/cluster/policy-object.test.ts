import { describe, expect, it } from 'vitest';
import { versionInForce, viewPolicy } from '../../../src/cluster/policy-object.ts';

const GOOD = { mode: 'Deny', taints: [{ key: 'a', restrict: ['Removal'] }] };
const BETTER = {
  mode: 'Restore',
  taints: [
    { key: 'a', restrict: ['Removal'] },
    { key: 'b', restrict: ['Removal'] },
  ],
};
const UNUSABLE = { mode: 'Warn', taints: [{ key: 'a', restrict: ['Removal'] }] };

/** An object of that generation; `inForce` is what its status says. */
const object = (generation: number, spec: unknown, inForce?: unknown) => ({
  metadata: { name: 'p', uid: 'u', generation, resourceVersion: '1' },
  spec,
  ...(inForce === undefined ? {} : { status: { inForce } }),
});
const view = (...parts: Parameters<typeof object>) => viewPolicy('TaintPolicy', object(...parts));

describe('in force of a policy', () => {
  it('is what it says, where that can be used', () => {
    expect(view(2, GOOD, { generation: 1, spec: BETTER }).inForce).toEqual({
      generation: 2,
      policy: { kind: 'TaintPolicy', name: 'p', spec: GOOD },
      spec: GOOD,
      ignored: [],
    });
  });

  it('is what it said before, where the present spec cannot be used', () => {
    const before = view(1, GOOD).inForce;
    const now = viewPolicy('TaintPolicy', object(2, UNUSABLE), before);
    expect(now).toMatchObject({ generation: 2, result: { ok: false } });
    expect(now.inForce).toEqual(before);
    expect(versionInForce(now)).toBe('u@1');
  });

  it('is what the status says, for a replica that has not seen it', () => {
    expect(view(3, UNUSABLE, { generation: 1, spec: GOOD }).inForce).toMatchObject({ generation: 1, spec: GOOD });
  });

  it('is the later one of the two', () => {
    const known = (generation: number, spec: object) => view(generation, spec).inForce;
    const status = { generation: 3, spec: BETTER };
    const now = object(5, UNUSABLE, status);
    expect(viewPolicy('TaintPolicy', now, known(2, GOOD)).inForce).toMatchObject(status);
    expect(viewPolicy('TaintPolicy', now, known(4, GOOD)).inForce).toMatchObject({ generation: 4, spec: GOOD });
    expect(viewPolicy('TaintPolicy', now, known(3, GOOD)).inForce).toMatchObject({ generation: 3, spec: GOOD });
  });

  it.each([
    ['nothing', undefined],
    ['null', null],
    ['a spec that cannot be used either', { generation: 1, spec: UNUSABLE }],
    ['a spec without a generation', { spec: GOOD }],
    ['a generation that is no number', { generation: '1', spec: GOOD }],
    ['a generation that there has not been yet', { generation: 9, spec: GOOD }],
    ['the generation that cannot be used', { generation: 2, spec: GOOD }],
  ])('is nothing where the status has %s', (_what, inForce) => {
    expect(view(2, UNUSABLE, inForce).inForce).toBeUndefined();
  });

  it('keeps the spec whole, with what this version does not know: another one may', () => {
    const spec = { ...GOOD, future: 1 };
    expect(view(1, spec).inForce).toMatchObject({ spec, ignored: [['spec', 'future']], policy: { spec: GOOD } });
    expect(view(2, UNUSABLE, { generation: 1, spec }).inForce).toMatchObject({ spec, ignored: [['spec', 'future']] });
  });
});
