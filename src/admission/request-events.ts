import { groupViolations, listSubjects, type Outcome, type Violation } from '../judge/decision.ts';
import type { ObjectReference, RecordedEvent, ReviewedObject } from '../kubernetes/event.ts';
import { printable } from '../kubernetes/text.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import type { Judgement } from './admit.ts';
import { type AdmissionRequest, shownUser } from './review.ts';

/** How an outcome is shown: what is to be looked at is a Warning. */
interface Wording {
  readonly type: RecordedEvent['type'];
  readonly reason: string;
  readonly action: string;
  /** What happened to the taints or tolerations, which follow. */
  readonly said: string;
  /** Whether a user did it. Each request finds a state again, so a state must count as one Event. */
  readonly byUser: boolean;
}

/** The leader reports that a node came back. A request does not show it: a kubelet that starts tries to register a node that already exists. */
const NODE_WORDINGS: Record<Exclude<Outcome, 'returned'>, Wording> & { readonly returned?: undefined } = {
  denied: warning('TaintRemovalDenied', 'DenyRequest', 'refused the removal of'),
  restored: normal('TaintRestored', 'RestoreTaint', 'restored'),
  added: normal('TaintAdded', 'AddTaint', 'added'),
  missing: { ...warning('TaintMissing', 'AllowRequest', 'reports missing'), byUser: false },
  audited: warning('TaintRemoved', 'AllowRequest', 'in mode Audit, allowed the removal of'),
  'would-deny': warning('TaintRemoved', 'AllowRequest', 'would refuse, without --audit, the removal of'),
  'would-restore': warning('TaintRemoved', 'AllowRequest', 'would restore, without --audit, the removed'),
  'would-add': { ...warning('TaintMissing', 'AllowRequest', 'would add, without --audit,'), byUser: false },
  announced: normal('TaintRemovalAnnounced', 'AllowRequest', 'will allow, once, the removal of'),
  'allowed-by-annotation': normal('TaintRemovalAllowed', 'AllowRequest', 'allowed, as announced, the removal of'),
  exempt: normal('TaintRemoved', 'AllowRequest', 'allowed an exempt user to remove'),
  unselected: warning('TaintUnprotected', 'AllowRequest', 'no longer selects the node and so no longer protects'),
  'addition-denied': warning('TaintAdditionDenied', 'DenyRequest', 'refused the addition of'),
  reverted: normal('TaintAdditionReverted', 'RevertTaint', 'took out'),
  'addition-audited': warning('TaintAdded', 'AllowRequest', 'in mode Audit, allowed the addition of'),
  'addition-exempt': normal('TaintAdded', 'AllowRequest', 'allowed an exempt user to add'),
  'unselection-denied': warning('NodeUnselectionDenied', 'DenyRequest', 'refused that the node leaves the policy with'),
  'unselection-audited': warning(
    'TaintUnprotected',
    'AllowRequest',
    'in mode Audit, allowed that the node leaves it with',
  ),
};

/** A node that registers without a taint has not lost it. */
const NODE_CREATION_AUDITED: Wording = {
  ...warning('TaintMissing', 'AllowRequest', 'in mode Audit, reports missing'),
  byUser: false,
};

const DAEMON_SET_WORDINGS: Partial<Record<Outcome, Wording>> = {
  added: normal('TolerationAdded', 'AddToleration', 'added'),
  missing: { ...warning('TolerationMissing', 'AllowRequest', 'reports missing'), byUser: false },
  audited: { ...warning('TolerationMissing', 'AllowRequest', 'in mode Audit, reports missing'), byUser: false },
  'would-add': { ...warning('TolerationMissing', 'AllowRequest', 'would add, without --audit,'), byUser: false },
};

/**
 * The Events of a judged request: one on the object and one on the policy for each policy and outcome. Dry runs have none. Equal
 * requests of one user have equal Events, which are counted as one.
 *
 * All of them depend on the object that the review names. There is none for an object whose name the API server has still to generate:
 * nothing could confirm it.
 */
export function eventsOf(request: AdmissionRequest, { kind, decision }: Judgement): RecordedEvent[] {
  if (request.dryRun || kind === undefined) return [];
  const reviewed = objectOf(request, kind);
  if (!reviewed) return [];
  const title = printable(`${kind} ${reviewed.namespace ? `${reviewed.namespace}/` : ''}${reviewed.name}`);
  const user = shownUser(request);
  return groupViolations(decision.violations).flatMap((violations) => {
    const [first] = violations;
    const wording = wordingOf(first, kind, request.operation);
    if (!wording) return [];
    const { type, reason, action, said, byUser } = wording;
    const what = kind === 'Node' ? 'taint' : 'toleration';
    const acted = first.by === 'native' ? `${said}, by a native policy,` : said;
    const note = `${acted} ${what} ${listSubjects(violations)}${byUser && user ? ` (user ${user})` : ''}`;
    const policy = `${first.policyKind} ${first.policy}`;
    return [
      { regarding: reviewed, reviewed, type, reason, action, note: `${policy} ${note}` },
      { regarding: policyReference(first), reviewed, type, reason, action, note: `${title}: ${note}` },
    ];
  });
}

function wordingOf({ outcome }: Violation, kind: 'Node' | 'DaemonSet', operation: string): Wording | undefined {
  if (kind === 'DaemonSet') return DAEMON_SET_WORDINGS[outcome];
  return operation === 'CREATE' && outcome === 'audited' ? NODE_CREATION_AUDITED : NODE_WORDINGS[outcome];
}

/** What the request is about; undefined where nothing tells one object from all others. */
function objectOf(request: AdmissionRequest, kind: 'Node' | 'DaemonSet'): ReviewedObject | undefined {
  const { operation } = request;
  // Whatever a review says, a node has none.
  const namespace = kind === 'Node' ? '' : request.namespace;
  const name = request.name || text(metadataOf(request.object).name);
  // The API server makes up the uid of a new object, and takes none from a requester.
  const uid = operation === 'UPDATE' ? text(metadataOf(request.oldObject).uid) : '';
  const isKnown = name && (namespace || kind === 'Node') && (uid || operation === 'CREATE');
  if (!isKnown) return undefined;
  return {
    apiVersion: kind === 'Node' ? 'v1' : 'apps/v1',
    kind,
    name,
    ...(namespace ? { namespace } : {}),
    ...(uid ? { uid } : {}),
  };
}

function policyReference({ policyKind, policy }: Violation): ObjectReference {
  return { apiVersion: POLICY_API_VERSION, kind: policyKind, name: policy };
}

function metadataOf(object: unknown): Record<string, unknown> {
  const metadata = (object as { metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === 'object' && metadata !== null ? (metadata as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function warning(reason: string, action: string, said: string): Wording {
  return { type: 'Warning', reason, action, said, byUser: true };
}

function normal(reason: string, action: string, said: string): Wording {
  return { type: 'Normal', reason, action, said, byUser: true };
}
