import { policiesInForce } from '../cluster/policy-object.ts';
import { type IntolerantPod, intolerantPods, type NodePod } from '../coverage/intolerant-pods.ts';
import { ALLOW_REMOVAL_ANNOTATION, ALLOW_REMOVAL_LIFE_MS } from '../judge/allow-removal.ts';
import { type NodeRecord, withRecord } from '../judge/node-record.ts';
import type { NodeView } from '../judge/node-view.ts';
import { remainingText, STARTUP_TAINT_LIMIT_MS, startupTaintsOn } from '../judge/startup-taints.ts';
import { formatTaint, type Taint } from '../kubernetes/taint.ts';
import { shellWord } from '../kubernetes/text.ts';
import { rfc3339 } from '../kubernetes/time.ts';
import { describeOwner, lastWriter, type ManagedFields } from '../objects/managed-fields.ts';
import { announcedAt, asNode, type NodeObject, taintedSince, viewNode } from '../objects/node-object.ts';
import { compilePolicies } from '../policy/policy-set.ts';
import {
  type Announced,
  type KeptValue,
  type PoliciesOnNode,
  policiesOnNode,
  type TaintOnNode,
  type TaintState,
} from './policies-on-node.ts';
import {
  closing,
  type Facts,
  type FormattedExplanation,
  filled,
  type Level,
  managedFieldsOf,
  namedBy,
  notesOnUnusable,
  type PolicyProblem,
  problemsOf,
  type Step,
  selectedText,
  selectingFirst,
} from './sections.ts';

/** The explanation of a node, as data. */
export interface NodeExplanation extends PoliciesOnNode, Omit<Facts, 'policies'> {
  readonly name: string;
  /** The last field manager of `spec.taints`. */
  readonly writtenBy: ManagedFields | undefined;
  /** When the allow-removal annotation was last written, in RFC 3339, if that is known. */
  readonly announcedAt?: string;
  readonly problems: readonly PolicyProblem[];
  /** Startup taints that have been on the Ready node for longer than {@link STARTUP_TAINT_LIMIT_MS}. */
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
  /** The NodeTaintRecord of that name; undefined if there is none, or if it could not be read. */
  readonly record: NodeRecord | undefined;
}

/** What only the leader knows of a node. */
export interface LeaderOnNode {
  readonly isInConflict: (taint: Taint) => boolean;
  readonly startup: string | undefined;
}

/**
 * Explains a node.
 * @param object as the API server returned it
 * @param leader undefined on other replicas, and for the command
 * @throws MalformedObjectError
 */
export function explainNode(
  object: unknown,
  name: string,
  { policies, now, record, pods, ...facts }: NodeFacts,
  leader?: LeaderOnNode,
): NodeExplanation {
  const node = asNode(object, []);
  const view = viewNode(node, name);
  const explained = policiesOnNode(
    withRecord(view, record, node.metadata.uid ?? undefined),
    policiesInForce(policies),
    {
      audit: facts.audit,
      isInConflict: leader?.isInConflict,
    },
  );
  const announced = announcedAt(node);
  const remaining = remainingOn(node, view, policies, facts.audit, now);
  const selecting = new Set(explained.policies.flatMap(({ policy, unmet }) => (unmet.length === 0 ? [policy] : [])));
  return {
    name,
    ...explained,
    writtenBy: lastWriter(managedFieldsOf(object), ['spec', 'taints']),
    ...(announced === undefined ? {} : { announcedAt: rfc3339(announced) }),
    ...(remaining ? { remainingStartupTaints: remaining } : {}),
    ...(pods ? { intolerantPods: intolerantPods(pods, view.taints, startupOf(view, policies, facts.audit)) } : {}),
    ...(leader?.startup === undefined ? {} : { startup: leader.startup }),
    problems: problemsOf(policies, ({ kind, name }) => kind === 'TaintPolicy' && selecting.has(name)),
    ...facts,
    notes: [...facts.notes, ...notesOnUnusable(policies.filter(({ kind }) => kind === 'TaintPolicy'))],
  };
}

/** See {@link NodeExplanation.remainingStartupTaints}. */
function remainingOn(
  node: NodeObject,
  view: NodeView,
  policies: Facts['policies'],
  audit: boolean,
  now: number,
): NodeExplanation['remainingStartupTaints'] {
  const since = taintedSince(node);
  if (since === undefined || now - since <= STARTUP_TAINT_LIMIT_MS) return undefined;
  const taints = startupOf(view, policies, audit);
  return taints.length === 0 ? undefined : { taints, since, forMs: now - since };
}

function startupOf(view: NodeView, policies: Facts['policies'], audit: boolean): Taint[] {
  return startupTaintsOn(view, compilePolicies(policiesInForce(policies), { audit }).taintPolicies);
}

