import { type ApiError, isTooLarge } from '../../cluster/client/api-error.ts';
import type { Concern } from '../reports.ts';
import type { PerNode } from './per-node.ts';

/** Why an update of a node has no effect. */
export type Refusal =
  /** The API server refused it. */
  | { readonly kind: 'Refused'; readonly error: Pick<ApiError, 'status' | 'reason' | 'message'> }
  /** The API server stored something else. The message is of this program. */
  | { readonly kind: 'Undone'; readonly message: string };

/** The last update of each node, if the API server refused it, or did not store it: a right is missing, or another webhook denies or undoes it. */
export interface Refusals {
  /**
   * The first message of equal refusals is kept: a later one may have another request id or time, and would result in another write of the
   * status of each policy.
   */
  set(node: string, policies: Iterable<string>, refusal: Refusal): void;
  /** The message of the API server, and what to do if the Node is too large. */
  messageOf(node: string): string | undefined;
  /** Deletes the refusal after a write that the API server stored, unless it concerns one of these policies, whose write is left out. */
  clear(node: string, leftOut: readonly string[]): void;
  /** @param text from the message, which names the node */
  concerns(text: (message: string) => string): readonly Concern[];
}

interface KnownRefusal {
  readonly policies: ReadonlySet<string>;
  readonly message: string;
  /** Equal for equal refusals. */
  readonly cause: string;
}

export function trackRefusals(kept: PerNode, onChange: () => void): Refusals {
  const refusals = kept.map<KnownRefusal>();
  return {
    set(node, by, refusal) {
      const message = textOf(node, refusal);
      const policies = new Set(by);
      const cause = [refusal.kind, ...causesOf(refusal), ...policies].join(' ');
      if (refusals.get(node)?.cause === cause) return;
      refusals.set(node, { policies, message, cause });
      onChange();
    },
    messageOf: (node) => refusals.get(node)?.message,
    clear(node, leftOut) {
      const concerned = refusals.get(node)?.policies;
      if (!concerned || leftOut.some((policy) => concerned.has(policy))) return;
      refusals.delete(node);
      onChange();
    },
    concerns: (text) => Array.from(refusals.values(), ({ policies, message }) => ({ policies, text: text(message) })),
  };
}

function textOf(node: string, refusal: Refusal): string {
  if (refusal.kind === 'Undone') return refusal.message;
  const { error } = refusal;
  return isTooLarge(error) ? tooLargeText(node, error.message) : error.message;
}

/** What this program says itself is the same each time. */
function causesOf(refusal: Refusal): readonly unknown[] {
  return refusal.kind === 'Undone' ? [refusal.message] : [refusal.error.status, refusal.error.reason];
}

function tooLargeText(node: string, said: string): string {
  return (
    `node ${node} is too large to be stored, so it gets no taint. ` +
    `Find what fills it, and remove that: kubectl get node ${node} -o json (${said})`
  );
}
