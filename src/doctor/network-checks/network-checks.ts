import type { CheckResult } from '../check.ts';
import type { Facts } from '../facts.ts';
import { checkAdmission } from './admission.ts';
import { checkEndpoints } from './endpoints.ts';
import { checkNetworkPolicies } from './network-policies.ts';
import { checkReplicas } from './replicas.ts';
import { checkRoundTrip } from './round-trip.ts';
import { checkService } from './service.ts';

/**
 * Whether the API server's calls reach the replicas, from the Service on.
 * @param certificates what the certificate checks came to: what follows from their troubles is none of the network's
 */
export function networkChecks(facts: Facts, certificates: readonly CheckResult[]): CheckResult[] {
  const service = checkService(facts);
  const replicas = checkReplicas(facts, certificates);
  const endpoints = checkEndpoints(facts, [service, replicas]);
  // Without certificates that can be served, a replica does not even listen.
  const roundTrip = checkRoundTrip(facts, [...certificates.filter(({ name }) => name === 'Secret'), replicas]);
  const earlier = [...certificates, service, replicas, endpoints, roundTrip];
  return [service, replicas, endpoints, roundTrip, checkNetworkPolicies(facts), checkAdmission(facts, earlier)];
}
