import type { Logger } from 'pino';
import type { ServableCertificates } from './certs/certificate-directory.ts';
import type { PolicyObject } from './cluster/policies.ts';
import { modeOf, type Policy, type PolicyKind } from './policy/policy.ts';
import { formatPath, formatProblem } from './policy/problem.ts';
import type { Metrics } from './server/metrics.ts';

/** What log and metrics say of the certificates that are served from now on. */
export function announceCertificates({ certificate, ca }: ServableCertificates, metrics: Metrics, log: Logger): void {
  metrics.certificateServed('serving', certificate.validToDate);
  if (ca) metrics.certificateServed('ca', ca.validToDate);
  log.info(`serving certificate expires ${certificate.validToDate.toISOString()}`);
}

/** What log and metrics say of the policies that are in force since `at`, in milliseconds since 1970. */
export function announcePolicies(
  policies: readonly Policy[],
  { audit, at }: { audit: boolean; at: number },
  metrics: Metrics,
  log: Logger,
): void {
  metrics.policiesLoaded(countByKind(policies), at);
  const inForce = policies.map((policy) => `${policy.kind}/${policy.name} (${modeOf(policy)})`);
  log.info({ policies: inForce }, audit ? 'policies in force, all as Audit' : 'policies in force');
}

/** What is wrong with policies of the cluster, a line for each thing. */
export function complaintsOf(policies: readonly PolicyObject[]): string[] {
  return policies.flatMap(({ kind, name, generation, result, inForce }) => {
    const ignored = (inForce?.ignored ?? []).map(formatPath).join(', ');
    const what = inForce
      ? `generation ${generation} of ${kind} ${name} cannot be used, and generation ${inForce.generation} stays in force`
      : `${kind} ${name} is not in force`;
    return [
      ...(result.ok ? [] : [`${what}: ${result.problems.map(formatProblem).join('; ')}`]),
      ...(ignored === '' ? [] : [`${kind} ${name}: fields that this version does not know are ignored: ${ignored}`]),
    ];
  });
}

/** How many there are of each kind. */
export function countByKind(policies: readonly { readonly kind: PolicyKind }[]): Record<PolicyKind, number> {
  const counts = { TaintPolicy: 0, TolerationPolicy: 0, RecoveryPolicy: 0 };
  for (const { kind } of policies) counts[kind]++;
  return counts;
}
