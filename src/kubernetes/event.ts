import { printable } from './text.ts';

/** The object of an Event. */
export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  /** Absent for a cluster-scoped object. */
  readonly namespace?: string;
  /** kubectl finds the Events of an object by it. Looked up if absent. */
  readonly uid?: string;
}

export function nodeReference({ name, uid }: { readonly name: string; readonly uid: string }): ObjectReference {
  return { apiVersion: 'v1', kind: 'Node', name, uid };
}

export function daemonSetReference({
  namespace,
  name,
  uid,
}: {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}): ObjectReference {
  return { apiVersion: 'apps/v1', kind: 'DaemonSet', namespace, name, uid };
}

/** The Event's namespace: that of its object, `default` for a cluster-scoped one (as client-go's event recorder). */
export function namespaceOf({ namespace }: ObjectReference): string {
  return namespace || 'default';
}

/** The text on one line of printable characters, shortened with dots to at most `bytes` bytes of UTF-8. */
export function printableWithin(text: string, bytes: number): string {
  // Each character has at least one byte, so the rest of a longer text need not be read.
  const shown = printable(text.slice(0, bytes + 1));
  if (Buffer.byteLength(shown) <= bytes) return shown;
  const kept = Buffer.alloc(bytes - 3);
  const { written } = new TextEncoder().encodeInto(shown, kept);
  // Copied as bytes, because a slice would keep the whole text in memory.
  return `${kept.toString('utf8', 0, written)}...`;
}
