import { ownValue } from '../kubernetes/label-selector.ts';
import { kindOf, textAt } from './document-values.ts';
import type { LiveNode } from './live-node.ts';
import type { MachineConfiguration } from './machine-configuration.ts';
import { CONTROL_PLANE_KEY, type NodeDeclaration, ownLabels } from './node-declaration.ts';

/**
 * The possible names of the machine's node by its declared hostname (`machine.network.hostname`, or that of the document HostnameConfig): the host's
 * name or, with registerWithFQDN, the full name. Empty if Talos determines a hostname itself.
 */
export function nodeNames({ documents }: MachineConfiguration): string[] {
  for (const document of documents) {
    const path = kindOf(document) === 'HostnameConfig' ? ['hostname'] : ['machine', 'network', 'hostname'];
    const hostname = textAt(document, path);
    if (!hostname) continue;
    const whole = nodeName(hostname);
    return [...new Set([whole, whole.replace(/\..*/, '')])];
  }
  return [];
}

/** How Talos makes a node's name from a hostname (nodename.FromHostname of siderolabs/talos). */
function nodeName(hostname: string): string {
  return hostname
    .toLowerCase()
    .replaceAll('_', '-')
    .replace(/[^a-z0-9.-]/g, '')
    .replace(/^[-.]+|(?<![-.])[-.]+$/g, '');
}

/** The evidence that a machine configuration belongs to a node, the most certain first. */
export type MatchedBy = '--node' | 'hostname' | 'labels' | 'role';

export interface Assignment {
  readonly node: LiveNode;
  readonly declaration: NodeDeclaration;
  readonly by: MatchedBy;
}

/** The machine configuration of a node, or why none can be named. */
type Choice =
  | { readonly ok: true; readonly declaration: NodeDeclaration; readonly by: MatchedBy }
  | { readonly ok: false; readonly fault: string };

export interface Assignments {
  readonly assigned: readonly Assignment[];
  /** Nodes for which there is none, or more than one, of the machine configurations. */
  readonly unassigned: readonly { readonly node: string; readonly why: string }[];
  /** Machine configurations without a node. */
  readonly unused: readonly NodeDeclaration[];
}

/**
 * Finds each node's machine configuration. One with a hostname is for the node of that name only. One with labels of its own is for workers with
 * these labels. One with neither is for all nodes of its role.
 * @param given machine configurations by the names of nodes
 */
export function assign(
  nodes: readonly LiveNode[],
  declarations: readonly NodeDeclaration[],
  given: ReadonlyMap<string, NodeDeclaration>,
): Assignments {
  const hosts = declarations.flatMap((declaration) =>
    nodeNames(declaration.configuration).map((name) => ({ name, declaration })),
  );
  const byHostname = Map.groupBy(hosts, ({ name }) => name);
  const shared = declarations.filter(({ configuration }) => nodeNames(configuration).length === 0);
  const declarationFor = (node: LiveNode): Choice => {
    const chosen = given.get(node.name);
    if (chosen) return { ok: true, declaration: chosen, by: '--node' };
    const named = byHostname.get(node.name)?.map(({ declaration }) => declaration);
    if (named) return only(named, 'hostname');
    return byLabelsOrRole(node, shared);
  };

  const assigned: Assignment[] = [];
  const unassigned: { node: string; why: string }[] = [];
  for (const node of nodes) {
    const choice = declarationFor(node);
    if (choice.ok) assigned.push({ node, declaration: choice.declaration, by: choice.by });
    else unassigned.push({ node: node.name, why: choice.fault });
  }
  const used = new Set(assigned.map(({ declaration }) => declaration));
  return { assigned, unassigned, unused: declarations.filter((declaration) => !used.has(declaration)) };
}

function byLabelsOrRole(node: LiveNode, shared: readonly NodeDeclaration[]): Choice {
  const role = ownValue(node.labels, CONTROL_PLANE_KEY) === undefined ? 'worker' : 'controlplane';
  const fitting = shared.filter(({ configuration }) => (configuration.role ?? role) === role);
  const labelled = fitting
    .map((declaration) => ({ declaration, count: carried(node, declaration) }))
    .filter((each): each is { declaration: NodeDeclaration; count: number } => each.count !== undefined);
  const most = Math.max(...labelled.map(({ count }) => count));
  const best = labelled.filter(({ count }) => count === most).map(({ declaration }) => declaration);
  // Workers form pools. Control planes are usually alike, so one without the labels has lost them.
  const plain = fitting.filter(
    (declaration) =>
      declaration.configuration.role === role && (role === 'controlplane' || ownLabels(declaration).size === 0),
  );
  const [candidates, by] = best.length > 0 ? ([best, 'labels'] as const) : ([plain, 'role'] as const);
  return candidates.length > 0
    ? only(candidates, by)
    : {
        ok: false,
        fault: `no file is for a ${role === 'worker' ? 'worker' : 'control plane'} of that name, or with such labels`,
      };
}

/** The candidate, if there is only one. Otherwise the reason names them all. */
function only(candidates: readonly NodeDeclaration[], by: MatchedBy): Choice {
  const [declaration, ...others] = candidates;
  if (declaration !== undefined && others.length === 0) return { ok: true, declaration, by };
  return { ok: false, fault: `it may be ${candidates.map(({ configuration }) => configuration.source).join(' or ')}` };
}

/**
 * How many of the configuration's own labels the node has. Undefined if there are none, or if the node belongs to another configuration. A label that
 * Talos has set and that is missing does not count: that is the drift to find.
 */
function carried({ labels, ownedLabels }: LiveNode, declaration: NodeDeclaration): number | undefined {
  const declared = [...ownLabels(declaration)];
  const states = declared.map(([key, value]) => {
    const live = ownValue(labels, key);
    return live === value ? 'same' : live === undefined && ownedLabels?.has(key) ? 'gone' : 'other';
  });
  if (declared.length === 0 || states.includes('other')) return undefined;
  return states.filter((state) => state === 'same').length;
}
