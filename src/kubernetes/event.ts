import type { EventReason } from './event-reasons.ts';
import { isDnsSubdomain } from './label-selector.ts';
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

/**
 * The object of an AdmissionReview. Every pod that reaches the webhook can invent one, so no Event is written before the API server has confirmed
 * that it exists with this uid.
 */
export interface ReviewedObject extends ObjectReference {
  readonly uid: string;
}

/** Something that happened, to be shown as an Event (events.k8s.io/v1). */
export interface RecordedEvent {
  readonly regarding: ObjectReference;
  readonly type: 'Normal' | 'Warning';
  /** Why, in CamelCase: users filter by it. */
  readonly reason: EventReason;
  /** What was done, in CamelCase. */
  readonly action: string;
  /** For users. It must not contain values that change each time (ids, times): equal Events are counted as one. */
  readonly note: string;
  /** Undefined for an object that was read from the API server. */
  readonly reviewed?: ReviewedObject;
}

/** The Event's namespace: that of its object, `default` for a cluster-scoped one (as client-go's event recorder). */
export function namespaceOf({ namespace }: ObjectReference): string {
  return namespace || 'default';
}

// The limits of ValidateEventCreate (k8s.io/kubernetes/pkg/apis/core/validation/events.go), which counts bytes.
const NOTE_MAX_BYTES = 1_024;
/** UIDs of Kubernetes have 36 characters. */
const UID_MAX_LENGTH = 253;

/**
 * The event with a note that fits into an Event, on one line of printable characters.
 * @returns undefined if its object cannot exist
 */
export function boundedEvent(event: RecordedEvent): RecordedEvent | undefined {
  for (const { name, namespace, uid = '' } of [event.regarding, ...(event.reviewed ? [event.reviewed] : [])]) {
    if (!isDnsSubdomain(name) || (namespace && !isDnsSubdomain(namespace)) || uid.length > UID_MAX_LENGTH)
      return undefined;
  }
  return { ...event, note: printableWithin(event.note, NOTE_MAX_BYTES) };
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
