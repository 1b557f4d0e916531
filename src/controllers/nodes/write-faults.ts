import { type ApiError, isTooLarge } from '../../cluster/client/api-error.ts';
import type { Concern } from './concerns.ts';
import type { PerNode } from './per-node.ts';

/** Why an update of a node has no effect. */
export type WriteFault =
  /** The API server refused it. */
  | { readonly kind: 'Refused'; readonly error: Pick<ApiError, 'status' | 'reason' | 'message'> }
  /** The API server stored something else. The message is of this program. */
  | { readonly kind: 'Undone'; readonly message: string };

/** The last update of each node, if the API server refused it, or did not store it: a right is missing, or another webhook denies or undoes it. */
export interface WriteFaults {
  /**
   * The first message of equal faults is kept: a later one may have another request id or time, and would result in another write of the
   * status of each policy.
   */
  set(node: string, policies: Iterable<string>, fault: WriteFault): void;
  has(node: string): boolean;
  /** Deletes the fault after a write that the API server stored, unless it concerns one of these policies, whose write is left out. */
  clear(node: string, leftOut: readonly string[]): void;
  /** @param text from the message, which names the node */
  concerns(text: (message: string) => string): readonly Concern[];
}

interface KnownFault {
  readonly policies: ReadonlySet<string>;
  /** That of the API server, and what to do if the Node is too large. */
  readonly message: string;
  /** Equal for equal faults. */
  readonly cause: string;
}

export function trackWriteFaults(kept: PerNode, onChange: () => void): WriteFaults {
  const faults = kept.map<KnownFault>();
  return {
    set(node, by, fault) {
      const message = textOf(node, fault);
      const policies = new Set(by);
      const cause = [fault.kind, ...causesOf(fault), ...policies].join(' ');
      if (faults.get(node)?.cause === cause) return;
      faults.set(node, { policies, message, cause });
      onChange();
    },
    has: (node) => faults.has(node),
    clear(node, leftOut) {
      const concerned = faults.get(node)?.policies;
      if (!concerned || leftOut.some((policy) => concerned.has(policy))) return;
      faults.delete(node);
      onChange();
    },
    concerns: (text) => Array.from(faults.values(), ({ policies, message }) => ({ policies, text: text(message) })),
  };
}

function textOf(node: string, fault: WriteFault): string {
  if (fault.kind === 'Undone') return fault.message;
  const { error } = fault;
  return isTooLarge(error) ? tooLargeText(node, error.message) : error.message;
}

/** What this program says itself is the same each time. */
function causesOf(fault: WriteFault): readonly unknown[] {
  return fault.kind === 'Undone' ? [fault.message] : [fault.error.status, fault.error.reason];
}

function tooLargeText(node: string, said: string): string {
  return (
    `node ${node} is too large to be stored, so it gets no taint. ` +
    `Find what fills it, and remove that: kubectl get node ${node} -o json (${said})`
  );
}
