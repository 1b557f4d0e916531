import { type AdmissionRequest, decodeReview } from '../admission/admission-review.ts';
import { isMapping } from '../kubernetes/json.ts';
import { objectTitle } from '../kubernetes/object-title.ts';
import { POLICY_API_VERSION } from '../policy/policy.ts';
import type { Path } from '../policy/problem.ts';
import { locateField, type SourceDocument } from './documents.ts';
import { InputError } from './input-error.ts';
import { objectsOf } from './kubernetes-objects.ts';

/** A request to judge, with the places of its parts in the input. */
export interface Reviewable {
  readonly request: AdmissionRequest;
  /** `file:line:column` of the object. */
  readonly place: string;
  /** `file:line:column: field` for a path in the review, such as `request`, `object`, `spec`. */
  locate(path: Path): string;
  /** `file:line:column` for a path in the object after the request. */
  placeOf(path: Path): string;
}

export interface Reviewables {
  readonly reviewables: readonly Reviewable[];
  /** The kinds of the other objects, one by one. */
  readonly others: readonly string[];
}

/** What the input does not say about requests made from manifests. */
export interface RequestContext {
  readonly username: string;
  readonly groups: readonly string[];
  /** For DaemonSets that name no namespace. */
  readonly namespace: string;
}

/** Where an object's name is, which locates an object that may be large. */
const NAME: Path = ['metadata', 'name'];

/**
 * The requests of documents: AdmissionReviews as they are, and Nodes and DaemonSets, also within lists, as creations.
 * @throws InputError for a document that is no Kubernetes object, or a review that cannot be read
 */
export function reviewablesOf(documents: readonly SourceDocument[], context: RequestContext): Reviewables {
  const reviewables: Reviewable[] = [];
  const others: string[] = [];
  for (const document of documents) {
    for (const { object, path } of objectsOf(document)) {
      const { apiVersion, kind } = object;
      if (kind === 'AdmissionReview') {
        const decoded = decodeReview(object);
        if (!decoded.ok) throw new InputError([`${document.locate(path)}: ${decoded.message}`]);
        reviewables.push({
          request: decoded.request,
          place: document.locate([...path, 'request', 'object', ...NAME]),
          locate: (below) => locateField(document, [...path, ...below]),
          placeOf: (below) => document.locate([...path, 'request', 'object', ...below]),
        });
      } else if ((kind === 'Node' || kind === 'DaemonSet') && apiVersion === API_VERSIONS[kind]) {
        reviewables.push({
          request: { ...requestFor(kind, object, context), operation: 'CREATE' },
          place: document.locate([...path, ...NAME]),
          locate: ([, , ...below]) => locateField(document, [...path, ...below]),
          placeOf: (below) => document.locate([...path, ...below]),
        });
      } else if (apiVersion === POLICY_API_VERSION) {
        throw new InputError([`${document.locate(path)}: this is a ${kind}: name its file with --policies`]);
      } else {
        others.push(kind);
      }
    }
  }
  return { reviewables, others };
}

/**
 * The updates from each of the old Nodes and DaemonSets to the new one of the same name.
 * @throws InputError where an object is on one side only
 */
export function updatesBetween(
  oldDocuments: readonly SourceDocument[],
  newDocuments: readonly SourceDocument[],
  context: RequestContext,
): Reviewables {
  const { reviewables: before } = reviewablesOf(oldDocuments, context);
  const after = reviewablesOf(newDocuments, context);
  const olds = byIdentity(before);
  byIdentity(after.reviewables);

  const reviewables = after.reviewables.map(({ request, place, locate, placeOf }): Reviewable => {
    const identity = identify(request);
    const old = olds.get(identity);
    olds.delete(identity);
    if (!old) throw new InputError([`${locate([])}: ${identity} has no old object to compare with`]);
    return {
      request: { ...request, operation: 'UPDATE', oldObject: old.request.object },
      place,
      placeOf,
      locate: (path) => (path[1] === 'oldObject' ? old.locate(path) : locate(path)),
    };
  });
  for (const [identity, { locate }] of olds) {
    throw new InputError([`${locate([])}: ${identity} has no new object to compare with`]);
  }
  return { reviewables, others: after.others };
}

function byIdentity(reviewables: readonly Reviewable[]): Map<string, Reviewable> {
  const found = new Map<string, Reviewable>();
  for (const reviewable of reviewables) {
    const identity = identify(reviewable.request);
    if (found.has(identity)) throw new InputError([`${reviewable.locate([])}: ${identity} is there twice`]);
    found.set(identity, reviewable);
  }
  return found;
}

/** The judged versions: other API groups also have a Node. */
const API_VERSIONS = { Node: 'v1', DaemonSet: 'apps/v1' } as const;

const RESOURCES = {
  Node: { group: '', version: 'v1', resource: 'nodes' },
  DaemonSet: { group: 'apps', version: 'v1', resource: 'daemonsets' },
} as const;

function requestFor(kind: 'Node' | 'DaemonSet', object: Record<string, unknown>, context: RequestContext) {
  const metadata = isMapping(object.metadata) ? object.metadata : {};
  const namespace = typeof metadata.namespace === 'string' ? metadata.namespace : context.namespace;
  return {
    uid: 'review',
    resource: RESOURCES[kind],
    ...(typeof metadata.name === 'string' ? { name: metadata.name } : {}),
    ...(kind === 'DaemonSet' ? { namespace } : {}),
    userInfo: { username: context.username, groups: [...context.groups] },
    object,
  };
}

function identify({ resource, namespace, name }: AdmissionRequest): string {
  return objectTitle({ resource: resource.resource, namespace, name });
}
