import { withinBudget } from '../../collections/within-budget.ts';
import { DNS_LABEL_LENGTH, DNS_SUBDOMAIN_LENGTH } from '../../kubernetes/names.ts';
import { rfc3339 } from '../../kubernetes/time.ts';
import { shorten } from '../../text/printable.ts';
import type { PolicyKind } from '../policy.ts';
import type { Problem } from '../problem.ts';
import { MAX_POLICY_TOLERATIONS } from '../toleration-policy.ts';
import { harmOfCondition, worstFirst } from './harm.ts';
import { itemsOf, unusableText } from './policy-messages.ts';
import {
  MAX_PATCHED,
  MAX_TOLERATION_LENGTH,
  MAX_UID_LENGTH,
  MAX_VIOLATOR_LENGTH,
  MAX_VIOLATORS,
  type PatchedDaemonSet,
  type PolicyCondition,
  type PolicyStatus,
} from './policy-status.ts';
import { CONDITIONS, type ReportedCondition, type StateOf } from './status-conditions.ts';

/** In the order in which a status lists them. */
const CONDITION_TYPES = Object.keys(CONDITIONS);

type ReadyReason = StateOf<'Ready'>['reason'];
const READY_REASONS = Object.keys(CONDITIONS.Ready.reasons).filter((reason) => reason !== 'InForce') as ReadyReason[];

/** The maximum length of a message. The schema allows twice as much, but one message of each type must fit into an object in etcd. */
const MAX_MESSAGE_LENGTH = 16_384;

/** The maximum length of all patched DaemonSets as JSON: 256 with usual names and tolerations need two thirds of it. */
const MAX_PATCHED_LENGTH = 131_072;

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
  /** Undefined for a policy that cannot be used. `Unchanged`: those of the current status, because the cluster could not be read. */
  readonly findings: PolicyFindings | 'Unchanged' | undefined;
  readonly now: Date;
}

type Counts = Pick<PolicyStatus, 'matched' | 'violating' | 'violators' | 'removalAllowed' | 'waiting'>;

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
    ...(findings === 'Unchanged' ? countsIn(before) : countsOf(kind, findings)),
    patched: [...patched],
  });
}

function countsOf(kind: PolicyKind, findings: PolicyFindings | undefined): Counts {
  if (kind === 'TolerationRestriction') return {};
  const { matched = 0, violators = [], removalAllowed, waiting } = findings ?? {};
  return {
    matched,
    violating: violators.length,
    violators: violators.slice(0, MAX_VIOLATORS),
    ...(removalAllowed ? { removalAllowed } : {}),
    ...(waiting ? { waiting } : {}),
  };
}

function countsIn({ matched, violating, violators, removalAllowed, waiting }: PolicyStatus = {}): Counts {
  return {
    ...(matched === undefined ? {} : { matched }),
    ...(violating === undefined ? {} : { violating }),
    ...(violators === undefined ? {} : { violators }),
    ...(removalAllowed === undefined ? {} : { removalAllowed }),
    ...(waiting === undefined ? {} : { waiting }),
  };
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

/** The reason that comes first in the table of conditions. */
function firstOf(notes: readonly ReportedCondition[]): ReadyReason | undefined {
  return READY_REASONS.find((known) => notes.some(({ reason }) => reason === known));
}