const LEVELS: Readonly<Record<TaintState, Level>> = {
  missing: 'failed',
  'not-established': 'attention',
  removed: 'attention',
  protected: 'ok',
  startup: 'attention',
  'addition-restricted': 'quiet',
  free: 'quiet',
};

/** Formats the explanation for people. */
export function formatNode(explained: NodeExplanation): FormattedExplanation {
  const { name, taints, policies, writtenBy, intolerantPods: pods = [], remainingStartupTaints: startup } = explained;
  return {
    sections: filled([
      taints.length === 0
        ? { lines: [`node ${name} has no taints, and no policy requires one there`] }
        : {
            head: ['Taint', 'State', 'Why'],
            rows: taints.map((one) => [
              formatTaint(one.taint),
              { text: one.state, level: LEVELS[one.state] },
              why(one, explained),
            ]),
          },
      {
        lines: [
          ...(writtenBy ? [`spec.taints is owned by ${describeOwner(writtenBy)}`] : []),
          ...announcement(explained),
          ...(startup
            ? [`${remainingText(startup.taints, startup.forMs)}: check the agent or controller that removes it`]
            : []),
          ...(explained.startup === undefined ? [] : [explained.startup]),
        ],
      },
      {
        head: ['Pod', 'Does not tolerate'],
        rows: pods.map(({ pod, taints: untolerated }) => [pod, untolerated.map(formatTaint).join(', ')]),
      },
      policies.length === 0
        ? { lines: ['there are no TaintPolicies'] }
        : {
            head: ['TaintPolicy', 'Mode', 'This node'],
            rows: selectingFirst(policies).map(({ policy, mode, unmet, refusesLeaving }) => [
              { text: policy, policy: `TaintPolicy/${policy}` },
              mode,
              `${selectedText(unmet)}${refusesLeaving && unmet.length === 0 ? ', and may not leave with a protected taint' : ''}`,
            ]),
          },
      ...closing(explained),
    ]),
    next: nextStep(explained),
    isWell: taints.every(({ state }) => state !== 'missing'),
  };
}

const WHAT_ANNOUNCED: Record<Announced['state'], string> = {
  allowed: 'may be removed once',
  forbidden: 'may not be removed: a policy allows no removal (spec.removalByAnnotation: Forbidden)',
  idle: 'names no taint of this node that a policy protects',
  unreadable: 'cannot be read',
};

/** The removals that the allow-removal annotation announces, with their times. */
function announcement({ announced, announcedAt: since }: NodeExplanation): string[] {
  if (announced.length === 0) return [];
  const entries = announced.map(({ text, state }) => `${text} ${WHAT_ANNOUNCED[state]}`).join(', ');
  const hours = ALLOW_REMOVAL_LIFE_MS / 3_600_000;
  const end =
    since === undefined
      ? `the leader removes it ${hours} hours after it has first seen it`
      : `written at ${since}, the leader removes it at ${rfc3339(Date.parse(since) + ALLOW_REMOVAL_LIFE_MS)}`;
  return [`annotation ${ALLOW_REMOVAL_ANNOTATION}, not used yet: ${entries}; ${end}`];
}

const policiesOf = ({ by }: TaintOnNode) => [...new Set(by.map(({ policy }) => policy))].join(' and ');
const named = ({ by }: TaintOnNode) => namedBy(by);

function why(one: TaintOnNode, node: PoliciesOnNode): string {
  const { guards = [] } = one;
  const text = taintText(one, node);
  return guards.length === 0 || one.state === 'addition-restricted'
    ? text
    : `${text}; additions restricted by ${namedBy(guards)}`;
}

function taintText(one: TaintOnNode, node: PoliciesOnNode): string {
  switch (one.state) {
    case 'free':
      return 'no policy covers it';
    case 'startup':
      return `startup taint of ${named(one)}, which ${one.untilReady ? 'waits for DaemonSets' : 'taintkeeper does not remove'}`;
    case 'addition-restricted':
      return `every user may remove it; only users that ${namedBy(one.guards ?? [])} exempts may add it`;
    case 'protected':
      return `protected by ${named(one)}`;
    case 'not-established':
      return `not protected yet: it has to stay on the node for a while; ${named(one)}`;
    case 'removed':
      return `removed with permission, by a user that ${policiesOf(one)} exempts, or by annotation, as its NodeTaintRecord says`;
    case 'missing':
      return [`required by ${named(one)}`, whyNotRestored(one, node), ...contradictionText(one)].join('; ');
  }
}

