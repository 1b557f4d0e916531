import { ApiError } from '../client/api-error.ts';

/** What to log of a request for the Lease that failed: what counts as the same fault, and the message with advice. */
export function leaseFault(
  error: unknown,
  { namespace, name }: { namespace: string; name: string },
): [kind: string, message: string] {
  const message = error instanceof Error ? error.message : String(error);
  if (!(error instanceof ApiError)) return ['unreachable', `leader election: ${message}`];
  const { status } = error;
  if (status === 403) {
    const advice = `allow get, create and update of leases.coordination.k8s.io in namespace ${namespace} by a Role`;
    return ['forbidden', `leader election with Lease ${namespace}/${name} is not allowed: ${advice} (${message})`];
  }
  // Reading a Lease that is not there is no fault; what is missing is the place to create it in.
  if (status === 404) return ['no namespace', `leader election: create namespace ${namespace} (${message})`];
  return [String(status), `leader election: ${message}`];
}
