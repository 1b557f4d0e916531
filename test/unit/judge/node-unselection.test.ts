import { describe, expect, it } from 'vitest';
import type { TaintMode, TaintPolicySpec } from '../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../src/policy/taint-rule.ts';
import { policySet } from '../policy/policies.ts';
import { admitted, cpu, gpu, other, policyOf, type Update } from './node-updates.ts';

const GPU = 'dedicated=gpu:NoSchedule';
const nodeSelector = { matchLabels: { pool: 'gpu' } };
const pool = (
  mode: TaintMode,
  more: Partial<TaintPolicySpec> = {},
  rule: TaintRule = { key: 'dedicated', restrict: ['Removal', 'Unselection'] },
) => policyOf(mode, [rule], { nodeSelector, ...more });
const leaving: Update = { before: [gpu], after: [gpu], oldLabels: { pool: 'gpu', a: 'b' }, newLabels: { a: 'b' } };

describe('restrict: Unselection', () => {
  it.each<[TaintMode, string, string]>([
    ['Deny', 'deny', 'unselection-denied'],
    ['Restore', 'deny', 'unselection-denied'],
    ['Audit', 'allow', 'unselection-audited'],
  ])('in mode %s: %s', (mode, action, outcome) => {
    expect(admitted(pool(mode), leaving)).toMatchObject({ action, outcomes: [`p ${outcome} ${GPU}`] });
  });

  it('is told with --audit as what would be refused', () => {
    const spec: TaintPolicySpec = {
      mode: 'Restore',
      nodeSelector,
      taints: [{ key: 'dedicated', restrict: ['Removal', 'Unselection'] }],
    };
    const trial = policySet({ taint: { p: spec } }, { audit: true });
    expect(admitted(trial, leaving)).toMatchObject({ action: 'allow', outcomes: [`p unselection-would-deny ${GPU}`] });
    const announced = { ...leaving, oldAllowRemoval: GPU, newAllowRemoval: GPU };
    expect(admitted(trial, announced).outcomes).toEqual([`p unselected ${GPU}`]);
  });

  it('says which label, which taint, and what to do', () => {
    expect(admitted(pool('Restore'), { ...leaving, newLabels: { pool: 'cpu' } }).message).toBe(
      'node n1: changing label pool so that the policy no longer selects the node is not allowed while the node carries taint ' +
        `${GPU} (TaintPolicy "p", restrict: Unselection, mode Restore). To change the label on purpose, first: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=${GPU}`,
    );
    expect(admitted(pool('Deny', { removalByAnnotation: 'Forbidden' }), leaving).message).toBe(
      'node n1: changing label pool so that the policy no longer selects the node is not allowed while the node carries taint ' +
        `${GPU} (TaintPolicy "p", restrict: Unselection, mode Deny). TaintPolicy "p" does not allow removal by annotation: change the policy first.`,
    );
  });

  it('names the changed labels of the selector, and all taints that are protected', () => {
    const policies = policyOf('Deny', [{ key: '*', restrict: ['Unselection'] }], {
      nodeSelector: { matchLabels: { pool: 'gpu', zone: 'a', tier: 'x' } },
    });
    const update = {
      ...{ before: [gpu, other], after: [gpu, other] },
      ...{ oldLabels: { pool: 'gpu', zone: 'a', tier: 'x', a: 'b' }, newLabels: { tier: 'x', zone: 'b' } },
    };
    expect(admitted(policies, update).message).toBe(
      'node n1: changing labels pool, zone so that the policy no longer selects the node is not allowed while the node carries ' +
        `taints ${GPU}, other:NoSchedule (TaintPolicy "p", restrict: Unselection, mode Deny). To change the label on purpose, first: ` +
        `kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=${GPU},other:NoSchedule`,
    );
  });

  it('beside a removal that is denied, names both, and the entry of the annotation that cannot be read', () => {
    const policies = pool('Deny', {}, { key: '*', restrict: ['Removal', 'Unselection'] });
    const found = admitted(policies, {
      ...leaving,
      ...{ before: [gpu, other], recorded: `${GPU}, other:NoSchedule`, oldAllowRemoval: 'true' },
    });
    expect(found.message).toBe(
      'node n1: removing taint other:NoSchedule is not allowed (TaintPolicy "p", spec.taints[0], mode Deny). ' +
        `node n1: changing label pool so that the policy no longer selects the node is not allowed while the node carries taint ${GPU} ` +
        '(TaintPolicy "p", restrict: Unselection, mode Deny). ' +
        'Annotation taintkeeper.dev/allow-removal: cannot read "true", expected key=value:Effect. ' +
        `To remove it and change the label on purpose, first: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=other:NoSchedule,${GPU}`,
    );
  });

  it('beside a removal that the annotation cannot allow, says how to change only the label', () => {
    const policies = policySet({
      taint: {
        p: { mode: 'Deny', nodeSelector, taints: [{ key: 'dedicated', restrict: ['Unselection'] }] },
        q: { mode: 'Deny', removalByAnnotation: 'Forbidden', taints: [{ key: 'other', restrict: ['Removal'] }] },
      },
    });
    const { message } = admitted(policies, { ...leaving, before: [gpu, other] });
    expect(message).toContain(
      'TaintPolicy "q" does not allow removal by annotation: change the policy first. ' +
        `To change the label on purpose, first: kubectl annotate --overwrite node n1 taintkeeper.dev/allow-removal=${GPU}`,
    );
  });

  it('in mode Audit is a warning', () => {
    expect(admitted(pool('Audit'), leaving).warnings).toEqual([
      `TaintPolicy p, Audit: the request ended the protection of taint ${GPU}`,
    ]);
  });

  it('is not ended by an announcement where the policy forbids removal by annotation', () => {
    const announced = { ...leaving, oldAllowRemoval: GPU, newAllowRemoval: GPU };
    expect(admitted(pool('Deny', { removalByAnnotation: 'Forbidden' }), announced).outcomes).toEqual([
      `p unselection-denied ${GPU}`,
    ]);
  });

  it.each<[string, Update, boolean]>([
    ['a node that stays', { ...leaving, newLabels: { pool: 'gpu' } }, false],
    ['a node whose label has another value', { ...leaving, newLabels: { pool: 'cpu', a: 'b' } }, true],
    ['a node that joins', { ...leaving, oldLabels: {}, newLabels: { pool: 'gpu' } }, false],
    ['a node without such a taint', { ...leaving, before: [other], after: [other] }, false],
    ['a taint that was announced to go', { ...leaving, oldAllowRemoval: GPU, newAllowRemoval: GPU }, false],
    ['a taint that is announced in the same request', { ...leaving, newAllowRemoval: GPU }, true],
    ['a taint that goes at the same time, and is put back', { ...leaving, after: [] }, true],
    ['one that goes as announced', { ...leaving, after: [], oldAllowRemoval: GPU, newAllowRemoval: GPU }, false],
    ['another value of it', { ...leaving, after: [cpu], oldAllowRemoval: GPU, newAllowRemoval: GPU }, true],
    ['an exempt user', { ...leaving, requester: { username: 'owner', groups: [] } }, false],
  ])('refuses %s: %#', (_, update, refused) => {
    const found = admitted(pool('Restore', { exempt: { users: ['owner'] } }), update);
    expect(found.action === 'deny').toBe(refused);
  });

  it('applies to no other taint, and to a pattern at once', () => {
    const outcomesOf = (rule: TaintRule) => admitted(pool('Deny', {}, rule), leaving).outcomes;
    expect(outcomesOf({ key: 'dedicated', restrict: ['Addition'] })).toEqual([]);
    expect(outcomesOf({ key: 'dedicated', restrict: ['Removal'] })).toEqual([`p unselected ${GPU}`]);
    expect(outcomesOf({ key: 'd*', restrict: ['Removal'] })).toEqual([]);
    expect(outcomesOf({ key: 'd*', restrict: ['Unselection'] })).toEqual([`p unselection-denied ${GPU}`]);
  });

  it('does not keep a taint on the node by itself', () => {
    const only = pool('Deny', {}, { key: 'dedicated', restrict: ['Unselection'] });
    expect(
      admitted(only, { before: [gpu], after: [], oldLabels: { pool: 'gpu' }, newLabels: { pool: 'gpu' } }),
    ).toMatchObject({
      action: 'allow',
      outcomes: [],
    });
  });

  it('is recorded where an annotation allows it, as without the restriction', () => {
    const found = admitted(pool('Restore'), { ...leaving, oldAllowRemoval: GPU, newAllowRemoval: GPU });
    expect(found).toMatchObject({ action: 'allow', outcomes: [`p unselected ${GPU}`] });
  });
});
