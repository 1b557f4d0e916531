import { InputError } from '../../files/input-error.ts';
import { nodesOf } from '../../files/kubernetes-objects.ts';
import { manifestOf, policiesAsObject, policyText } from '../../files/policy-manifest.ts';
import { readDocuments } from '../../files/read-documents.ts';
import type { NodeView } from '../../judge/node-view.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { removerOf } from '../../kubernetes/transient-taints.ts';
import { asNode, viewNode } from '../../objects/node-object.ts';
import { parsePolicy, type TaintPolicy } from '../../policy/policy.ts';
import { type PolicyFromNode, policyFromNode } from '../../policy/policy-from-node.ts';
import { asComments, asJson } from '../output/format.ts';
import { tell } from '../output/stderr.ts';

interface FoundNode {
  readonly node: NodeView;
  readonly derived: PolicyFromNode;
}

/**
 * Prints a TaintPolicy for each Node of the files that has taints to keep.
 * @throws InputError
 */
export async function exportNodePolicies(paths: readonly string[], output: 'yaml' | 'json'): Promise<void> {
  const nodes = (await readDocuments(paths))
    .flatMap((document) => nodesOf(document, (object, path) => viewNode(asNode(object, path), '')))
    .map((node) => ({ node, derived: policyFromNode(node) }));
  if (nodes.length === 0)
    throw new InputError([`${paths.join(', ')}: no Node found: pass the output of kubectl get nodes -o yaml`]);
  const policies = nodes.flatMap(({ derived }) => derived.policy ?? []);
  refuse(policies);
  const without = nodes.filter(({ derived }) => derived.policy === undefined);
  if (output === 'json') {
    process.stdout.write(asJson(policiesAsObject(policies)));
    // JSON has no comments.
    tell(...nodes.flatMap(notesOn));
    return;
  }
  const documents = nodes.flatMap(({ node, derived }) =>
    derived.policy ? formatOne(node, derived, derived.policy) : [],
  );
  process.stdout.write(`${asComments(without.flatMap(notesOn))}${documents.join('---\n')}`);
}

/** @throws InputError for policies that the API server would refuse, and for two that select the same node */
function refuse(policies: readonly TaintPolicy[]): void {
  const invalid = policies.flatMap((policy) => {
    const result = parsePolicy(manifestOf(policy));
    return result.ok ? [] : result.problems.map(({ message }) => `TaintPolicy ${policy.name}: ${message}`);
  });
  const bySelector = Map.groupBy(policies, ({ spec }) => JSON.stringify(spec.nodeSelector?.matchLabels));
  const shared = [...bySelector]
    .filter(([, { length }]) => length > 1)
    .map(
      ([labels, alike]) => `${alike.map(({ name }) => name).join(', ')}: these nodes have the same labels ${labels}`,
    );
  const faults = [...invalid, ...shared];
  if (faults.length > 0) throw new InputError(faults);
}

function formatOne(node: NodeView, derived: PolicyFromNode, policy: TaintPolicy): string {
  const notes = [`The taints of Node ${node.name}; written by taintkeeper export.`, ...notesOn({ node, derived })];
  return policyText(policy, notes, ({ effect }) =>
    effect === 'NoExecute' ? ['Only a node that registers gets it, because it evicts pods.'] : [],
  );
}

/** What the policy of the node does not require, or why there is none. */
function notesOn({ node, derived }: FoundNode): string[] {
  const { policy, leftOut, hasHostname } = derived;
  const lasting = node.taints.length - leftOut.length;
  return [
    ...leftOut.map(
      (taint) => `Left out: ${formatTaint(taint)}, which ${removerOf(taint.key)} removes: a policy would restore it.`,
    ),
    ...(policy === undefined && lasting === 0 ? [`Node ${node.name} has no taint for a policy to require.`] : []),
    ...(lasting > 0 && !hasHostname
      ? [`Node ${node.name} is left out: it has no label kubernetes.io/hostname that would select it.`]
      : []),
  ];
}
