import type { ObjectReference } from '../../kubernetes/event.ts';
import { printable } from '../../text/printable.ts';
import { POLICY_API_VERSION, type PolicyKind } from '../policy.ts';
import type { RecordedEvent } from './recorded-event.ts';

interface PolicyName {
  readonly kind: PolicyKind;
  readonly name: string;
}

/** The policy as the object of an Event. */
export function policyReference({ kind, name }: PolicyName): ObjectReference {
  return { apiVersion: POLICY_API_VERSION, kind, name };
}

/** Two Events about the same result: one on the object, one on the policy. */
export type EventPair = readonly [onObject: RecordedEvent, onPolicy: RecordedEvent];

/**
 * The Events about what a policy did to an object, or found on it.
 * @param note names neither of them, such as `restored taint dedicated=gpu:NoSchedule`
 * @param noteOnObject for a note that does not say what the policy did
 */
export function eventsOnBoth(
  object: ObjectReference,
  policy: PolicyName,
  { type, reason, action }: Pick<RecordedEvent, 'type' | 'reason' | 'action'>,
  note: string,
  noteOnObject = `${policy.kind} ${policy.name} ${note}`,
): EventPair {
  const title = printable(`${object.kind} ${object.namespace ? `${object.namespace}/` : ''}${object.name}`);
  return [
    { regarding: object, type, reason, action, note: noteOnObject },
    { regarding: policyReference(policy), type, reason, action, note: `${title}: ${note}` },
  ];
}
