import { compileCoverage } from './coverage.ts';
import { tolerationsFor } from './coverage-fix.ts';
import { own } from './label-selector.ts';
import type { Policy, TaintPolicy } from './policy.ts';
import { type CompiledTaintPolicy, compilePolicies } from './policy-set.ts';
import {
  type Change,
  type MigrationFacts,
  NEW_ROLE,
  OLD_ROLE,
  selectsByOldRole,
  type Workload,
} from './role-migration-facts.ts';
import { formatTaint, identity, sameTaint, type Taint } from './taint.ts';
import { tolerates } from './toleration.ts';
import { DEFAULT_TOLERATIONS, type PolicyToleration } from './toleration-policy.ts';

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
  { goal: 'Policies that speak of the old taint speak of the new one', find: policies },
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

/** A taint of the old role, and the same of the new one. */
interface TaintPair {
  readonly old: Taint;
  readonly new: Taint;
}

/** The pairs of which one is on some node, and the one that kubeadm knows. */
export function taintPairs({ nodes }: Pick<MigrationFacts, 'nodes'>): TaintPair[] {
  const found = nodes.flatMap(({ taints }) => taints.filter(({ key }) => key === OLD_ROLE || key === NEW_ROLE));
  const pairs = [{ key: OLD_ROLE, effect: 'NoSchedule' }, ...found]
    .filter(({ effect }) => effect !== 'PreferNoSchedule')
    .map(({ value, effect }) => ({
      old: { key: OLD_ROLE, ...(value ? { value } : {}), effect },
      new: { key: NEW_ROLE, ...(value ? { value } : {}), effect },
    }));
  return [...new Map(pairs.map((pair) => [formatTaint(pair.old), pair])).values()];
}

/** A toleration for any value may cover more than the taint that it is given for, and so ask for another one. */
function lackingTolerations(
  workload: Workload,
  pairs: readonly TaintPair[],
  facts: MigrationFacts,
): PolicyToleration[] {
  const found = tolerationsFor(lackingTaints(workload, pairs, facts));
  if (found.length === 0) return found;
  const tolerating = { ...workload, tolerations: [...workload.tolerations, ...found] };
  return [...found, ...lackingTolerations(tolerating, pairs, facts)];
}

/**
 * The taints that a workload does not tolerate, though it tolerates their counterpart. Nobody needs to tolerate an old taint that is
 * on no node where the workload would run.
 */
function lackingTaints(workload: Workload, pairs: readonly TaintPair[], { nodes }: MigrationFacts): Taint[] {
  const isTolerated = (taint: Taint) => workload.tolerations.some((toleration) => tolerates(toleration, taint));
  return pairs.flatMap((pair) => {
    if (isTolerated(pair.old)) return isTolerated(pair.new) ? [] : [pair.new];
    return isTolerated(pair.new) && isKeptOffBy(pair.old) ? [pair.old] : [];
  });

  function isKeptOffBy(taint: Taint): boolean {
    const coverageOn = compileCoverage(workload);
    return nodes.some((node) => {
      if (!node.taints.some((other) => formatTaint(other) === formatTaint(taint))) return false;
      const coverage = coverageOn(node);
      return !coverage.runs && coverage.obstacles.every(({ kind }) => kind === 'taint');
    });
  }
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
  const changes = nodes.flatMap(({ name, labels }): Change[] =>
    own(labels, OLD_ROLE) === undefined ? [] : [{ kind: 'unlabel', node: name }],
  );
  return { changes, byHand: [] };
}

function policies({ policies }: MigrationFacts): Finding {
  return { changes: [], byHand: policies.flatMap((policy) => adviceOn(policy) ?? []) };
}

function adviceOn(policy: Policy): string | undefined {
  switch (policy.kind) {
    case 'TaintPolicy':
      return adviceOnTaints(policy);
    case 'TolerationPolicy': {
      const keys = (policy.spec.tolerations ?? DEFAULT_TOLERATIONS).map(({ key }) => key);
      return keys.includes(OLD_ROLE) && !keys.includes(NEW_ROLE) && !keys.includes(undefined)
        ? `TolerationPolicy ${policy.name} asks for a toleration of the old taint, and not of the new one: add ${NEW_ROLE}`
        : undefined;
    }
    case 'RecoveryPolicy':
      return undefined;
  }
}

function adviceOnTaints(policy: TaintPolicy): string | undefined {
  const old = policy.spec.taints.filter(({ key }) => key === OLD_ROLE);
  if (old.some(({ ensure }) => ensure === 'Present')) {
    return `TaintPolicy ${policy.name} declares the old taint Present, and would set it again: declare ${NEW_ROLE} in its place`;
  }
  const [compiled] = compilePolicies([policy]).taintPolicies;
  const alsoNew = old.every(({ value, effect = 'NoSchedule' }) =>
    compiled?.protectedBy({ key: NEW_ROLE, value, effect }),
  );
  return alsoNew
    ? undefined
    : `TaintPolicy ${policy.name} protects the old taint, and not the new one: add ${NEW_ROLE}`;
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
