import type { Decision } from '../../../../src/judge/decision.ts';
import type { DesiredNode } from '../../../../src/judge/node-view.ts';
import { outcomeText } from '../../../../src/judge/outcomes.ts';
import type { StringMap } from '../../../../src/kubernetes/label-selector.ts';
import { formatTaint, type Taint } from '../../../../src/kubernetes/taint.ts';
import type { Requester } from '../../../../src/policy/compiled-taint-policy.ts';
import type { PolicySet } from '../../../../src/policy/policy-set.ts';
import type { TaintMode, TaintPolicySpec } from '../../../../src/policy/taint-policy.ts';
import type { TaintRule } from '../../../../src/policy/taint-rule.ts';
import { policySet } from '../../policy/policies.ts';
import { judgeNode } from './judge-node.ts';

export const DEVELOPER: Requester = { username: 'dev', groups: ['developers'] };
export const KUBELET: Requester = { username: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };

export const gpu: Taint = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
export const cpu: Taint = { ...gpu, value: 'cpu' };
export const other: Taint = { key: 'other', effect: 'NoSchedule' };
export const notReady: Taint = { key: 'node.kubernetes.io/not-ready', effect: 'NoExecute' };

/** An update of node n1. */
export interface Update {
  readonly before: readonly Taint[];
  readonly after: readonly Taint[];
  readonly oldLabels?: StringMap;
  readonly newLabels?: StringMap;
  readonly oldAllowRemoval?: string;
  readonly newAllowRemoval?: string;
  readonly requester?: Requester;
}

/** What one phase makes of an update. */
export function judgeUpdate(policies: PolicySet, phase: 'mutate' | 'validate', update: Update): Decision<DesiredNode> {
  const {
    before,
    after,
    oldLabels = {},
    newLabels = oldLabels,
    oldAllowRemoval,
    newAllowRemoval,
    requester = DEVELOPER,
  } = update;
  return judgeNode(
    {
      phase,
      requester,
      oldNode: { name: 'n1', labels: oldLabels, taints: before, allowRemoval: oldAllowRemoval },
      node: { name: 'n1', labels: newLabels, taints: after, allowRemoval: newAllowRemoval },
    },
    policies,
  );
}

/** One policy `p` for every node. */
export function policyOf(mode: TaintMode, taints: TaintRule[], more: Partial<TaintPolicySpec> = {}): PolicySet {
  return policySet({ taint: { p: { mode, taints, ...more } } });
}

export const outcomes = (decision: Decision<unknown>) =>
  decision.violations.map((one) => `${one.policy} ${outcomeText(one)} ${one.subject}`);

/** What both phases make of an update, one after the other: what came of it, and the node's taints in the end. */
export function admitted(policies: PolicySet, update: Update) {
  const mutation = judgeUpdate(policies, 'mutate', update);
  const desired = mutation.action === 'patch' ? mutation.desired : undefined;
  const validation = judgeUpdate(policies, 'validate', {
    ...update,
    ...(desired ? { after: desired.taints, newAllowRemoval: desired.allowRemoval } : {}),
  } as Update);
  return {
    action: validation.action === 'deny' ? 'deny' : mutation.action,
    message: validation.action === 'deny' ? validation.message : undefined,
    outcomes: [...outcomes(mutation), ...outcomes(validation)],
    warnings: [...mutation.warnings, ...validation.warnings],
    taints: (desired?.taints ?? update.after).map(formatTaint),
    desired,
  };
}
