import type { ObjectReference } from '../../kubernetes/event.ts';
import { isDnsSubdomain } from '../../kubernetes/names.ts';
import { printableWithin } from '../../text/printable.ts';
import type { EventReason } from './event-reasons.ts';

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
