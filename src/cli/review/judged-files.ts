import { nestedTooDeep } from '../../admission/admission-review.ts';
import { type Admission, simulateAdmission } from '../../admission/simulate-admission.ts';
import type { SourceDocument } from '../../files/documents.ts';
import { InputError } from '../../files/input-error.ts';
import type { Reviewable, Reviewables } from '../../files/reviewables.ts';
import { toleratorsIn } from '../../files/tolerators.ts';
import { neededAuthorizations } from '../../judge/request/pod-authorization.ts';
import { DEFAULT_SERVICE_ACCOUNT } from '../../kubernetes/system-users.ts';
import { formatToleration } from '../../kubernetes/toleration.ts';
import { asDaemonSet, refusedTolerations } from '../../objects/daemon-set-object.ts';
import { MalformedObjectError } from '../../objects/object-schema.ts';
import type { PolicySet } from '../../policy/policy-set.ts';
import { formatPath } from '../../policy/problem.ts';
import type { Refusal, Review, ReviewedObject } from './reviewed-objects.ts';

/** The content of one file, or the updates between two. */
export interface ReviewInput extends Reviewables {
  readonly documents: readonly SourceDocument[];
}

/** The decisions about files. */
export interface JudgedFiles extends Review {
  /** What only a cluster can decide. */
  readonly notes: readonly string[];
  /** Why files are left out. */
  readonly faults: readonly string[];
}

/**
 * Judges each file. One with an object that cannot be read does not hide the others.
 * @param namespace of pods that name none
 */
export function judgeFiles(files: readonly ReviewInput[], policies: PolicySet, namespace: string): JudgedFiles {
  const reviewed: ReviewedObject[] = [];
  const others: string[] = [];
  const notes: string[] = [];
  const faults: string[] = [];
  for (const file of files) {
    try {
      const judged = file.reviewables.map((reviewable) => review(reviewable, policies));
      notes.push(...authorizationNotes(file.documents, policies, namespace));
      reviewed.push(...judged);
      others.push(...file.others);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      faults.push(...error.faults);
    }
  }
  return { reviewed, others, notes, faults };
}

function review(reviewable: Reviewable, policies: PolicySet): ReviewedObject {
  const { request, place, locate } = reviewable;
  const describe = (admission: Admission): ReviewedObject => ({
    resource: request.resource.resource,
    namespace: request.namespace,
    name: request.name ?? '',
    operation: request.operation,
    place,
    admission,
    refusals: refusalsOf(reviewable),
  });
  try {
    return describe(simulateAdmission(request, policies));
  } catch (thrown) {
    const error = nestedTooDeep(thrown, request) ?? thrown;
    if (!(error instanceof MalformedObjectError)) throw error;
    throw new InputError([`${locate(error.path)}: ${error.problem}`]);
  }
}

/** Why the API server refuses the object, whatever the policies decide. It validates the object after the webhooks have changed it. */
function refusalsOf({ request: { resource, operation, object }, placeOf }: Reviewable): Refusal[] {
  if (resource.group !== 'apps' || resource.resource !== 'daemonsets' || operation === 'DELETE') return [];
  return refusedTolerations(asDaemonSet(object, ['request', 'object'])).map(({ path, message }) => ({
    place: placeOf(path),
    field: formatPath(path),
    message,
  }));
}

/** A note on TolerationRestrictions, which only an API server can evaluate. */
function authorizationNotes(
  documents: readonly SourceDocument[],
  { tolerationRestrictions }: PolicySet,
  namespace: string,
) {
  if (tolerationRestrictions.length === 0) return [];
  const tolerators = documents.flatMap((document) => toleratorsIn(document, namespace));
  return tolerators.flatMap(({ kind, name, pod }) =>
    neededAuthorizations(pod, tolerationRestrictions).map(({ policy, mode, key, fields, tolerations }) => {
      const tolerated = tolerations.map(formatToleration).join(', ');
      const account = `service account ${pod.namespace}/${pod.serviceAccount || DEFAULT_SERVICE_ACCOUNT}`;
      return (
        `${kind} ${pod.namespace}/${name} ${tolerated === '' ? 'has a nodeName' : `tolerates ${tolerated}`}: TolerationRestriction ${policy} ` +
        `(${fields.join(', ')}, ${mode}) asks whether ${account}${kind === 'Pod' ? ', or the person who creates it,' : ''} may tolerate ` +
        `${key}, which is not known here`
      );
    }),
  );
}
