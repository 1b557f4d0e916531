import { groupViolations, listSubjects, type Violation } from '../judge/decision.ts';
import { eventOf, isWarning, type Result } from '../judge/outcomes.ts';
import type { ObjectReference } from '../kubernetes/event.ts';
import { valueAt } from '../kubernetes/json.ts';
import { eventsOnBoth } from '../policy/policy-events.ts';
import type { RecordedEvent } from '../policy/recorded-event.ts';
import { type AdmissionRequest, shownUser } from './admission-review.ts';
import type { Judgement } from './judge-request.ts';

/** The parts of an Event that depend on the outcome. */
interface Wording {
  readonly type: RecordedEvent['type'];
  readonly reason: RecordedEvent['reason'];
  readonly action: string;
  /** What happened to the taints or tolerations that follow. */
  readonly said: string;
  /** Whether the note names the user. A state that no user caused appears in the requests of all users, and must count as one Event. */
  readonly byUser: boolean;
}

/**
 * The Events of a judged request: one on the object and one on the policy for each policy and outcome. Dry runs have none. Equal
 * requests of one user have equal Events, which are counted as one.
 *
 * @param createdUid the uid of the object that the request created, confirmed by the API server. Without it, a request that creates an object has no
 *   Events.
 */
export function eventsOf(
  request: AdmissionRequest,
  { kind, decision }: Pick<Judgement, 'kind' | 'decision'>,
  createdUid?: string,
): RecordedEvent[] {
  if (request.dryRun || kind === undefined) return [];
  const object = objectOf(request, kind);
  const uid = request.operation === 'CREATE' ? createdUid : uidOf(request.oldObject);
  if (!object || !uid) return [];
  const reviewed = { ...object, uid };
  const confirmation = request.operation === 'CREATE' ? {} : { reviewed };
  const user = shownUser(request);
  return groupViolations(decision.violations).flatMap((violations) => {
    const [first] = violations;
    const wording = wordingOf(first, kind);
    const { said, byUser } = wording;
    const what = kind === 'Node' ? 'taint' : 'toleration';
    const note = `${said} ${what} ${listSubjects(violations)}${byUser && user ? ` (user ${user})` : ''}`;
    const policy = { kind: first.policyKind, name: first.policy };
    return eventsOnBoth(reviewed, policy, wording, note).map((event) => ({ ...event, ...confirmation }));
  });
}

function wordingOf(violation: Violation, kind: 'Node' | 'DaemonSet'): Wording {
  const { change, result, audit } = violation;
  const what = kind === 'Node' ? 'Taint' : 'Toleration';
  return {
    type: isWarning(violation) ? 'Warning' : 'Normal',
    ...eventOf(violation, what),
    action: audit ? 'AllowRequest' : actionOf(result, what),
    // If a missing taint or toleration is not added, it was missing before the request.
    byUser: change === 'Removal' || (result === 'Added' && !audit),
  };
}

function actionOf(result: Result, what: 'Taint' | 'Toleration'): string {
  switch (result) {
    case 'Denied':
      return 'DenyRequest';
    case 'Restored':
      return `Restore${what}`;
    case 'Added':
      return `Add${what}`;
    case 'Audited':
    case 'AllowedByAnnotation':
    case 'AllowedByExemption':
    case 'Reported':
      return 'AllowRequest';
  }
}

/**
 * The object that an allowed request creates, if all goes well: the API server then asks other webhooks, and refuses the name of an existing
 * object. Undefined for other requests, for dry runs, and for an object whose name the API server generates.
 */
export function objectToCreate(
  request: AdmissionRequest,
  { kind, decision }: Pick<Judgement, 'kind' | 'decision'>,
): ObjectReference | undefined {
  const { operation, dryRun } = request;
  if (operation !== 'CREATE' || dryRun || kind === undefined || decision.action === 'deny') return undefined;
  return objectOf(request, kind);
}

/** The object of the request, without its uid. Undefined if its name is not known. */
function objectOf(request: AdmissionRequest, kind: 'Node' | 'DaemonSet'): ObjectReference | undefined {
  // A node has no namespace, whatever the review says.
  const namespace = kind === 'Node' ? '' : request.namespace;
  const name = nameOf(request);
  if (!name || !(namespace || kind === 'Node')) return undefined;
  return {
    apiVersion: kind === 'Node' ? 'v1' : 'apps/v1',
    kind,
    name,
    ...(namespace ? { namespace } : {}),
  };
}

/** The name of the request's object. Empty if the API server still has to generate it. */
export function nameOf({ name, object }: AdmissionRequest): string {
  return name || text(valueAt(object, ['metadata', 'name']));
}

function uidOf(object: unknown): string {
  return text(valueAt(object, ['metadata', 'uid']));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
