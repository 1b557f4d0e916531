import { describe, expect, it } from 'vitest';
import type { Decision } from '../../../src/judge/decision.ts';
import { MAX_REMEMBERED, parseRemembered, protectionOn, remember } from '../../../src/judge/memory.ts';
import { formatTaint, type Taint } from '../../../src/kubernetes/taint.ts';
import type { PolicySet } from '../../../src/policy/policy-set.ts';
import { cpu, gpu, judgeUpdate, notReady, other, policyOf } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const CPU = 'dedicated=cpu:NoSchedule';
const OTHER = 'other:NoSchedule';

/** Taints of which each is another one. */
const numbered = (count: number, from = 0): Taint[] =>
  Array.from({ length: count }, (_, index) => ({ key: `example.com/${from + index}`, effect: 'NoSchedule' }));

describe('parseRemembered', () => {
  it.each<{ annotation: string | undefined; taints: Taint[] }>([
    { annotation: undefined, taints: [] },
    { annotation: '', taints: [] },
    { annotation: GPU, taints: [gpu] },
    { annotation: ` ${OTHER} ,\n${GPU}, `, taints: [{ ...other, value: '' }, gpu] },
    { annotation: 'other=:NoSchedule', taints: [{ ...other, value: '' }] },
    {
      annotation: `true, dedicated, dedicated=gpu, a b:NoSchedule, a=b=c:NoSchedule, a:noexecute, ${GPU}`,
      taints: [gpu],
    },
    { annotation: '{"not": ["meant", "for us"]}', taints: [] },
  ])('"$annotation"', ({ annotation, taints }) => {
    expect(parseRemembered(annotation)).toEqual(taints);
  });
});

describe('remember', () => {
  it.each([
    { room: -1, memory: undefined },
    { room: GPU.length - 1, memory: undefined },
    { room: GPU.length, memory: GPU },
    { room: `${GPU}, ${OTHER}`.length - 1, memory: GPU },
    { room: `${GPU}, ${OTHER}`.length, memory: `${GPU}, ${OTHER}` },
  ])('lists what $room bytes have room for', ({ room, memory }) => {
    expect(remember({ before: GPU, carried: [gpu, other], protects: () => true, room })).toBe(memory);
  });

  const everything = () => true;

  it.each<{
    why: string;
    before?: string;
    carried?: Taint[];
    forgotten?: Taint[];
    protects?: (taint: Taint) => boolean;
    keeps?: (taint: Taint) => boolean;
    after: string | undefined;
  }>([
    { why: 'nothing at all', after: undefined },
    { why: 'what is carried, in the order of the node', carried: [gpu, other], after: `${GPU}, ${OTHER}` },
    { why: 'what is gone without leave', before: GPU, carried: [other], after: `${GPU}, ${OTHER}` },
    {
      why: 'what was listed keeps its place, whatever the order of the node',
      before: `${OTHER}, gone:NoExecute, ${GPU}`,
      carried: [gpu, notReady, other],
      after: `${OTHER}, gone:NoExecute, ${GPU}, node.kubernetes.io/not-ready:NoExecute`,
    },
    {
      why: 'another value does not take the place of the one that is listed',
      before: `${GPU}, ${OTHER}`,
      carried: [cpu],
      after: `${GPU}, ${OTHER}`,
    },
    {
      why: 'it does when the one before went with leave',
      before: `${GPU}, ${OTHER}`,
      carried: [cpu],
      forgotten: [gpu],
      after: `${CPU}, ${OTHER}`,
    },
    {
      why: 'no value takes the place of one that went with leave',
      before: GPU,
      carried: [{ ...gpu, value: null }],
      forgotten: [gpu],
      after: 'dedicated:NoSchedule',
    },
    {
      why: 'another effect is another taint',
      before: GPU,
      carried: [{ ...gpu, effect: 'NoExecute' }],
      after: `${GPU}, dedicated=gpu:NoExecute`,
    },
    { why: 'what went with leave is forgotten', before: `${GPU}, ${OTHER}`, forgotten: [gpu], after: OTHER },
    { why: 'the last one that went with leave', before: GPU, forgotten: [gpu], after: undefined },
    { why: 'a value that went with leave, for another one', before: GPU, carried: [cpu], forgotten: [gpu], after: CPU },
    { why: 'what went with leave and was never listed', before: OTHER, forgotten: [gpu], after: OTHER },
    {
      why: 'what is no longer protected stays, and nothing of that kind comes',
      before: `${GPU}, ${OTHER}`,
      carried: [gpu, notReady],
      protects: ({ key }) => key === 'other',
      after: `${GPU}, ${OTHER}`,
    },
    {
      why: 'what is no longer protected goes when it is not kept',
      before: `${GPU}, ${OTHER}`,
      carried: [gpu],
      protects: ({ key }) => key === 'other',
      keeps: () => false,
      after: OTHER,
    },
    {
      why: 'what is protected stays, kept or not',
      before: `${GPU}, ${OTHER}`,
      keeps: () => false,
      after: `${GPU}, ${OTHER}`,
    },
    {
      why: 'a value that is no longer protected gives way to one that is',
      before: `${GPU}, ${OTHER}`,
      carried: [cpu],
      protects: ({ value }) => value !== 'gpu',
      after: `${CPU}, ${OTHER}`,
    },
    {
      why: 'what went with leave makes no room for what nobody protects',
      before: GPU,
      carried: [cpu],
      forgotten: [gpu],
      protects: ({ value }) => value === 'gpu',
      after: undefined,
    },
    { why: 'rubbish is swept out', before: `rubbish,, ${GPU}, a b:NoSchedule`, carried: [], after: GPU },
    { why: 'nothing but rubbish', before: 'rubbish', after: undefined },
    {
      why: 'of two values for one taint the last one counts',
      before: `${CPU}, ${OTHER}, ${GPU}`,
      after: `${GPU}, ${OTHER}`,
    },
    {
      why: 'what could not be read again is not written: an effect to come, keys that nobody has validated',
      carried: [
        { key: 'a', effect: 'NoAdmit' },
        { key: 'a b', effect: 'NoSchedule' },
        { key: 'a,b', effect: 'NoSchedule' },
        gpu,
      ],
      after: GPU,
    },
  ])('$why', ({ before, carried = [], forgotten = [], protects = everything, keeps, after }) => {
    expect(remember({ before, carried, forgotten, protects, keeps })).toBe(after);
    // Asked again, as when another webhook has changed the object since, it has nothing to add.
    expect(remember({ before: after, carried, forgotten, protects, keeps })).toBe(after);
  });

  it(`lists ${MAX_REMEMBERED} taints at most, those first that were listed before`, () => {
    const before = numbered(MAX_REMEMBERED - 1);
    const carried = numbered(3, 1_000);
    const after = remember({ before: before.map(formatTaint).join(', '), carried, protects: everything });
    expect(after?.split(', ')).toEqual([...before, ...carried.slice(0, 1)].map(formatTaint));
  });

  it('has room for what is protected before what is only kept, which keeps its place', () => {
    const before = numbered(MAX_REMEMBERED).map(formatTaint);
    const after = remember({
      before: before.join(', '),
      carried: [gpu],
      protects: ({ key }) => key === 'dedicated',
    });
    expect(after?.split(', ')).toEqual([...before.slice(0, -1), GPU]);
  });
});