function contradictionText({ contradiction }: TaintOnNode): string[] {
  return contradiction ? [`a node that carries neither gets ${contradiction.winner}: ${contradiction.why}`] : [];
}

function whyNotRestored({ blockedBy, recorded, onlyAudit, kept }: TaintOnNode, { fromLeader }: PoliciesOnNode): string {
  if (kept) return `the node carries ${formatTaint(kept.taint)}, which ${namedBy(kept.by)} protects as well`;
  switch (blockedBy) {
    case undefined:
      if (recorded && !fromLeader) return `the leader does not restore it: ${recorded.message} (${recorded.reason})`;
      return fromLeader ? RESTORING : 'the leader restores it, unless another writer removes it repeatedly';
    case 'ModeDoesNotRestore':
      return onlyAudit
        ? 'only --audit keeps it from being restored'
        : 'no policy requires it in mode Deny or Restore, and none protects it in mode Restore, so it is not restored';
    case 'WouldEvictPods':
      return 'it would evict pods, so it is set only when the node registers';
    case 'OtherValuePresent':
      return 'another value of it comes first';
    case 'Conflict':
      return 'another writer removes it repeatedly, so it is not restored for now';
  }
}

const RESTORING = 'the leader is about to restore it';

function nextStep({ name, taints, problems, fromLeader, intolerantPods: pods = [] }: NodeExplanation): Step {
  const missing = taints.filter(({ state }) => state === 'missing');
  const contradictory = missing.find(({ contradiction }) => contradiction)?.contradiction;
  if (contradictory) {
    const [winner, loser] = contradictory.policies;
    return {
      command: `kubectl edit taintpolicy ${shellWord(loser)}`,
      note: `${winner} and ${loser} require different values: choose one, or let one of the policies leave out this node`,
    };
  }
  const changed = missing.find(({ kept }) => kept);
  if (changed?.kept) return changeBack(name, changed, changed.kept);
  const left = missing.find(({ blockedBy }) => blockedBy === 'ModeDoesNotRestore' || blockedBy === 'WouldEvictPods');
  if (left) return { command: taintCommand(name, left), ...(evicts(left) ? { note: EVICTS } : {}) };
  if (missing.some(({ blockedBy, recorded }) => blockedBy === 'Conflict' || recorded?.reason === 'Conflict')) {
    return {
      command: 'kubectl get events --all-namespaces --field-selector reason=TaintConflict',
      note: 'says who removes it',
    };
  }
  const [waiting] = missing;
  if (problems.length > 0 || (waiting && !fromLeader)) return { command: 'taintkeeper doctor' };
  if (waiting) return { note: `nothing: ${RESTORING}` };
  const removed = taints.find(({ state }) => state === 'removed');
  if (removed) {
    return {
      command: taintCommand(name, removed),
      note: `${evicts(removed) ? `${EVICTS}; ` : ''}sets it again; it stays off until a user sets it`,
    };
  }
  return { note: pods.length > 0 ? PODS_STAY : 'nothing: no required taint is missing' };
}

const PODS_STAY =
  'no required taint is missing; to move the pods that do not tolerate the taints, delete them, or run the descheduler with RemovePodsViolatingNodeTaints';

/** The user announces the removal of one value and sets the other in one request, so that no other addition comes between. */
function changeBack(node: string, one: TaintOnNode, { taint, closedBy, isAnnounced, isRecorded }: KeptValue): Step {
  const kept = formatTaint(taint);
  if (closedBy !== undefined) {
    return {
      command: `kubectl edit taintpolicy ${shellWord(closedBy)}`,
      note: `it protects ${kept} and allows no removal (spec.removalByAnnotation: Forbidden)`,
    };
  }
  const announce = `kubectl annotate --overwrite node ${shellWord(node)} ${ALLOW_REMOVAL_ANNOTATION}=${shellWord(kept)}`;
  const notes = [
    isAnnounced ? 'changes it back' : 'changes it back, in this order',
    ...(evicts(one) ? [EVICTS] : []),
    ...(isRecorded ? [`to keep ${kept} instead: kubectl delete nodetaintrecord ${shellWord(node)}`] : []),
  ];
  const change = taintCommand(node, one);
  return { command: isAnnounced ? change : `${announce} && ${change}`, note: notes.join('; ') };
}

/** A warning for the user who copies a command that sets a NoExecute taint. */
export const EVICTS = 'evicts the pods there that do not tolerate it';

function evicts({ taint }: TaintOnNode): boolean {
  return taint.effect === 'NoExecute';
}

function taintCommand(node: string, { taint, otherValue }: TaintOnNode): string {
  return `kubectl taint ${otherValue ? '--overwrite ' : ''}node ${shellWord(node)} ${shellWord(formatTaint(taint))}`;
}
