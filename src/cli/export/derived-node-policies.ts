import type { SourceDocument } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import { isKind, type KubernetesObject, nodesOf, objectsOf } from '../../files/kubernetes-objects.ts';
import { policyAt } from '../../files/policy-files.ts';
import { manifestOf, policiesAsObject, policyText } from '../../files/policy-manifest.ts';
import { readDocuments } from '../../files/read-documents.ts';
import type { NodeStatus, NodeView } from '../../judge/node-view.ts';
import { formatTaint } from '../../kubernetes/taint.ts';
import { removerOf } from '../../kubernetes/transient-taints.ts';
import { asNode, viewNode } from '../../objects/node-object.ts';
import { viewNodeStatus } from '../../objects/node-status.ts';
import { type CompiledTaintPolicy, compileTaintPolicy } from '../../policy/compiled-taint-policy.ts';
import { POLICY_API_VERSION, parsePolicy, type TaintPolicy } from '../../policy/policy.ts';
import { type PolicyFromNode, policyFromNode } from '../../policy/policy-from-node.ts';
import type { Path } from '../../policy/problem.ts';
import { asComments, asJson } from '../output/format.ts';
import { tell } from '../output/stderr.ts';

interface FoundNode {
  readonly node: NodeView & NodeStatus;
  readonly derived: PolicyFromNode;
}

/**
 * Prints a TaintPolicy for each Node of the files that has taints to keep. The startup taints of the TaintPolicies of the files are not kept.
 * @throws InputError
 */
export async function exportNodePolicies(paths: readonly string[], output: 'yaml' | 'json'): Promise<void> {
  const documents = await readDocuments(paths);
  const known = documents.flatMap(taintPoliciesOf);
  const nodes = documents
    .flatMap((document) => nodesOf(document, viewObject))
    .map((node): FoundNode => ({ node, derived: policyFromNode(node, known) }));
  if (nodes.length === 0)
    throw new InputError([`${paths.join(', ')}: no Node found: pass the output of kubectl get nodes -o yaml`]);
  const policies = nodes.flatMap(({ derived }) => derived.policy ?? []);
  refuse(policies);
  const without = nodes.filter(({ derived }) => derived.policy === undefined);
  tell(...nodes.flatMap(noteOnStart));
  if (output === 'json') {
    process.stdout.write(asJson(policiesAsObject(policies)));
    // JSON has no comments.
    tell(...nodes.flatMap(notesOn));
    return;
  }
  const printed = nodes.flatMap(({ node, derived }) =>
    derived.policy ? formatOne(node, derived, derived.policy) : [],
  );
  process.stdout.write(`${asComments(without.flatMap(notesOn))}${printed.join('---\n')}`);
}

function viewObject(object: KubernetesObject, path: Path): FoundNode['node'] {
  const node = asNode(object, path);
  return { ...viewNode(node, ''), ...viewNodeStatus(node) };
}

/** @throws InputError */
function taintPoliciesOf(document: SourceDocument): CompiledTaintPolicy[] {
  return objectsOf(document)
    .filter(({ object }) => isKind(object, POLICY_API_VERSION, 'TaintPolicy'))
    .map(({ object, path }) => policyAt(document, object, path))
    .flatMap((policy) => (policy.kind === 'TaintPolicy' ? compileTaintPolicy(policy, { startupKeys: [] }) : []));
}

/** A startup taint may be one of a policy or an agent that is not known here. */
function noteOnStart({ node, derived }: FoundNode): string[] {
  const ready = node.conditions?.Ready;
  if (derived.policy === undefined || ready === undefined || ready === 'True') return [];
  return [
    `Node ${node.name} is not Ready: it may have taints only until it is. Delete them from the policy before you apply it`,
  ];
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
  const { policy, leftOut, startup, hasHostname } = derived;
  const lasting = node.taints.length - leftOut.length - startup.length;
  return [
    ...leftOut.map(
      (taint) => `Left out: ${formatTaint(taint)}, which ${removerOf(taint.key)} removes: a policy would restore it.`,
    ),
    ...startup.map(({ taint, policy }) => `Left out: ${formatTaint(taint)}, a startup taint of TaintPolicy ${policy}.`),
    ...(policy === undefined && lasting === 0 ? [`Node ${node.name} has no taint for a policy to require.`] : []),
    ...(lasting > 0 && !hasHostname
      ? [`Node ${node.name} is left out: it has no label kubernetes.io/hostname that would select it.`]
      : []),
  ];
}
