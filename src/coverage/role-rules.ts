import { own } from '../kubernetes/label-selector.ts';
import { formatTaint, identity, sameTaint, type Taint } from '../kubernetes/taint.ts';
import type { Policy, TaintPolicy } from '../policy/policy.ts';
import { type CompiledTaintPolicy, compilePolicies } from '../policy/policy-set.ts';
import { tolerationsOf } from '../policy/toleration-policy.ts';
import { type Change, type MigrationFacts, NEW_ROLE, OLD_ROLE, selectsByOldRole } from './role-facts.ts';
import { lackingTolerations, taintPairs } from './role-survey.ts';

/** What is left to do for one step, by the facts as they are when the steps before it are done. */
interface Finding {
  readonly changes: readonly Change[];
  readonly byHand: readonly string[];
}

interface MigrationRule {
  readonly goal: string;
  readonly find: (facts: MigrationFacts) => Finding;
}

/**
 * First what adds, then what takes away. The new label comes before the workloads that are to select it; the workloads that tolerate
 * both taints come before the second taint; and the policies come before the taint that some of them would put back.
 */
export const MIGRATION_RULES: readonly MigrationRule[] = [
  { goal: 'Every node with the old label has the new one, too', find: labels },
  {
    goal: 'Workloads that tolerate one of the taints tolerate both, and none selects by the old label',
    find: templates,
  },
  { goal: 'Every node with the old taint carries the new one, too', find: newTaints },
  { goal: 'Policies that speak of the old taint or label speak of the new one', find: policies },
  { goal: 'No node carries the old taint', find: oldTaints },
  { goal: 'No node has the old label', find: oldLabels },
];

function labels({ nodes }: MigrationFacts): Finding {
  const changes = nodes.flatMap(({ name, labels }): Change[] => {
    const value = own(labels, OLD_ROLE);
    return value === undefined || own(labels, NEW_ROLE) !== undefined ? [] : [{ kind: 'label', node: name, value }];
  });
  return { changes, byHand: [] };
}

function templates(facts: MigrationFacts): Finding {
  const pairs = taintPairs(facts);
  const changes = facts.workloads.flatMap((workload): Change[] => {
    const tolerations = lackingTolerations(workload, pairs, facts);
    const selects = selectsByOldRole(workload);
    return tolerations.length > 0 || selects ? [{ kind: 'template', workload, tolerations, selects }] : [];
  });
  return { changes, byHand: [] };
}

function newTaints({ nodes }: MigrationFacts): Finding {
  const changes = nodes.flatMap(({ name, taints }) =>
    oldOnes(taints)
      .map(counterpart)
      .filter((taint) => !taints.some((other) => sameTaint(other, taint)))
      .map((taint): Change => ({ kind: 'taint', node: name, taint })),
  );
  return { changes, byHand: [] };
}

function oldTaints({ nodes, policies }: MigrationFacts): Finding {
  const { taintPolicies } = compilePolicies(policies);
  const changes: Change[] = [];
  const byHand: string[] = [];
  for (const { name, labels, taints } of nodes) {
    for (const taint of oldOnes(taints)) {
      const guards = taintPolicies.filter(
        (policy) => policy.mode !== 'Audit' && policy.selectsNode(labels) && policy.protectedBy(taint) !== undefined,
      );
      const stubborn = guards.find((policy) => !policy.releasable || declares(policy, taint));
      if (!taints.some((other) => sameTaint(other, counterpart(taint)))) {
        byHand.push(`node ${name} does not carry the new taint yet: ${formatTaint(taint)} stays until it does`);
      } else if (stubborn) {
        byHand.push(
          `node ${name}: TaintPolicy ${stubborn.name} does not let ${formatTaint(taint)} go; change it first`,
        );
      } else {
        changes.push({ kind: 'untaint', node: name, taint, release: guards.length > 0 });
      }
    }
  }
  return { changes, byHand };
}

function oldLabels({ nodes }: MigrationFacts): Finding {
  const old = nodes.filter(({ labels }) => own(labels, OLD_ROLE) !== undefined);
  const { ready = [], waiting = [] } = Object.groupBy(old, ({ labels }) =>
    own(labels, NEW_ROLE) === undefined ? 'waiting' : 'ready',
  );
  return {
    changes: ready.map(({ name }) => ({ kind: 'unlabel', node: name })),
    byHand: waiting.map(({ name }) => `node ${name} does not have the new label yet: the old one stays until it does`),
  };
}

function policies({ policies }: MigrationFacts): Finding {
  return { changes: [], byHand: policies.flatMap(adviceOn) };
}

function adviceOn(policy: Policy): string[] {
  switch (policy.kind) {
    case 'TaintPolicy':
      return [
        ...adviceOnTaints(policy),
        ...(selectsByOldLabel(policy)
          ? [`TaintPolicy ${policy.name} selects nodes by the old label: let it select by ${NEW_ROLE}`]
          : []),
      ];
    case 'TolerationPolicy': {
      const keys = tolerationsOf(policy.spec).map(({ key }) => key);
      return keys.includes(OLD_ROLE) && !keys.includes(NEW_ROLE) && !keys.includes(undefined)
        ? [
            `TolerationPolicy ${policy.name} asks for a toleration of the old taint, and not of the new one: add ${NEW_ROLE}`,
          ]
        : [];
    }
    case 'RecoveryPolicy':
      return [];
  }
}

function adviceOnTaints(policy: TaintPolicy): string[] {
  const old = policy.spec.taints.filter(({ key, ensure }) => key === OLD_ROLE && ensure !== 'Nothing');
  if (old.some(({ ensure }) => ensure === 'Present')) {
    return [
      `TaintPolicy ${policy.name} declares the old taint Present, and would set it again: declare ${NEW_ROLE} in its place`,
    ];
  }
  const [compiled] = compilePolicies([policy]).taintPolicies;
  const alsoNew = old.every(({ value, effect = 'NoSchedule' }) =>
    compiled?.protectedBy({ key: NEW_ROLE, value, effect }),
  );
  return alsoNew ? [] : [`TaintPolicy ${policy.name} protects the old taint, and not the new one: add ${NEW_ROLE}`];
}

/** Whether the policy chooses its nodes by the old label. */
function selectsByOldLabel({ spec: { nodeSelector } }: TaintPolicy): boolean {
  const { matchLabels = {}, matchExpressions = [] } = nodeSelector ?? {};
  return Object.hasOwn(matchLabels, OLD_ROLE) || matchExpressions.some(({ key }) => key === OLD_ROLE);
}

function declares({ present }: CompiledTaintPolicy, taint: Taint): boolean {
  return present.some(({ value }) => identity(value.taint) === identity(taint));
}

function oldOnes(taints: readonly Taint[]): Taint[] {
  return taints.filter(({ key }) => key === OLD_ROLE);
}

function counterpart({ value, effect }: Taint): Taint {
  return { key: NEW_ROLE, ...(value ? { value } : {}), effect };
}
