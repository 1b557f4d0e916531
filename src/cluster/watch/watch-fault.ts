import { ApiError } from '../client/api-error.ts';

/** A failed list or watch for the log: the kind of the failure, and the message with a remedy. */
export function watchFault(error: unknown, path: string): [kind: string, message: string] {
  const message = error instanceof Error ? error.message : String(error);
  const kept = 'what was known stays in use';
  if (!(error instanceof ApiError)) return ['unreachable', `cannot watch ${path}, ${kept}: ${message}`];
  const { status } = error;
  if (status === 403) {
    return ['forbidden', `not allowed to watch ${path}, ${kept}: ${ruleFor(path)} (${message})`];
  }
  if (status === 404) {
    return [
      'not found',
      `the API server has no ${path}, ${kept}: is the CustomResourceDefinition installed? (${message})`,
    ];
  }
  return [String(status), `cannot watch ${path}, ${kept}: ${message}`];
}

/** The RBAC rule that listing and watching a path needs. */
function ruleFor(path: string): string {
  const parts = path.split('/').filter((part) => part !== '');
  // /api/v1/… and /apis/<group>/<version>/…
  const group = parts[0] === 'apis' ? (parts[1] ?? '') : '';
  const rest = parts.slice(parts[0] === 'apis' ? 3 : 2);
  const [namespace, resource] = rest[0] === 'namespaces' && rest.length > 2 ? [rest[1], rest[2]] : [undefined, rest[0]];
  const where = namespace === undefined ? 'a ClusterRole' : `a Role in namespace ${namespace}`;
  return `allow it by ${where} with apiGroups ["${group}"], resources ["${resource}"], verbs ["list", "watch"]`;
}
