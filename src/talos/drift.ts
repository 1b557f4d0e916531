import { own } from '../kubernetes/label-selector.ts';
import { formatTaint, sameTaint, type Taint } from '../kubernetes/taint.ts';
import { isTransientTaintKey } from '../kubernetes/transient-taints.ts';
import type { Declaration } from './declaration.ts';
import { type LiveNode, OWNED_LABELS, OWNED_TAINTS } from './live-node.ts';

/** How a node differs from what its machine configuration declares. */
export interface DriftFinding {
  readonly kind: 'taint' | 'label' | 'annotation';
  /**
   * missing: declared, and not there. different: there, with another value or effect. orphaned: Talos has set it, and it is
   * declared no more. unreadable: Talos does not know any more what it has set, and stops.
   */
  readonly problem: 'missing' | 'different' | 'orphaned' | 'unreadable';
  /** As kubectl writes it, or the annotation's name. */
  readonly live?: string;
  readonly declared?: string;
  /** `file:line:column` of the declaration. */
  readonly at?: string;
  /** The arguments of the kubectl command that brings the node in line. */
  readonly fix: readonly string[];
}

/** Labels that Talos sets for the system extensions of a machine: no machine configuration declares them. */
const EXTENSION_LABELS = 'extensions.talos.dev/';

/**
 * Everything in which the node differs. What the node carries besides is nobody's business here, unless Talos has set it; and
 * of a patch it is not known what else is declared, so that nothing is orphaned by it.
 */
export function driftOf(node: LiveNode, declaration: Declaration): DriftFinding[] {
  const orphans = declaration.configuration.isPatch
    ? []
    : [...orphanedTaints(node, declaration), ...orphanedLabels(node, declaration)];
  return [...taintFindings(node, declaration), ...labelFindings(node, declaration), ...orphans, ...unreadable(node)];
}

function taintFindings({ name, taints: live }: LiveNode, { taints }: Declaration): DriftFinding[] {
  // What comes and goes by itself may be gone for good reasons.
  const lasting = taints.filter(({ key }) => !isTransientTaintKey(key));
  return lasting.flatMap((taint): DriftFinding[] => {
    const declared = formatTaint(taint);
    const found = live.find((other) => sameTaint(other, taint));
    if (found) {
      if ((found.value ?? '') === (taint.value ?? '')) return [];
      const fix = ['taint', 'node', name, declared, '--overwrite'];
      return [{ kind: 'taint', problem: 'different', live: formatTaint(found), declared, at: taint.at, fix }];
    }
    // Talos goes by the key alone: one of another effect is the declared one, changed.
    const changed = live.find(
      (other) => other.key === taint.key && !taints.some((declaredToo) => sameTaint(declaredToo, other)),
    );
    if (!changed)
      return [{ kind: 'taint', problem: 'missing', declared, at: taint.at, fix: ['taint', 'node', name, declared] }];
    const fix = ['taint', 'node', name, declared, removal(changed)];
    return [{ kind: 'taint', problem: 'different', live: formatTaint(changed), declared, at: taint.at, fix }];
  });
}

function orphanedTaints({ name, taints: live, ownedTaints }: LiveNode, { taints }: Declaration): DriftFinding[] {
  return live
    .filter(({ key }) => ownedTaints?.has(key) && !taints.some((taint) => taint.key === key))
    .map((taint) => ({
      kind: 'taint',
      problem: 'orphaned',
      live: formatTaint(taint),
      fix: ['taint', 'node', name, removal(taint)],
    }));
}

function labelFindings({ name, labels: live }: LiveNode, { labels }: Declaration): DriftFinding[] {
  return [...labels].flatMap(([key, { value, at }]): DriftFinding[] => {
    const found = own(live, key);
    if (found === value) return [];
    const declared = `${key}=${value}`;
    const fix = ['label', 'node', name, declared];
    if (found === undefined) return [{ kind: 'label', problem: 'missing', declared, at, fix }];
    const changed = `${key}=${found}`;
    return [{ kind: 'label', problem: 'different', live: changed, declared, at, fix: [...fix, '--overwrite'] }];
  });
}

function orphanedLabels({ name, labels: live, ownedLabels }: LiveNode, { labels }: Declaration): DriftFinding[] {
  return [...(ownedLabels ?? [])]
    .filter((key) => own(live, key) !== undefined && !labels.has(key) && !key.startsWith(EXTENSION_LABELS))
    .map((key) => ({
      kind: 'label',
      problem: 'orphaned',
      live: `${key}=${own(live, key)}`,
      fix: ['label', 'node', name, `${key}-`],
    }));
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
