import { describe, expect, it } from 'vitest';
import type { Taint } from '../../../src/kubernetes/taint.ts';
import type { TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import { policySet } from '../policy/policies.ts';
import { admitted, cpu, gpu, other, policyOf, type Update } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const GPU_NOTICE = `${GPU}-`;
const REMOVAL = { key: 'dedicated', restrict: ['Removal'] } as const;
const GUARDED = { key: 'dedicated', restrict: ['Addition'] } as const;
const FORBIDDEN = { removalByAnnotation: 'Forbidden' } as const;

/** The annotation after an update on which it said this. */
function annotationAfter(
  policies: ReturnType<typeof policySet>,
  annotation: string,
  update: Pick<Update, 'before' | 'after'>,
) {
  const { desired } = admitted(policies, { oldAllowRemoval: annotation, newAllowRemoval: annotation, ...update });
  return desired ? desired.allowRemoval : annotation;
}

describe('a notice of a taint which the update adds', () => {
  it.each<[what: string, spec: Partial<TaintPolicySpec>, added: Taint, annotation: string | undefined]>([
    ['is deleted', {}, gpu, undefined],
    [
      'is deleted where an exempt user may have removed it',
      { ...FORBIDDEN, exempt: { users: ['root'] } },
      gpu,
      undefined,
    ],
    ['is deleted where no user may remove it', FORBIDDEN, gpu, undefined],
    ['stays where the policy only watches', { mode: 'Audit' }, gpu, GPU_NOTICE],
    [
      'stays where the policy does not select the node',
      { nodeSelector: { matchLabels: { pool: 'a' } } },
      gpu,
      GPU_NOTICE,
    ],
    ['stays for another value', {}, cpu, GPU_NOTICE],
    ['stays for another taint', {}, other, GPU_NOTICE],
  ])('%s', (_what, spec, added, annotation) => {
    const policies = policyOf(spec.mode ?? 'Deny', [...(spec.taints ?? [REMOVAL])], spec);
    expect(annotationAfter(policies, GPU_NOTICE, { before: [], after: [added] })).toBe(annotation);
  });

  it('stays where the taint does not come, because another policy keeps the value that the node has', () => {
    const policies = policySet({
      taint: {
        keeping: { mode: 'Restore', taints: [{ ...REMOVAL, value: 'cpu' }], ...FORBIDDEN },
        permitting: { mode: 'Restore', taints: [{ ...REMOVAL, value: 'gpu' }] },
      },
    });
    expect(annotationAfter(policies, GPU_NOTICE, { before: [cpu], after: [gpu] })).toBe(GPU_NOTICE);
  });
});

it('an announcement of a taint which the update adds stays', () => {
  const policies = policyOf('Deny', [REMOVAL]);
  expect(annotationAfter(policies, GPU, { before: [], after: [gpu] })).toBe(GPU);
});

describe('a notice that an update removes as it adds taints, like one with an old copy of the node', () => {
  const after = (spec: Partial<TaintPolicySpec>, more: Partial<Update> = {}) => {
    const policies = policyOf(spec.mode ?? 'Restore', [...(spec.taints ?? [REMOVAL])], spec);
    const update = { before: [], after: [other], oldAllowRemoval: GPU_NOTICE, recorded: GPU, ...more };
    const { desired } = admitted(policies, update);
    return desired ? desired.allowRemoval : update.newAllowRemoval;
  };
  const REQUIRED: Partial<TaintPolicySpec> = {
    taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
  };

  it.each<[what: string, spec: Partial<TaintPolicySpec>, more: Partial<Update>, annotation: string | undefined]>([
    ['stays while the record lists the taint', {}, {}, GPU_NOTICE],
    ['stays beside what the update brings', {}, { newAllowRemoval: 'a:NoExecute' }, `a:NoExecute, ${GPU_NOTICE}`],
    ['goes once the record does not list it any more', {}, { recorded: '' }, undefined],
    ['stays while the record does not say that the required taint was removed', REQUIRED, { recorded: '' }, GPU_NOTICE],
    ['goes once the record says so', REQUIRED, { recorded: '', recordedRemovals: GPU }, undefined],
    ['goes where the update adds no taints', {}, { before: [other] }, undefined],
    ['goes where the policy only watches', { mode: 'Audit' }, {}, undefined],
    ['is deleted where the update adds its taint', {}, { after: [gpu] }, undefined],
    [
      'stays, unlike announcements and notices that cannot be read',
      {},
      { oldAllowRemoval: `${GPU}, ${GPU_NOTICE}, dedicated:NoSchedule, rubbish-` },
      GPU_NOTICE,
    ],
  ])('%s', (_what, spec, more, annotation) => {
    expect(after(spec, more)).toBe(annotation);
  });
});

it('a notice that an update removes stays beside the one for a taint that the same update removes', () => {
  const rules = [REMOVAL, { key: 'other', restrict: ['Removal'] as const }];
  const root = { username: 'root', groups: [] };
  const policies = policyOf('Restore', rules, { exempt: { users: [root.username] } });
  const added = { key: 'added', effect: 'NoSchedule' };
  const update = { before: [other], after: [added], oldAllowRemoval: GPU_NOTICE, recorded: GPU, requester: root };
  expect(admitted(policies, update).desired?.allowRemoval).toBe(`${GPU_NOTICE}, other=:NoSchedule-`);
});

it.each<[what: string, update: Update]>([
  ['adds a taint', { before: [], after: [other] }],
  ['changes labels', { before: [], after: [], oldLabels: { a: 'b' }, newLabels: {} }],
])('an update that %s leaves the annotation as it was written, where it uses up no entry', (_what, update) => {
  const annotation = `a:NoExecute,,${GPU_NOTICE}`;
  const found = admitted(policyOf('Restore', [REMOVAL]), {
    ...update,
    oldAllowRemoval: annotation,
    newAllowRemoval: annotation,
    recorded: GPU,
  });
  expect(found).toMatchObject({ action: 'allow', desired: undefined });
});

it.each<[what: string, spec: Partial<TaintPolicySpec>, taints: string[]]>([
  ['is an addition where the policy allows its removal by annotation', {}, []],
  ['is expected where no user may remove it', FORBIDDEN, [GPU]],
])('a required taint that the record lists as removed %s', (_what, spec, taints) => {
  const policies = policySet({
    taint: {
      guarding: { mode: 'Restore', taints: [GUARDED] },
      requiring: {
        mode: 'Deny',
        taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
        ...spec,
      },
    },
  });
  expect(admitted(policies, { before: [], after: [gpu], recordedRemovals: GPU }).taints).toEqual(taints);
});
