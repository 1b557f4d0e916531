import { ownValue } from '../kubernetes/label-selector.ts';
import { formatTaint, sameTaint, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import { mayKubeletSet } from './kubelet-labels.ts';
import type { LiveNode } from './live-node.ts';
import type { NodeDeclaration } from './node-declaration.ts';
import { OWNED_LABELS, OWNED_TAINTS } from './owned-annotations.ts';
import { isByKubelet } from './refused-taints.ts';

/** How a node differs from what its machine configuration declares. */
export interface DriftFinding {
  readonly kind: 'taint' | 'label' | 'annotation';
  /**
   * missing: declared, and not on the node. different: on the node with another value or effect. orphaned: Talos has set it, and it is no longer
   * declared. claimed: an annotation of a worker says the same of what Talos may not set there. unreadable: Talos' record of what it has set is
   * invalid, and Talos stops.
   */
  readonly problem: 'missing' | 'different' | 'orphaned' | 'claimed' | 'unreadable';
  /** As kubectl writes it, or the name of the annotation. */
  readonly live?: string;
  readonly declared?: string;
  /** `file:line:column` of the declaration. */
  readonly at?: string;
  /** The arguments of the kubectl command that repairs the node. Absent for a claim. */
  readonly fix?: readonly string[];
  /**
   * For a claim, the arguments of kubectl commands. `removal` removes the taint or label, which another user may have set to isolate the node; it is
   * absent where the kubelet registers with the taint. `release` removes Talos' record: what is on the node stays, and Talos leaves it alone.
   */
  readonly claim?: { readonly removal?: readonly string[]; readonly release: readonly string[] };
}

/** Labels that Talos sets for system extensions. No machine configuration declares them. */
const EXTENSION_LABELS = 'extensions.talos.dev/';

/**
 * All differences of the node. What other writers have added to the node does not count. A patch does not say what else is declared, so a patch makes
 * nothing orphaned.
 */
export function driftOf(node: LiveNode, declaration: NodeDeclaration): DriftFinding[] {
  const orphans = declaration.configuration.isPatch
    ? []
    : [...orphanedTaints(node, declaration), ...orphanedLabels(node, declaration)];
  return [...taintFindings(node, declaration), ...labelFindings(node, declaration), ...orphans, ...unreadable(node)];
}

function taintFindings({ name, taints: live }: LiveNode, { taints }: NodeDeclaration): DriftFinding[] {
  // A transient taint may be missing for good reasons.
  const lasting = taints.filter(({ key }) => !isTransientTaintKey(key));
  return lasting.flatMap((taint): DriftFinding[] => {
    const declared = formatTaint(taint);
    const carried = live.find((other) => sameTaint(other, taint));
    if (carried) {
      if ((carried.value ?? '') === (taint.value ?? '')) return [];
      const fix = ['taint', 'node', name, declared, '--overwrite'];
      return [{ kind: 'taint', problem: 'different', live: formatTaint(carried), declared, at: taint.at, fix }];
    }
    // Talos compares only the key: one with another effect is the declared one with a change.
    const changed = live.find(
      (other) => other.key === taint.key && !taints.some((declaredToo) => sameTaint(declaredToo, other)),
    );
    if (!changed)
      return [{ kind: 'taint', problem: 'missing', declared, at: taint.at, fix: ['taint', 'node', name, declared] }];
    const fix = ['taint', 'node', name, declared, removal(changed)];
    return [{ kind: 'taint', problem: 'different', live: formatTaint(changed), declared, at: taint.at, fix }];
  });
}

function orphanedTaints({ name, taints: live, ownedTaints }: LiveNode, declaration: NodeDeclaration): DriftFinding[] {
  const isAdmin = setsAsAdmin(declaration);
  const isDeclared = (key: string) => declaration.taints.some((taint) => taint.key === key);
  // Talos does not count what the kubelet registers with.
  const byTalos = new Set(
    declaration.configuration.taints.filter((taint) => !isByKubelet(taint)).map(({ value }) => value.key),
  );
  return live
    .filter(({ key }) => ownedTaints?.has(key) && !(isAdmin ? isDeclared(key) : byTalos.has(key)))
    .map((taint) => {
      const fix = ['taint', 'node', name, removal(taint)];
      return isAdmin
        ? { kind: 'taint', problem: 'orphaned', live: formatTaint(taint), fix }
        : claimed('taint', formatTaint(taint), name, isDeclared(taint.key) ? undefined : fix, OWNED_TAINTS);
    });
}

/**
 * Whether Talos changes the node as an administrator. On workers it has the kubelet's identity: NodeRestriction lets a kubelet write any annotation
 * of its own node, but change no taint and few labels of Kubernetes.
 */
function setsAsAdmin({ configuration: { role } }: NodeDeclaration): boolean {
  return role === 'controlplane';
}

/**
 * What Talos may not set: a kubelet can write the annotation that names it. Up to 1.13, Talos asks for its removal with each update, as the kubelet, and
 * the whole update is refused (NodeApplyController).
 */
function claimed(
  kind: DriftFinding['kind'],
  live: string,
  node: string,
  removal: readonly string[] | undefined,
  annotation: string,
): DriftFinding {
  const release = ['annotate', 'node', node, `${annotation}-`];
  return { kind, problem: 'claimed', live, claim: { ...(removal ? { removal } : {}), release } };
}

function labelFindings({ name, labels: live }: LiveNode, { labels }: NodeDeclaration): DriftFinding[] {
  return [...labels].flatMap(([key, { value, at }]): DriftFinding[] => {
    const liveValue = ownValue(live, key);
    if (liveValue === value) return [];
    const declared = `${key}=${value}`;
    const fix = ['label', 'node', name, declared];
    if (liveValue === undefined) return [{ kind: 'label', problem: 'missing', declared, at, fix }];
    const changed = `${key}=${liveValue}`;
    return [{ kind: 'label', problem: 'different', live: changed, declared, at, fix: [...fix, '--overwrite'] }];
  });
}

function orphanedLabels({ name, labels: live, ownedLabels }: LiveNode, declaration: NodeDeclaration): DriftFinding[] {
  return [...(ownedLabels ?? [])]
    .filter(
      (key) => ownValue(live, key) !== undefined && !declaration.labels.has(key) && !key.startsWith(EXTENSION_LABELS),
    )
    .map((key) => {
      const fix = ['label', 'node', name, `${key}-`];
      const text = `${key}=${ownValue(live, key)}`;
      return setsAsAdmin(declaration) || mayKubeletSet(key)
        ? { kind: 'label', problem: 'orphaned', live: text, fix }
        : claimed('label', text, name, fix, OWNED_LABELS);
    });
}

function unreadable({ name, ownedTaints, ownedLabels }: LiveNode): DriftFinding[] {
  const annotations = [...(ownedTaints ? [] : [OWNED_TAINTS]), ...(ownedLabels ? [] : [OWNED_LABELS])];
  return annotations.map((live) => ({
    kind: 'annotation',
    problem: 'unreadable',
    live,
    fix: ['annotate', 'node', name, `${live}-`],
  }));
}

/** As an argument of `kubectl taint`. */
function removal({ key, effect }: Taint): string {
  return `${key}:${effect}-`;
}
