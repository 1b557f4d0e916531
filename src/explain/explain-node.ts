import { policiesInForce } from '../cluster/policies/policy-object.ts';
import { groupsBy } from '../collections/groups-by.ts';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../judge/allow-removal.ts';
import { harmOfMissingTaint, nextStepFor, whyNotSet } from '../judge/missing-taint.ts';
import type { Keeping } from '../judge/node-drift.ts';
import {
  remainingStartupTaints,
  remainingText,
  STARTUP_TAINT_LIMIT_MS,
  startupTaintsOn,
} from '../judge/startup/remaining-startup-taints.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { describeOwner, lastWriter, type ManagedFields, managedFieldsOf } from '../objects/managed-fields.ts';
import { asNode, type NodeObject, taintedSince, viewNode } from '../objects/node-object.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import { worstFirst } from '../policy/reporting/harm.ts';
import { CONFLICT_EVENTS, EVICTS, taintCommand } from '../policy/reporting/taint-commands.ts';
import { type IntolerantPod, intolerantPods, type NodePod } from '../scheduling/intolerant-pods.ts';
import { shellWord } from '../text/printable.ts';
import type { FormattedExplanation, Level, Section, StateCell, Step } from './display.ts';
import type { Facts } from './explained-facts.ts';
import {
  type AllowEntry,
  type KeepingPolicy,
  type PoliciesOnNode,
  policiesOnNode,
  type TaintOnNode,
  type TaintState,
} from './policies-on-node.ts';
import { namedBy } from './policy-field.ts';
import { notesOnUnusable, type PolicyProblem, problemsOf } from './policy-problems.ts';
import { closing, filled, policyTable } from './sections.ts';

/** The explanation of a node, as data. */
export interface NodeExplanation extends PoliciesOnNode, Omit<Facts, 'policies'> {
  readonly name: string;
  /** The last field manager of `spec.taints`. */
  readonly writtenBy: ManagedFields | undefined;
  readonly problems: readonly PolicyProblem[];
  /** The TaintPolicies that are left out, because no usable spec of them is known. Absent if there are none. */
  readonly unusablePolicies?: readonly string[];
  /** Startup taints that another client has to remove, and that have been on the Ready node for longer than {@link STARTUP_TAINT_LIMIT_MS}. */
  readonly remainingStartupTaints?: {
    readonly taints: readonly Taint[];
    readonly since: number;
    readonly forMs: number;
  };
  /** What its startup taints wait for, as text. */
  readonly startup?: string;
  /** Its pods that do not tolerate its taints. Startup taints do not count: they were often set after the pods. Absent if pods were not read. */
  readonly intolerantPods?: readonly IntolerantPod[];
}

/** The facts besides the node itself. */
export interface NodeFacts extends Facts {
  /** In milliseconds since 1970. */
  readonly now: number;
  /** What the startup taints of the node wait for, as text. */
  readonly startup?: string;
  /** The pods that run on the node; undefined if they were not read. */
  readonly pods?: readonly NodePod[] | undefined;
}

/**
 * Explains a node.
 * @param object as the API server returned it
 * @param isInConflict only the leader knows it: undefined on other replicas, and for the command
 * @throws MalformedObjectError
 */
export function explainNode(
  object: unknown,
  name: string,
  { policies, now, pods, audit, events, notes, startup }: NodeFacts,
  isInConflict?: (taint: Taint) => boolean,
): NodeExplanation {
  const node = asNode(object, []);
  const view = viewNode(node, name);
  const taintPolicyObjects = policies.filter(({ kind }) => kind === 'TaintPolicy');
  const unusable = taintPolicyObjects.filter(({ inForce }) => inForce === undefined);
  const { taintPolicies } = compilePolicies(policiesInForce(policies), { audit });
  const explained = policiesOnNode(view, taintPolicies, { audit, isInConflict });
  const remaining = remainingOn(node, remainingStartupTaints(view, taintPolicies), now);
  const selecting = new Set(explained.policies.flatMap(({ policy, unmet }) => (unmet.length === 0 ? [policy] : [])));
  return {
    name,
    ...explained,
    writtenBy: lastWriter(managedFieldsOf(object), ['spec', 'taints']),
    ...(remaining ? { remainingStartupTaints: remaining } : {}),
    ...(pods ? { intolerantPods: intolerantPods(pods, view.taints, startupTaintsOn(view, taintPolicies)) } : {}),
    problems: problemsOf(taintPolicyObjects, ({ name }) => selecting.has(name)),
    ...(unusable.length > 0 ? { unusablePolicies: unusable.map((policy) => policy.name) } : {}),
    events,
    notes: [...notes, ...notesOnUnusable(taintPolicyObjects)],
    ...(startup === undefined ? {} : { startup }),
  };
}

