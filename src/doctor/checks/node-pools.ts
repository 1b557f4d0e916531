import { type PolicyObject, policiesInForce } from '../../cluster/policies/policy-object.ts';
import { OPTIONAL_RIGHTS } from '../../cluster/rights/rights.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { lackText } from '../../node-pools/lack-text.ts';
import { AUTOSCALER_STARTUP_PREFIX, titleOf } from '../../node-pools/node-pool.ts';
import { howToDeclare } from '../../node-pools/pool-declaration.ts';
import {
  howToDeclareSeen,
  keysForClusterAutoscaler,
  seenStartupTaints,
  unknownStartupTaints,
  unknownText,
} from '../../node-pools/seen-startup-taints.ts';
import { isOnEveryNode, type UndeclaredTaint, undeclaredTaints } from '../../node-pools/undeclared-taints.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { count } from '../../text/counts.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { DoctorNode } from '../facts/doctor-node.ts';
import type { Facts } from '../facts/facts.ts';
import type { NodePoolFacts } from '../facts/node-pool-facts.ts';
import { grantCommand } from '../grant-command.ts';

interface Known {
  readonly policies: readonly PolicyObject[];
  readonly nodes: readonly DoctorNode[];
  readonly nodePools: NodePoolFacts;
}

/**
 * Checks that the templates of node pools declare the taints that are set when a node registers, and the startup taints that nodes carry
 * now. It is a note if only some nodes of a pool are selected, or nothing is enforced.
 */
export function checkNodePools(
  facts: Pick<Facts, 'policies' | 'nodes' | 'nodePools' | 'rights' | 'installation'>,
): readonly Finding[] {
  const { policies, nodes, nodePools } = facts;
  return needs({ policies, nodes, nodePools }, (known) => checkPools(known, facts));
}

function checkPools(
  { policies, nodes, nodePools: { apis, pools } }: Known,
  { rights, installation }: Pick<Facts, 'rights' | 'installation'>,
): Finding[] {
  if (apis.length === 0) return [finding('ok', 'neither NodePools of Karpenter nor machines of Cluster API')];
  const { taintPolicies } = compilePolicies(policiesInForce(policies), { audit: installation.audit });
  const undeclared = undeclaredTaints(pools, taintPolicies);
  const results = [...Map.groupBy(undeclared, ({ pool }) => pool).values()].flatMap(checkPool);
  const seen = nodes.flatMap((node) => seenStartupTaints(node, taintPolicies));
  const unknown = unknownStartupTaints(pools, seen, undeclared).map((one) =>
    finding('problem', unknownText(one), howToDeclareSeen(one)),
  );
  const hasMachines = apis.some(({ right }) => right === 'listMachineDeployments');
  const forClusterAutoscaler = hasMachines ? [...keysForClusterAutoscaler(seen)].map(noteOfKey) : [];
  const mayNot = rights.ok ? apis.filter(({ right }) => rights.value.missingOptional.includes(right)) : [];
  const unseen = taintPolicies.some(({ ensured }) => ensured.length > 0) ? mayNot : [];
  const notes = unseen.map(({ right }) => {
    const evidence = `taintkeeper may not ${OPTIONAL_RIGHTS[right].to}: the status of policies lacks the results of this check`;
    return finding('note', evidence, grantCommand(right, installation));
  });
  const all = [...results, ...unknown, ...forClusterAutoscaler, ...notes];
  return all.length > 0 ? all : [finding('ok', `${count(pools.length, 'pool')}, each with all required taints`)];
}

/** @param undeclared the taints of one pool */
function checkPool(undeclared: readonly UndeclaredTaint[]): Finding[] {
  const certain = undeclared.filter(isOnEveryNode);
  const [first] = certain;
  const notes = undeclared.filter((one) => !isOnEveryNode(one)).map(noteOf);
  if (first === undefined) return notes;
  return [finding('problem', lackText(first.pool, certain, sourceOf), howToDeclare(first.pool, certain)), ...notes];
}

/** The flags of Cluster Autoscaler are not known here. */
function noteOfKey([key, node]: readonly [string, string]): Finding {
  const evidence = `node ${node} carries startup taint ${key}, which Cluster Autoscaler takes for a taint that stays, unless a flag names it`;
  return finding(
    'note',
    evidence,
    `start Cluster Autoscaler with --startup-taint=${key}, or use a key with the prefix ${AUTOSCALER_STARTUP_PREFIX}`,
  );
}

function noteOf(one: UndeclaredTaint): Finding {
  const { pool, policy, taint, list, openLabels } = one;
  const where = list === 'startupTaints' ? ' as a startup taint' : '';
  const lack = `${titleOf(pool)} does not declare taint ${formatTaint(taint)}${where}`;
  if (openLabels.length === 0) {
    const evidence = `${lack}; its nodes get it as soon as ${sourceOf(one)} is enforced`;
    return finding('note', evidence, howToDeclare(pool, [one]));
  }
  const evidence = `${lack}; some of its nodes may get it: ${sourceOf(one)}, by ${openLabels.join(', ')}`;
  return finding(
    'note',
    evidence,
    `create a pool of its own for the nodes that TaintPolicy ${policy.name} selects, and declare the taint there`,
  );
}

function sourceOf({ policy, field }: UndeclaredTaint): string {
  return `TaintPolicy ${policy.name} (${field})`;
}
