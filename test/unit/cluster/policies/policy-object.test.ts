import { describe, expect, it } from 'vitest';
import { policyFault, versionInForce, viewPolicy } from '../../../../src/cluster/policies/policy-object.ts';

const GOOD = { mode: 'Deny', taints: [{ key: 'a' }] };
const UNUSABLE = { mode: 'Warn', taints: [{ key: 'a' }] };

const object = (generation: number, spec: unknown, status?: unknown) => ({
  metadata: { name: 'p', uid: 'u', generation, resourceVersion: '1' },
  spec,
  status,
});
const view = (...parts: Parameters<typeof object>) => viewPolicy('TaintPolicy', object(...parts));

describe('in force of a policy', () => {
  it('is what it says, where that can be used', () => {
    const earlier = view(1, { ...GOOD, mode: 'Audit' }).inForce;
    expect(viewPolicy('TaintPolicy', object(2, GOOD), earlier).inForce).toEqual({
      generation: 2,
      policy: { kind: 'TaintPolicy', name: 'p', spec: GOOD },
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

  it('is nothing where no usable spec was seen, whatever a status says', () => {
    const now = view(2, UNUSABLE, { inForce: { generation: 1, spec: GOOD } });
    expect(now.inForce).toBeUndefined();
    expect(versionInForce(now)).toBeUndefined();
  });

  it('names the fields that are ignored', () => {
    expect(view(1, { ...GOOD, future: 1 }).inForce).toMatchObject({
      ignored: [['spec', 'future']],
      policy: { spec: GOOD },
    });
  });
});

describe('why a policy cannot be used is', () => {
  const ready = (reason: string, observedGeneration: number) => ({
    conditions: [{ type: 'Ready', status: 'False', reason, observedGeneration, message: 'by the leader' }],
  });
  const OWN = /^generation 2 cannot be used: spec\.mode: /;

  it.each([
    ['nothing, of a usable one', GOOD, ready('Invalid', 2), undefined],
    ['what is wrong, where no leader has seen it', UNUSABLE, undefined, OWN],
    ['what the leader says, which knows what is in force', UNUSABLE, ready('EarlierInForce', 2), /^by the leader$/],
    ['what the leader says, also if nothing is in force', UNUSABLE, ready('Invalid', 2), /^by the leader$/],
    ['what is wrong, where the leader has seen an earlier generation only', UNUSABLE, ready('Invalid', 1), OWN],
    ['what is wrong, where the leader is of a version that can use it', UNUSABLE, ready('NotRegistered', 2), OWN],
  ])('%s', (_what, spec, status, expected) => {
    const why = policyFault(view(2, spec, status));
    if (expected === undefined) expect(why).toBeUndefined();
    else expect(why).toMatch(expected);
  });
});
