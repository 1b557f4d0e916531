import type { Static } from 'typebox';
import * as Type from 'typebox';
import { DNS_LABEL_LENGTH, DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import { atMost, shorten, withinBudget } from '../kubernetes/text.ts';
import { rfc3339 } from '../kubernetes/time.ts';
import { harmOfCondition, worstFirst } from './harm.ts';
import type { PolicyKind } from './policy.ts';
import { formatPath, formatProblem, type Path, type Problem } from './problem.ts';
import { CONDITIONS, type ConditionType, type ReportedCondition, type StateOf } from './status-conditions.ts';
import { MAX_POLICY_TOLERATIONS } from './toleration-policy.ts';

/** How many violators a status names: enough for diagnosis, and few enough to keep the object small. */
export const MAX_VIOLATORS = 10;

/** How many patched DaemonSets a status lists: more than clusters have, and few enough for one object. */
export const MAX_PATCHED = 256;

/** The effect of --audit, for `doctor`, `explain` and `export`. The admission policy `taintkeeper-node-metadata` stays in force. */
export const AUDIT_NOTE = 'taintkeeper runs with --audit: policies only report';

/** In the order in which a status lists them. */
const CONDITION_TYPES = Object.keys(CONDITIONS);

type ReadyReason = StateOf<'Ready'>['reason'];
const READY_REASONS = Object.keys(CONDITIONS.Ready.reasons).filter((reason) => reason !== 'InForce') as ReadyReason[];

/** The most items in one message. */
const MAX_PROBLEMS = 16;

/** The maximum length of all items of one message together. */
const MAX_ITEMS_LENGTH = 16_000;

/** The maximum length of a message. The schema allows twice as much, but one message of each type must fit into an object in etcd. */
const MAX_MESSAGE_LENGTH = 16_384;

/** The maximum length of `NAMESPACE/NAME`. */
const MAX_VIOLATOR_LENGTH = 317;

const MAX_UID_LENGTH = 128;

const MAX_TOLERATION_LENGTH = 512;

/** The maximum length of all patched DaemonSets as JSON: 256 with usual names and tolerations need two thirds of it. */
const MAX_PATCHED_LENGTH = 131_072;

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

/** The content of a condition. */
export type ConditionState = Pick<PolicyCondition, 'status' | 'reason' | 'message'>;

/** How the existing objects comply with one policy. */
export interface PolicyFindings {
  /** How many the policy selects. */
  readonly matched: number;
  /** The violators by name (`NAMESPACE/NAME` for DaemonSets and stuck pods), the latest first. */
  readonly violators: readonly string[];
  /** Of a TaintPolicy: on how many nodes an entry of the annotation allow-removal names one of its taints. */
  readonly removalAllowed?: number;
  /** Of a TaintPolicy: how many nodes carry a startup taint that the leader removes when they are ready. */
  readonly waiting?: number;
}

export interface StatusInput {
  readonly kind: PolicyKind;
  /** The current status, if any. */
  readonly before: PolicyStatus | undefined;
  readonly generation: number;
  /** The problems of the policy. */
  readonly problems: readonly Problem[];
  /** The generation that is in force. Undefined if none is. */
  readonly inForce: { readonly generation: number } | undefined;
  /** The effective mode. Undefined if no generation is in force. */
  readonly mode?: string | undefined;
  /** True if every policy counts as mode Audit. */
  readonly audit: boolean;
  /** Warnings about a policy that is in force. */
  readonly notes?: readonly string[];
  /**
   * The reports of the controllers. Reports of the same type become one condition with all messages. A report of Ready with status True is a note,
   * which counts only if the condition Ready is True.
   */
  readonly reported: readonly ReportedCondition[];
  /** The DaemonSets that it has patched. */
  readonly patched?: readonly PatchedDaemonSet[];
  /** Undefined for a policy that cannot be used. */
  readonly findings: PolicyFindings | undefined;
  readonly now: Date;
}

/** The desired status. It equals `before` if only the time changed. */
export function nextPolicyStatus(input: StatusInput): PolicyStatus {
  const { kind, before, generation, mode, audit, patched = [], findings, now } = input;
  const condition = (type: string, state: ConditionState): PolicyCondition => {
    const previous = before?.conditions?.find((one) => one.type === type);
    const lastTransitionTime = previous?.status === state.status ? previous.lastTransitionTime : rfc3339(now.getTime());
    return { type, ...state, observedGeneration: generation, lastTransitionTime };
  };
  const states = statesOf(input);
  return withinLimits({
    observedGeneration: generation,
    conditions: CONDITION_TYPES.flatMap((type) => {
      const state = states.get(type);
      return state ? [condition(type, state)] : [];
    }),
    ...(mode ? { mode } : {}),
    ...(audit ? { audit } : {}),
    ...(kind === 'TolerationRestriction'
      ? {}
      : {
          matched: findings?.matched ?? 0,
          violating: findings?.violators.length ?? 0,
          violators: findings?.violators.slice(0, MAX_VIOLATORS) ?? [],
        }),
    ...(findings?.removalAllowed ? { removalAllowed: findings.removalAllowed } : {}),
    ...(findings?.waiting ? { waiting: findings.waiting } : {}),
    patched: [...patched],
  });
}

/**
 * The status within the limits: the API server refuses the whole status if it exceeds a limit of the schema, and etcd refuses one that is too large.
 * Much of the text comes from annotations, which other users write. A message is cut. A record of a patched DaemonSet is left out, because a part of
 * it would have a different meaning.
 */
function withinLimits({
  conditions,
  violators,
  patched,
  ...rest
}: PolicyStatus & Required<Pick<PolicyStatus, 'conditions' | 'patched'>>): PolicyStatus {
  const recorded = recordable(patched);
  return {
    ...rest,
    conditions: conditions.map((one) => ({ ...one, message: shorten(one.message, MAX_MESSAGE_LENGTH) })),
    ...(violators ? { violators: violators.map((name) => shorten(name, MAX_VIOLATOR_LENGTH)) } : {}),
    ...(recorded.length > 0 ? { patched: recorded } : {}),
  };
}

/** The last records, as many as fit. */
function recordable(patched: readonly PatchedDaemonSet[]): PatchedDaemonSet[] {
  const valid = patched.flatMap((one) => {
    const { namespace, name, uid, installation = '' } = one;
    const fits =
      namespace.length <= DNS_LABEL_LENGTH &&
      name.length <= DNS_SUBDOMAIN_LENGTH &&
      Math.max(uid.length, installation.length) <= MAX_UID_LENGTH;
    const tolerations = one.tolerations.filter((text) => text.length <= MAX_TOLERATION_LENGTH);
    return fits && tolerations.length > 0 ? [{ ...one, tolerations: tolerations.slice(-MAX_POLICY_TOLERATIONS) }] : [];
  });
  const lastFirst = valid.slice(-MAX_PATCHED).reverse();
  return withinBudget(lastFirst, MAX_PATCHED_LENGTH, (one) => JSON.stringify(one).length).reverse();
}

/** The texts of a message, each cut to an equal share of the length. */
function itemsOf(texts: readonly string[]): string[] {
  const items = atMost(MAX_PROBLEMS, texts);
  return items.map((text) => shorten(text, Math.floor(MAX_ITEMS_LENGTH / items.length)));
}

/** The conditions by their type. */
function statesOf(input: StatusInput): ReadonlyMap<string, ConditionState> {
  const states = new Map<string, ConditionState>();
  const reported = worstFirst(
    input.reported.filter((one) => !isNote(one)),
    harmOfCondition,
  );
  for (const [type, [first, ...others]] of Map.groupBy(reported, ({ type }) => type)) {
    if (!first) continue;
    const message = itemsOf(messagesOf([first, ...others])).join('; ');
    states.set(type, { status: first.status, reason: first.reason, message });
  }
  if (input.problems.length > 0 || !states.has('Ready')) states.set('Ready', readiness(input));
  return states;
}

/** Whether the report is a note in the message of a policy that is in force. */
function isNote({ type, status }: ReportedCondition): boolean {
  return type === 'Ready' && status === 'True';
}

/** The messages, each once: two rules of a policy may report the same one. */
function messagesOf(reported: readonly ReportedCondition[]): string[] {
  return [...new Set(reported.map(({ message }) => message))];
}

function readiness({ generation, problems, inForce, audit, notes = [], reported }: StatusInput): StateOf<'Ready'> {
  if (problems.length > 0) {
    const unusable = unusableText(generation, problems);
    return inForce
      ? {
          status: 'False',
          reason: 'EarlierInForce',
          message: `generation ${inForce.generation} stays in force until taintkeeper restarts; ${unusable}`,
        }
      : { status: 'False', reason: 'Invalid', message: `nothing of the policy is in force; ${unusable}` };
  }
  const reportedNotes = reported.filter(isNote);
  const message = [
    `the policy is in force${audit ? ', as Audit: taintkeeper runs with --audit' : ''}`,
    ...itemsOf([...messagesOf(reportedNotes), ...notes]),
  ].join('; ');
  return { status: 'True', reason: firstOf(reportedNotes) ?? 'InForce', message };
}

/** Why a generation of a policy cannot be used. */
export function unusableText(generation: number, problems: readonly Problem[]): string {
  return `generation ${generation} cannot be used: ${itemsOf(problems.map(formatProblem)).join('; ')}`;
}

/** The reason that comes first in the table of conditions. */
function firstOf(notes: readonly ReportedCondition[]): ReadyReason | undefined {
  return READY_REASONS.find((known) => notes.some(({ reason }) => reason === known));
}

/** The ignored fields and the effect, in words. */
export function ignoredText(ignored: readonly Path[]): string {
  const those = ignored.length === 1 ? 'this field; it is' : 'these fields; they are';
  return (
    `${itemsOf(ignored.map(formatPath)).join(', ')}: this version of taintkeeper does not know ${those} ignored, ` +
    'so the policy may do more or less than intended'
  );
}