/** See {@link NodeExplanation.remainingStartupTaints}. */
function remainingOn(
  node: NodeObject,
  taints: readonly Taint[],
  now: number,
): NodeExplanation['remainingStartupTaints'] {
  const since = taintedSince(node);
  if (taints.length === 0 || since === undefined || now - since <= STARTUP_TAINT_LIMIT_MS) return undefined;
  return { taints, since, forMs: now - since };
}

const LEVELS: Readonly<Record<TaintState, Level>> = {
  missing: 'failed',
  'kept-off': 'attention',
  startup: 'attention',
  audited: 'attention',
  protected: 'ok',
  free: 'quiet',
};

/** The state in words, also for the page. */
function wordOf({ state, blockedBy, otherValue }: TaintOnNode): StateCell {
  const level = LEVELS[state];
  if (state !== 'missing') return { text: state, level };
  if (blockedBy === 'Conflict') return { text: 'conflict', level: 'attention' };
  return { text: otherValue ? 'another value' : 'missing', level };
}

/** Formats the explanation for people. */
export function formatNode(explained: NodeExplanation): FormattedExplanation {
  return {
    sections: filled([
      taintSection(explained),
      { lines: factLines(explained) },
      podSection(explained),
      policySection(explained),
      ...closing(explained),
    ]),
    next: nextStep(explained),
    isOk: explained.taints.every(({ state }) => state !== 'missing'),
  };
}

/** The taints that it has or lacks. */
function taintSection(explained: NodeExplanation): Section {
  const { name, taints } = explained;
  return taints.length === 0
    ? { lines: [`node ${name} has no taints, and no policy requires one there`] }
    : {
        head: ['Taint', 'State', 'Why'],
        rows: taints.map((one) => [formatTaint(one.taint), wordOf(one), why(one, explained)]),
      };
}

/** Who wrote the taints, which may be removed, and what startup taints wait for. */
function factLines(explained: NodeExplanation): string[] {
  const { writtenBy, remainingStartupTaints: remaining, startup: startupText } = explained;
  return [
    ...(writtenBy ? [`spec.taints is owned by ${describeOwner(writtenBy)}`] : []),
    ...allowedText(explained),
    ...(remaining
      ? [`${remainingText(remaining.taints, remaining.forMs)}: check the agent or controller that removes it`]
      : []),
    ...(startupText === undefined ? [] : [startupText]),
  ];
}

/** Its pods that do not tolerate its taints. */
function podSection({ intolerantPods: pods = [] }: NodeExplanation): Section {
  return {
    head: ['Pod', 'Does not tolerate'],
    rows: pods.map(({ pod, taints: untolerated }) => [pod, untolerated.map(formatTaint).join(', ')]),
  };
}

/** Which policies select it. */
function policySection({ policies }: NodeExplanation): Section {
  return policyTable(policies, {
    head: ['TaintPolicy', 'Mode', 'This node'],
    none: 'there are no TaintPolicies',
    cellOf: ({ policy }) => ({ text: policy, policy: `TaintPolicy/${policy}` }),
  });
}

const WHAT_ALLOWED: Record<AllowEntry['state'], string> = {
  allowed: `may be removed; the leader deletes the entry once both have stood together for ${ALLOW_REMOVAL_LIFE_MS / 3_600_000} hour`,
  'kept-off': 'is not set again while the entry stands',
  forbidden: 'has no effect: a policy does not allow removal by annotation (spec.removalByAnnotation: Forbidden)',
  idle: 'names no taint that a policy protects or requires on this node',
  unreadable: 'cannot be read',
};

/** What the annotation allow-removal says. */
function allowedText({ allowed }: NodeExplanation): string[] {
  if (allowed.length === 0) return [];
  return [
    `annotation ${ALLOW_REMOVAL_ANNOTATION}: ${allowed.map(({ text, state }) => `${text} ${WHAT_ALLOWED[state]}`).join(', ')}`,
  ];
}

const named = ({ by }: TaintOnNode) => namedBy(by);

function why(one: TaintOnNode, node: PoliciesOnNode): string {
  switch (one.state) {
    case 'free':
      return one.otherValue ? otherValueText(one) : 'no policy covers it';
    case 'startup':
      return `startup taint of ${named(one)}, which ${one.untilReady ? 'stays until readyWhen holds' : 'taintkeeper does not remove'}`;
    case 'protected':
    case 'audited':
      return protectionText(one);
    case 'kept-off':
      return `required by ${named(one)}; an entry of annotation ${ALLOW_REMOVAL_ANNOTATION} keeps it off`;
    case 'missing':
      return [`required by ${named(one)}`, whyMissing(one, node), ...contradictionText(one)].join('; ');
  }
}

