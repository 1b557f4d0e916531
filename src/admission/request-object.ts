import type { ObjectReference } from '../kubernetes/event.ts';
import { valueAt } from '../kubernetes/json.ts';
import type { AdmissionRequest } from './admission-review.ts';
import type { Judgement } from './judge-request.ts';

/** The kinds whose requests are judged, at the API server. */
const KINDS = {
  Node: { apiVersion: 'v1', isNamespaced: false },
  DaemonSet: { apiVersion: 'apps/v1', isNamespaced: true },
} as const;

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
export function objectOf(request: AdmissionRequest, kind: keyof typeof KINDS): ObjectReference | undefined {
  const { apiVersion, isNamespaced } = KINDS[kind];
  const name = nameOf(request);
  if (!name) return undefined;
  // A node has no namespace, whatever the review says.
  if (!isNamespaced) return { apiVersion, kind, name };
  return request.namespace ? { apiVersion, kind, name, namespace: request.namespace } : undefined;
}

/** The name of the request's object. Empty if the API server still has to generate it. */
export function nameOf({ name, object }: AdmissionRequest): string {
  return name || text(valueAt(object, ['metadata', 'name']));
}

/** The uid of an object of the request. Empty if it has none. */
export function uidOf(object: unknown): string {
  return text(valueAt(object, ['metadata', 'uid']));
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
