import { eventOf, isWarning, type Result } from '../judge/outcomes.ts';
import { groupViolations, listSubjects, type Violation } from '../judge/violation.ts';
import { eventsOnBoth } from '../policy/reporting/policy-events.ts';
import type { RecordedEvent } from '../policy/reporting/recorded-event.ts';
import { type AdmissionRequest, shownUser } from './admission-review.ts';
import type { Judgement } from './judge-request.ts';
import { objectOf, uidOf } from './request-object.ts';

/** What a policy guards on objects of the kind. */
const GUARDED = { Node: 'Taint', DaemonSet: 'Toleration' } as const;
type Guarded = (typeof GUARDED)[keyof typeof GUARDED];

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
  const what = GUARDED[kind];
  return groupViolations(decision.violations).flatMap((violations) => {
    const [first] = violations;
    const wording = wordingOf(first, what);
    const { said, byUser } = wording;
    const note = `${said} ${what.toLowerCase()} ${listSubjects(violations)}${byUser && user ? ` (user ${user})` : ''}`;
    const policy = { kind: first.policyKind, name: first.policy };
    return eventsOnBoth(reviewed, policy, wording, note).map((event) => ({ ...event, ...confirmation }));
  });
}

function wordingOf(violation: Violation, what: Guarded): Wording {
  const { change, result, audit } = violation;
  return {
    type: isWarning(violation) ? 'Warning' : 'Normal',
    ...eventOf(violation, what),
    action: audit ? 'AllowRequest' : actionOf(result, what),
    // If a missing taint or toleration is not added, it was missing before the request.
    byUser: change === 'Removal' || (result === 'Added' && !audit),
  };
}

function actionOf(result: Result, what: Guarded): string {
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
