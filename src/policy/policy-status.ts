import type { Static } from 'typebox';
import * as Type from 'typebox';
import { atMost, rfc3339 } from '../kubernetes/text.ts';
import type { PolicyKind } from './policy.ts';
import { formatPath, formatProblem, type Path, type Problem } from './problem.ts';
import { CONDITIONS, type ConditionType, type ReportedCondition, type StateOf } from './status-conditions.ts';

/** How many violators a status names: enough for diagnosis, and few enough to keep the object small. */
export const MAX_VIOLATORS = 10;

/** How many patched DaemonSets a status lists: more than clusters have, and few enough for one object. */
export const MAX_PATCHED = 256;

/** What --audit means, for `doctor`, `explain` and `export`. The admission policy `taintkeeper-node-annotations` stays in force. */
export const AUDIT_NOTE = 'taintkeeper runs with --audit: policies only report';

/** In the order in which a status lists them. */
const CONDITION_TYPES = Object.keys(CONDITIONS);

/** The number of items in one message. */
const MAX_PROBLEMS = 16;

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
  namespace: Type.String({ description: 'Its namespace.', maxLength: 63 }),
  name: Type.String({ description: 'Its name.', maxLength: 253 }),
  uid: Type.String({
    description: 'Its uid: a DaemonSet that is deleted and created again is another one.',
    maxLength: 128,
  }),
  tolerations: Type.Array(Type.String({ maxLength: 512 }), {
    description: 'What was added to it, as `key=value:Effect`.',
    maxItems: 64,
  }),
  installation: Type.Optional(
    Type.String({
      description: 'The uid of the service account that added them. They do not count for another installation.',
      maxLength: 128,
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
      Type.Array(Type.String({ maxLength: 317 }), {
        description: `Up to ${MAX_VIOLATORS} of those, by name: NODE, or NAMESPACE/NAME of a DaemonSet or of a stuck pod.`,
        maxItems: MAX_VIOLATORS,
      }),
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

/** When a status has each condition, as text. */
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

/** The content of a condition. */
export type ConditionState = Pick<PolicyCondition, 'status' | 'reason' | 'message'>;

/** How the existing objects comply with one policy. */
export interface PolicyFindings {
  /** How many the policy selects. */
  readonly matched: number;
  /** The violators by name (`NAMESPACE/NAME` for DaemonSets and stuck pods), the latest first. */
  readonly violators: readonly string[];
}

interface InForce {
  readonly generation: number;
  readonly ignored: readonly Path[];
}

export interface StatusInput {
  readonly kind: PolicyKind;
  /** The current status, if any. */
  readonly before: PolicyStatus | undefined;
  readonly generation: number;
  /** The problems of the policy. */
  readonly problems: readonly Problem[];
  /** The part that is in force, if any. `ignored` are fields that this version does not know. */
  readonly inForce: InForce | undefined;
  /** The effective mode, if anything is in force. */
  readonly mode?: string | undefined;
  /** True if every policy counts as mode Audit. */
  readonly audit: boolean;
  /** Warnings about a policy that is in force. */
  readonly notes?: readonly string[];
  /** The reports of the controllers. Several of one type become one condition with all messages. */
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
  return {
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
    ...(patched.length > 0 ? { patched: patched.slice(-MAX_PATCHED) } : {}),
  };
}

/** By type. */
function statesOf(input: StatusInput): ReadonlyMap<string, ConditionState> {
  const { inForce, problems } = input;
  const states = new Map<string, ConditionState>();
  for (const [type, [first, ...others]] of Map.groupBy(input.reported, ({ type }) => type)) {
    if (!first) continue;
    const messages = [first, ...others].map(({ message }) => message);
    states.set(type, {
      status: first.status,
      reason: first.reason,
      message: atMost(MAX_PROBLEMS, messages).join('; '),
    });
  }
  if (problems.length > 0 || !states.has('Ready')) states.set('Ready', readiness(input));
  if (inForce && inForce.ignored.length > 0) states.set('FieldsIgnored', ignorance(inForce.ignored));
  return states;
}

function readiness({ generation, problems, inForce, audit, notes = [] }: StatusInput): StateOf<'Ready'> {
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
  const message = [
    `the policy is in force${audit ? ', as Audit: taintkeeper runs with --audit' : ''}`,
    ...atMost(MAX_PROBLEMS, notes),
  ].join('; ');
  return { status: 'True', reason: 'InForce', message };
}

/** Why a generation of a policy cannot be used. */
export function unusableText(generation: number, problems: readonly Problem[]): string {
  return `generation ${generation} cannot be used: ${atMost(MAX_PROBLEMS, problems.map(formatProblem)).join('; ')}`;
}

function ignorance(ignored: readonly Path[]): ConditionState {
  return {
    status: 'True',
    reason: 'UnknownFields',
    message:
      `${atMost(MAX_PROBLEMS, ignored.map(formatPath)).join(', ')}: this version of taintkeeper does not know ` +
      `${ignored.length === 1 ? 'this field' : 'these fields'}; they are ignored, so the policy may do more or less than intended`,
  };
}
