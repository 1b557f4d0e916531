import { OPTIONAL_RIGHTS } from '../../cluster/rights.ts';
import { howToDeclare, lackText, titleOf, type UndeclaredTaint, undeclaredTaints } from '../../coverage/node-pools.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { count } from '../../kubernetes/text.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { type Finding, finding, unread } from '../check.ts';
import type { Facts } from '../facts.ts';
import { howToGrant } from './leader.ts';
import { validPolicies } from './policies.ts';

/**
 * Whether the templates of node pools declare the required taints with which their nodes come. Where only some nodes of a pool are
 * selected, or nothing is enforced, that is a note.
 */
export function checkNodePools(facts: Pick<Facts, 'policies' | 'nodePools' | 'rights' | 'installation'>): Finding[] {
  const { policies, nodePools, rights, installation } = facts;
  const skipped = unread(policies, nodePools);
  if (skipped || !policies.ok || !nodePools.ok) return skipped ? [skipped] : [];
  const { apis, pools } = nodePools.value;
  if (apis.length === 0) return [finding('ok', 'neither NodePools of Karpenter nor machines of Cluster API')];
  const { taintPolicies } = compilePolicies(validPolicies(policies.value), { audit: installation.audit });
  const undeclared = undeclaredTaints(pools, taintPolicies);
  const results = [...Map.groupBy(undeclared, ({ pool }) => pool).values()].flatMap(checkPool);
  const mayNot = rights.ok ? apis.filter(({ right }) => rights.value.notPermitted.includes(right)) : [];
  const unseen = taintPolicies.some(({ atRegistration }) => atRegistration.length > 0) ? mayNot : [];
  const notes = unseen.map(({ right }) => {
    const evidence = `taintkeeper may not ${OPTIONAL_RIGHTS[right].to}: the status of policies does not say what this check says`;
    return finding('note', evidence, howToGrant(right, installation));
  });
  const all = [...results, ...notes];
  return all.length > 0 ? all : [finding('ok', `${count(pools.length, 'pool')}, each with all required taints`)];
}

/** @param undeclared of one pool */
function checkPool(undeclared: readonly UndeclaredTaint[]): Finding[] {
  const enforced = undeclared.filter(isEnforced);
  const [first] = enforced;
  const notes = undeclared.filter((one) => !isEnforced(one)).map(noteOf);
  if (first === undefined) return notes;
  return [finding('trouble', lackText(first.pool, enforced, sourceOf), howToDeclare(first.pool, enforced)), ...notes];
}

function isEnforced({ policy, openLabels }: UndeclaredTaint): boolean {
  return policy.mode !== 'Audit' && openLabels.length === 0;
}

function noteOf(one: UndeclaredTaint): Finding {
  const { pool, policy, taint, list, openLabels } = one;
  const where = list === 'startupTaints' ? ' as a startup taint' : '';
  const lack = `${titleOf(pool)} does not declare taint ${formatTaint(taint)}${where}`;
  if (openLabels.length === 0) {
    const evidence = `${lack}, with which its nodes come as soon as ${sourceOf(one)} is enforced`;
    return finding('note', evidence, howToDeclare(pool, [one]));
  }
  const evidence = `${lack}, and some of its nodes may come with it: ${sourceOf(one)}, by ${openLabels.join(', ')}`;
  return finding(
    'note',
    evidence,
    `what TaintPolicy ${policy.name} selects wants a pool of its own, which declares the taint`,
  );
}

function sourceOf({ policy, field }: UndeclaredTaint): string {
  return `TaintPolicy ${policy.name} (${field})`;
}
