import type { AdmissionRequest } from '../../../src/admission/admission-review.ts';

interface Options {
  readonly object: unknown;
  readonly oldObject?: unknown;
  readonly user?: { username: string; groups: string[] };
  readonly namespace?: string;
}

const base = { uid: '705ab4f5-6393-11e8-b7cc-42010a800002', userInfo: { username: 'dev', groups: ['developers'] } };

/** A request about a Node: an update if there is an old object, otherwise a creation. */
export function nodeRequest({ object, oldObject, user = base.userInfo }: Options): AdmissionRequest {
  return {
    ...base,
    resource: { group: '', version: 'v1', resource: 'nodes' },
    name: 'n1',
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    userInfo: user,
    object,
    oldObject: oldObject ?? null,
  };
}

/** A request about a DaemonSet: an update if there is an old object, otherwise a creation. */
export function daemonSetRequest({ object, oldObject, namespace = 'kube-system' }: Options): AdmissionRequest {
  return {
    ...base,
    resource: { group: 'apps', version: 'v1', resource: 'daemonsets' },
    name: 'cni',
    namespace,
    operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
    object,
    oldObject: oldObject ?? null,
  };
}
