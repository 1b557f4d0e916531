import type { Logger } from 'pino';
import type { ClusterPolicies } from '../cluster/policies/policies.ts';
import type { PolicyObject } from '../cluster/policies/policy-object.ts';
import type { PolicyLoad } from '../files/policy-store.ts';
import { modeOf, type Policy, type PolicyKind, type TaintPolicy } from '../policy/policy.ts';
import { formatPath, formatProblem } from '../policy/problem.ts';
import type { AdmissionMetrics } from '../server/metrics.ts';
import { printable } from '../text/printable.ts';
import type { Metrics } from './metrics.ts';

/** Logs and counts what was read of the policy files. */
export function logPolicyLoad(load: PolicyLoad, audit: boolean, metrics: AdmissionMetrics, log: Logger): void {
  metrics.policyFilesLoaded(load.ok);
  if (!load.ok) {
    for (const fault of load.faults) log.error(`policies not replaced, the last good ones stay: ${printable(fault)}`);
    return;
  }
  logPolicies(load.policies, audit, metrics, log);
  for (const what of load.policies.flatMap((policy) => partsWithoutEffect(policy, audit)))
    log.warn(`${what}: run serve --cluster`);
}

/** The parts of a policy from a file that need a leader, each as a sentence. */
function partsWithoutEffect(policy: Policy, audit: boolean): string[] {
  const title = `${policy.kind} ${policy.name}`;
  if (policy.kind === 'RecoveryPolicy' || policy.kind === 'TolerationRestriction') {
    return [`${title} has no effect without a cluster`];
  }
  const withoutEffect = [
    ...(policy.kind === 'TolerationPolicy' && policy.spec.existing === 'Patch' && !audit ? ['existing: Patch'] : []),
    ...(policy.spec.backstop === 'Native' ? ['backstop: Native'] : []),
  ];
  return [
    ...(policy.kind === 'TaintPolicy' && policy.spec.mode !== 'Audit' && !audit ? lastingStartupTaints(policy) : []),
    ...withoutEffect.map((field) => `${title}: ${field} has no effect without a cluster`),
  ];
}

function lastingStartupTaints({ name, spec }: TaintPolicy): string[] {
  return spec.taints.flatMap(({ ensure }, index) =>
    ensure === 'UntilReady'
      ? `TaintPolicy ${name}: without a cluster, nothing removes the taint of spec.taints[${index}] (ensure: UntilReady)`
      : [],
  );
}

/** Logs and counts the cluster's policies after a change. A broken one is logged once, however often the others change. */
export function logPolicyChanges(policies: ClusterPolicies, audit: boolean, metrics: Metrics, log: Logger): () => void {
  let complaints = new Set<string>();
  return () => {
    const invalid = policies.objects().filter(({ result }) => !result.ok);
    const found = new Set(complaintsOf(policies.objects()));
    for (const complaint of found) if (!complaints.has(complaint)) log.error(printable(complaint));
    complaints = found;
    metrics.policiesInvalid(countByKind(invalid));
    logPolicies(policies.snapshot().policies, audit, metrics, log);
  };
}

/** The problems of policies of the cluster, one line each. */
function complaintsOf(policies: readonly PolicyObject[]): string[] {
  return policies.flatMap(({ kind, name, generation, result, inForce }) => {
    const ignored = (inForce?.ignored ?? []).map(formatPath).join(', ');
    const what = inForce
      ? `generation ${generation} of ${kind} ${name} cannot be used, and generation ${inForce.generation} stays in force until this process ends`
      : `generation ${generation} of ${kind} ${name} cannot be used, and nothing of it is in force`;
    return [
      ...(result.ok ? [] : [`${what}: ${result.problems.map(formatProblem).join('; ')}`]),
      ...(ignored === '' ? [] : [`${kind} ${name}: fields that this version does not know are ignored: ${ignored}`]),
    ];
  });
}

/** Logs and counts the policies that are in force. */
function logPolicies(policies: readonly Policy[], audit: boolean, metrics: AdmissionMetrics, log: Logger): void {
  metrics.policiesLoaded(countByKind(policies));
  const inForce = policies.map((policy) => `${policy.kind}/${policy.name} (${modeOf(policy)})`);
  log.info({ policies: inForce }, audit ? 'policies in force, all as Audit' : 'policies in force');
}

/** How many policies there are of each kind. */
function countByKind(policies: readonly { readonly kind: PolicyKind }[]): Record<PolicyKind, number> {
  const counts = { TaintPolicy: 0, TolerationPolicy: 0, TolerationRestriction: 0, RecoveryPolicy: 0 };
  for (const { kind } of policies) counts[kind]++;
  return counts;
}
