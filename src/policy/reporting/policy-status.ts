import type { Static } from 'typebox';
import * as Type from 'typebox';
import { DNS_LABEL_LENGTH, DNS_SUBDOMAIN_LENGTH } from '../../kubernetes/names.ts';
import { MAX_POLICY_TOLERATIONS } from '../toleration-policy.ts';
import { CONDITIONS, type ConditionType } from './status-conditions.ts';

/** How many violators a status names: enough for diagnosis, and few enough to keep the object small. */
export const MAX_VIOLATORS = 10;

/** How many patched DaemonSets a status lists: more than clusters have, and few enough for one object. */
export const MAX_PATCHED = 256;

/** The maximum length of `NAMESPACE/NAME`. */
export const MAX_VIOLATOR_LENGTH = DNS_LABEL_LENGTH + 1 + DNS_SUBDOMAIN_LENGTH;

export const MAX_UID_LENGTH = 128;

export const MAX_TOLERATION_LENGTH = 512;

const INT32_MAX = 2 ** 31 - 1;

const Count = (description: string) => Type.Integer({ description, format: 'int32', minimum: 0, maximum: INT32_MAX });
const Generation = (description: string) =>
  Type.Integer({ description, format: 'int64', minimum: 0, maximum: Number.MAX_SAFE_INTEGER });

/** metav1.Condition, with its own bounds (k8s.io/apimachinery/pkg/apis/meta/v1/types.go). */
const ConditionSchema = Type.Object({
  type: Type.String({
    description: `What the condition is about. ${Object.entries(CONDITIONS)
      .map(([type, { meaning }]) => `${type}: ${meaning}`)
      .join(' ')}`,
    pattern:
      '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
    maxLength: 316,
  }),
  status: Type.Enum(['True', 'False', 'Unknown'], { description: 'Whether the condition holds.' }),
  observedGeneration: Type.Optional(Generation('The metadata.generation that the condition was found for.')),
  lastTransitionTime: Type.String({ description: 'When `status` last changed.', format: 'date-time' }),
  reason: Type.String({
    description: 'Why, in one word for programs.',
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
    minLength: 1,
    maxLength: 1024,
  }),
  message: Type.String({ description: 'Why, in words for people.', maxLength: 32768 }),
});

const PatchedDaemonSetSchema = Type.Object({
  namespace: Type.String({ description: 'Its namespace.', maxLength: DNS_LABEL_LENGTH }),
  name: Type.String({ description: 'Its name.', maxLength: DNS_SUBDOMAIN_LENGTH }),
  uid: Type.String({
    description: 'Its uid: a DaemonSet that is deleted and created again is another one.',
    maxLength: MAX_UID_LENGTH,
  }),
  tolerations: Type.Array(Type.String({ maxLength: MAX_TOLERATION_LENGTH }), {
    description: 'What was added to it, as `key=value:Effect`.',
    maxItems: MAX_POLICY_TOLERATIONS,
  }),
  installation: Type.Optional(
    Type.String({
      description: 'The uid of the service account that added them. They do not count for another installation.',
      maxLength: MAX_UID_LENGTH,
    }),
  ),
});

/** A DaemonSet to which the leader added tolerations while it ran. */
export type PatchedDaemonSet = Static<typeof PatchedDaemonSetSchema>;

/** `status` of all kinds. It contains no time of its own, so that it changes only when something changed. */
export const PolicyStatusSchema = Type.Object(
  {
    observedGeneration: Type.Optional(Generation('The metadata.generation that the status was found for.')),
    conditions: Type.Optional(
      Type.Array(ConditionSchema, {
        description:
          'Ready is there always, and its message names each field that cannot be used. ' +
          `The others: ${presence()}. taintkeeper doctor says what to do about each.`,
        maxItems: 16,
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['type'],
      }),
    ),
    mode: Type.Optional(
      Type.String({
        description: 'The mode in force: Audit, whatever the policy says, where taintkeeper runs with --audit.',
        maxLength: 16,
      }),
    ),
    audit: Type.Optional(
      Type.Boolean({ description: 'True where taintkeeper runs with --audit, so that every policy only reports.' }),
    ),
    matched: Type.Optional(
      Count('How many nodes or DaemonSets the policy selects. A TolerationRestriction has no such counts.'),
    ),
    violating: Type.Optional(
      Count('How many of them differ from the policy; of a RecoveryPolicy, how many pods are stuck.'),
    ),
    violators: Type.Optional(
      Type.Array(Type.String({ maxLength: MAX_VIOLATOR_LENGTH }), {
        description: `Up to ${MAX_VIOLATORS} of those, by name: NODE, or NAMESPACE/NAME of a DaemonSet or of a stuck pod.`,
        maxItems: MAX_VIOLATORS,
      }),
    ),
    removalAllowed: Type.Optional(
      Count(
        'Of a TaintPolicy, on how many nodes the annotation taintkeeper.dev/allow-removal names a taint of the policy: it may be removed, and is not set again.',
      ),
    ),
    waiting: Type.Optional(
      Count(
        'Of a TaintPolicy, how many nodes carry a startup taint of the policy, which the leader removes when the node is ready (ensure: UntilReady).',
      ),
    ),
    patched: Type.Optional(
      Type.Array(PatchedDaemonSetSchema, {
        description:
          'Of a TolerationPolicy with existing: Patch, the DaemonSets to which it has added tolerations while they ran, up to ' +
          `${MAX_PATCHED}, the latest last. One of these tolerations that is removed is not added again.`,
        maxItems: MAX_PATCHED,
      }),
    ),
  },
  { description: 'The observed state of the policy. Written by taintkeeper.' },
);

/** When a status contains each condition, in words. */
function presence(): string {
  const { Ready: _, ...others } = CONDITIONS;
  return Object.entries(others)
    .map(([type, { present }]) => `${type} ${present}`)
    .join(', ');
}

export type PolicyStatus = Static<typeof PolicyStatusSchema>;
export type PolicyCondition = Static<typeof ConditionSchema>;

/** The condition of that type in the status of a policy object. */
export function conditionOf(status: unknown, type: ConditionType): PolicyCondition | undefined {
  return (status as PolicyStatus | undefined)?.conditions?.find((condition) => condition.type === type);
}

/** How many nodes wait with a startup taint, by the status of a policy object. 0 if the status does not contain a number. */
export function waitingIn(status: unknown): number {
  const waiting: unknown = (status as PolicyStatus | null | undefined)?.waiting;
  return Number.isSafeInteger(waiting) ? Math.max(0, Number(waiting)) : 0;
}
