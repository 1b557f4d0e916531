import { allowRemovalWith } from '../judge/allow-removal.ts';
import { ownValue } from '../kubernetes/label-selector.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { formatTaint, type Taint, taintIdentity } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import type { Change, RemainingChanges } from './migration-change.ts';
import { type MigrationFacts, workloadSelectsByOldLabel } from './migration-facts.ts';
import { missingTolerations } from './missing-tolerations.ts';
import { policyChanges } from './policy-rewriting.ts';
import { hasNewRoleTaint, newRoleTaint, oldRoleTaints, taintPairs } from './role-taints.ts';

interface MigrationRule {
  readonly goal: string;
  readonly find: (facts: MigrationFacts) => RemainingChanges;
}

/**
 * Additions come before removals. The new label comes before the workloads that will select it. The workloads that tolerate both taints come before
 * the second taint. The policies come before the taint that some of them would restore.
 */
export const MIGRATION_RULES: readonly MigrationRule[] = [
  { goal: 'Every node with the old label has the new one, too', find: newLabelChanges },
  {
    goal: 'Workloads that tolerate one of the taints tolerate both, and none selects by the old label',
    find: templateChanges,
  },
  { goal: 'Every node with the old taint carries the new one, too', find: newTaintChanges },
  {
    goal: 'Policies that name the old taint or label name the new one, too, and none keeps the old taint on a node',
    find: policyChanges,
  },
  { goal: 'No node carries the old taint', find: oldTaintChanges },
  { goal: 'No node has the old label', find: oldLabelChanges },
];

function newLabelChanges({ nodes }: MigrationFacts): RemainingChanges {
  const changes = nodes.flatMap(({ name, labels }): Change[] => {
    const value = ownValue(labels, OLD_ROLE);
    return value === undefined || ownValue(labels, NEW_ROLE) !== undefined
      ? []
      : [{ kind: 'label', node: name, value }];
  });
  return { changes, byHand: [] };
}

function templateChanges(facts: MigrationFacts): RemainingChanges {
  const pairs = taintPairs(facts);
  const changes = facts.workloads.flatMap((workload): Change[] => {
    const tolerations = missingTolerations(workload, pairs, facts);
    const selects = workloadSelectsByOldLabel(workload);
    return tolerations.length > 0 || selects ? [{ kind: 'template', workload, tolerations, selects }] : [];
  });
  return { changes, byHand: [] };
}

function newTaintChanges({ nodes }: MigrationFacts): RemainingChanges {
  const changes = nodes.flatMap(({ name, taints }) =>
    oldRoleTaints(taints)
      .filter((old) => !hasNewRoleTaint(taints, old))
      .map((old): Change => ({ kind: 'taint', node: name, taint: newRoleTaint(old) })),
  );
  return { changes, byHand: [] };
}

function oldTaintChanges({ nodes, policies }: MigrationFacts): RemainingChanges {
  const { taintPolicies } = compilePolicies(policies);
  const changes: Change[] = [];
  const byHand: string[] = [];
  for (const { name, labels, taints, allowRemoval } of nodes) {
    const released: Taint[] = [];
    for (const taint of oldRoleTaints(taints)) {
      const guards = taintPolicies.filter(
        (policy) => isEnforced(policy) && policy.selectsNode(labels) && policy.protectingRule(taint) !== undefined,
      );
      const stubborn = guards.find((policy) => !policy.allowsRemovalByAnnotation || declares(policy, taint));
      if (!hasNewRoleTaint(taints, taint)) {
        byHand.push(`node ${name} does not carry the new taint yet: add that first, then remove ${formatTaint(taint)}`);
      } else if (stubborn) {
        byHand.push(
          `node ${name}: TaintPolicy ${stubborn.name} keeps ${formatTaint(taint)} on the node: change the policy first`,
        );
      } else {
        const guarded = guards.length > 0;
        if (guarded) released.push(taint);
        changes.push({
          kind: 'untaint',
          node: name,
          taint,
          allowRemoval: guarded ? allowRemovalWith(allowRemoval, released) : undefined,
        });
      }
    }
  }
  return { changes, byHand };
}

function oldLabelChanges({ nodes }: MigrationFacts): RemainingChanges {
  const old = nodes.filter(({ labels }) => ownValue(labels, OLD_ROLE) !== undefined);
  const { ready = [], waiting = [] } = Object.groupBy(old, ({ labels }) =>
    ownValue(labels, NEW_ROLE) === undefined ? 'waiting' : 'ready',
  );
  return {
    changes: ready.map(({ name }) => ({ kind: 'unlabel', node: name })),
    byHand: waiting.map(
      ({ name }) => `node ${name} does not have the new label yet: add that first, then remove the old one`,
    ),
  };
}

function declares({ required }: CompiledTaintPolicy, taint: Taint): boolean {
  return required.some((one) => taintIdentity(one.taint) === taintIdentity(taint));
}