describe('protectionOn', () => {
  it.each<{ why: string; policies: PolicySet; yes: boolean }>([
    { why: 'Deny', policies: policyOf('Deny', [{ key: 'dedicated', restrict: ['Removal'] }]), yes: true },
    {
      why: 'Restore',
      policies: policyOf('Restore', [{ key: '*', restrict: ['Removal'] }]),
      yes: true,
    },
    { why: 'Audit only watches', policies: policyOf('Audit', [{ key: '*', restrict: ['Removal'] }]), yes: false },
    { why: 'another taint', policies: policyOf('Deny', [{ key: 'other', restrict: ['Removal'] }]), yes: false },
    {
      why: 'its nodes',
      policies: policyOf('Deny', [{ key: '*', restrict: ['Removal'] }], {
        nodeSelector: { matchLabels: { pool: 'a' } },
      }),
      yes: true,
    },
    {
      why: 'other nodes',
      policies: policyOf('Deny', [{ key: '*', restrict: ['Removal'] }], {
        nodeSelector: { matchLabels: { pool: 'b' } },
      }),
      yes: false,
    },
    {
      why: 'an exemption is about who removes it',
      policies: policyOf('Deny', [{ key: '*', restrict: ['Removal'] }], { exempt: { users: ['*'] } }),
      yes: true,
    },
  ])('$why: $yes', ({ policies, yes }) => {
    expect(protectionOn({ pool: 'a' }, policies.taintPolicies)(gpu)).toBe(yes);
  });
});

describe('as many taints and as long an annotation as a node can have', () => {
  const many = numbered(40_000);
  // 200 KB: all annotations of an object together have 256 KiB.
  const listed = numbered(6_500, 20_000).map(formatTaint).join(', ');
  const policies = policyOf('Restore', [{ key: 'example.com/*', restrict: ['Removal'] }]);

  it.each<{ why: string; annotation: string }>([
    { why: 'taints', annotation: listed },
    { why: 'separators', annotation: ','.repeat(200_000) },
    { why: 'one word', annotation: 'x'.repeat(200_000) },
    { why: 'colons', annotation: 'x=:'.repeat(65_000) },
  ])('take no time that counts: $why', ({ annotation }) => {
    const update = { before: many, after: many.slice(1), oldRemembered: annotation, recorded: many.slice(0, 1) };
    expect(judgeUpdate(policies, 'mutate', update)).toMatchObject({
      verdict: 'patch',
      desired: { taints: { length: many.length } },
    });
    expect(judgeUpdate(policies, 'validate', update).verdict).toBe('deny');
  });

  it('leave 64 of them', () => {
    const decision = judgeUpdate(policies, 'mutate', {
      ...{ before: many, after: many.slice(1), oldRemembered: listed },
      recorded: many.slice(0, 1),
    });
    expect(decision).toMatchObject({ verdict: 'patch' });
    const { remembered } = (decision as Decision<{ remembered: string }> & { verdict: 'patch' }).desired;
    expect(remembered).toBe(numbered(MAX_REMEMBERED, 20_000).map(formatTaint).join(', '));
  });
});
