import { type ApiError, toApiError } from '../../../../src/cluster/client/api-error.ts';

/** The metav1.Status of the API server for an object that does not exist. */
export function absentStatus(path: string): object {
  const name = decodeURIComponent(path.split('/').at(-1) ?? '');
  const details = { name, kind: path.split('/').at(-2) };
  const message = `"${name}" not found`;
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Failure',
    code: 404,
    reason: 'NotFound',
    message,
    details,
  };
}

/** The error for that. */
export function absent(method: string, path: string): ApiError {
  return toApiError(method, path, 404, JSON.stringify(absentStatus(path)));
}