/** The leader removes a startup taint only with a value that a policy sets. */
function otherValueText(one: TaintOnNode): string {
  return `carries another value than ${named(one)} ${one.by.length === 1 ? 'sets' : 'set'}: taintkeeper does not remove it`;
}

/** A policy in mode Audit protects nothing. */
function protectionText({ by }: TaintOnNode): string {
  const protecting = by.filter(({ mode }) => mode !== 'Audit');
  const reporting = by.filter(({ mode }) => mode === 'Audit');
  return [
    protecting.length > 0 ? `protected by ${namedBy(protecting)}` : 'not protected',
    ...(reporting.length > 0 ? [`its removal is only reported, by ${namedBy(reporting)}`] : []),
  ].join('; ');
}

function contradictionText({ contradiction }: TaintOnNode): string[] {
  return contradiction ? [`a node that registers gets ${contradiction.winner}: ${contradiction.why}`] : [];
}

function whyMissing({ blockedBy, onTrial, kept }: TaintOnNode, { fromLeader }: PoliciesOnNode): string {
  if (kept && blockedBy === 'OtherValuePresent')
    return `the node carries ${formatTaint(kept.taint)}, which ${keptBy(kept.by)}`;
  if (blockedBy === undefined && !fromLeader) return 'the leader sets it, unless another writer removes it repeatedly';
  return whyNotSet(blockedBy, { onTrial });
}

const KEEPS: Readonly<Record<Keeping, string>> = {
  Protects: 'protects',
  ProtectsOnOtherNodes: 'protects on other nodes',
  SetsOnOtherNodes: 'sets on other nodes',
};

/** For example `a (Deny, spec.taints[0]) protects, and b (Restore, spec.taints[0]) sets on other nodes`. */
function keptBy(by: readonly KeepingPolicy[]): string {
  const groups = groupsBy(by, ({ keeping }) => keeping);
  return groups.map((alike) => `${namedBy(alike)} ${KEEPS[alike[0].keeping]}`).join(', and ');
}

function nextStep({
  name,
  taints,
  problems,
  fromLeader,
  intolerantPods: pods = [],
  unusablePolicies = [],
}: NodeExplanation): Step {
  const missing = worstFirst(
    taints.filter(({ state }) => state === 'missing'),
    // A mode that does not restore is Audit. With every other reason, the mode does not matter.
    ({ blockedBy }) => harmOfMissingTaint(blockedBy, 'Audit'),
  );
  const contradictory = missing.find(({ contradiction }) => contradiction)?.contradiction;
  if (contradictory) {
    const [winner, loser] = contradictory.policies;
    return {
      command: `kubectl edit taintpolicy ${shellWord(loser)}`,
      note: `${winner} and ${loser} require different values: choose one, or let one of the policies leave out this node`,
    };
  }
  const [worst] = missing;
  if (worst) {
    switch (nextStepFor(worst.blockedBy)) {
      case 'StopWriter':
        return { command: CONFLICT_EVENTS, note: 'says who removes it' };
      case 'SetTaint':
        return { command: commandFor(name, worst), ...(evicts(worst) ? { note: EVICTS } : {}) };
      case 'ChooseValue':
        return { command: 'taintkeeper doctor' };
      case 'Wait':
        return problems.length === 0 && fromLeader
          ? { note: `nothing: ${whyNotSet(undefined)}` }
          : { command: 'taintkeeper doctor' };
    }
  }
  if (problems.length > 0) return { command: 'taintkeeper doctor' };
  const keptOff = taints.find(({ state }) => state === 'kept-off');
  if (keptOff) {
    return {
      command: commandFor(name, keptOff),
      note: `${evicts(keptOff) ? `${EVICTS}; ` : ''}sets it again, and ends the entry of the annotation`,
    };
  }
  if (unusablePolicies.length > 0) return { command: 'taintkeeper doctor', note: OTHERS_UNKNOWN };
  return { note: pods.length > 0 ? PODS_STAY : 'nothing: no required taint is missing' };
}

const OTHERS_UNKNOWN = 'no taint is missing that a usable policy requires; some TaintPolicies cannot be used';

const PODS_STAY =
  'no required taint is missing; to move the pods that do not tolerate the taints, delete them, or run the descheduler with RemovePodsViolatingNodeTaints';

function evicts({ taint }: TaintOnNode): boolean {
  return taint.effect === 'NoExecute';
}

function commandFor(node: string, { taint, otherValue = false }: TaintOnNode): string {
  return taintCommand([node], [formatTaint(taint)], otherValue);
}
