import { groupViolations, listSubjects, type Violation } from '../judge/decision.ts';
import { isWarning, partsOf, type Result } from '../judge/outcomes.ts';
import type { RecordedEvent, ReviewedObject } from '../kubernetes/event.ts';
import { eventsOnBoth } from '../policy/policy-events.ts';
import type { Judgement } from './admit.ts';
import { type AdmissionRequest, shownUser } from './review.ts';

/** How an outcome is shown: one that needs attention is a Warning. */
interface Wording {
  readonly type: RecordedEvent['type'];
  readonly reason: RecordedEvent['reason'];
  readonly action: string;
  /** What happened to the taints or tolerations that follow. */
  readonly said: string;
  /** Whether a user caused it. A state appears again in each request, and must count as one Event. */
  readonly byUser: boolean;
}

/**
 * The Events of a judged request: one on the object and one on the policy for each policy and outcome. Dry runs have none. Equal
 * requests of one user have equal Events, which are counted as one.
 *
 * All of them depend on the object that the review names. There is none for an object whose name the API server still has to generate, because
 * nothing could confirm it.
 */
export function eventsOf(request: AdmissionRequest, { kind, decision }: Judgement): RecordedEvent[] {
  if (request.dryRun || kind === undefined) return [];
  const reviewed = objectOf(request, kind);
  if (!reviewed) return [];
  const user = shownUser(request);
  return groupViolations(decision.violations).flatMap((violations) => {
    const [first] = violations;
    const wording = wordingOf(first, kind, request.operation);
    if (!wording) return [];
    const { said, byUser } = wording;
    const what = kind === 'Node' ? 'taint' : 'toleration';
    const note = `${said} ${what} ${listSubjects(violations)}${byUser && user ? ` (user ${user})` : ''}`;
    const policy = { kind: first.policyKind, name: first.policy };
    return eventsOnBoth(reviewed, policy, wording, note).map((event) => ({ ...event, reviewed }));
  });
}

function wordingOf({ outcome }: Violation, kind: 'Node' | 'DaemonSet', operation: string): Wording | undefined {
  const { change, result, audit, event } = partsOf(outcome);
  const isAdded = result === 'Added' && audit === undefined;
  // An object that is created without a taint or a toleration has not lost it.
  const isAuditedAsMissing = outcome === 'audited' && (kind === 'DaemonSet' || operation === 'CREATE');
  const isMissing = isAuditedAsMissing || (change === 'Missing' && !isAdded);
  if (kind === 'DaemonSet' && !isMissing && !isAdded) return undefined;
  const what = kind === 'Node' ? 'Taint' : 'Toleration';
  return {
    type: isWarning(outcome) ? 'Warning' : 'Normal',
    reason: isMissing ? `${what}Missing` : isAdded ? `${what}Added` : event.reason,
    action: audit ? 'AllowRequest' : actionOf(result, what),
    said: isAuditedAsMissing ? 'in mode Audit, reports missing' : event.said,
    byUser: !isMissing,
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
    case 'Allowed':
    case 'Reported':
      return 'AllowRequest';
  }
}

/** The object of the request. Undefined if the object cannot be identified. */
function objectOf(request: AdmissionRequest, kind: 'Node' | 'DaemonSet'): ReviewedObject | undefined {
  const { operation } = request;
  // A node has no namespace, whatever the review says.
  const namespace = kind === 'Node' ? '' : request.namespace;
  const name = request.name || text(metadataOf(request.object).name);
  // The API server generates the uid of a new object, and accepts none from a requester.
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

function metadataOf(object: unknown): Record<string, unknown> {
  const metadata = (object as { metadata?: unknown } | null | undefined)?.metadata;
  return typeof metadata === 'object' && metadata !== null ? (metadata as Record<string, unknown>) : {};
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
