import type { PolicyObject } from '../../cluster/policies.ts';
import { atMost, count } from '../../kubernetes/text.ts';
import { NOT_CALLED, type PolicyCondition, type PolicyStatus } from '../../policy/policy-status.ts';
import { formatProblem } from '../../policy/problem.ts';
import type { CheckResult } from '../check.ts';
import type { ConfigurationFacts } from '../configuration-facts.ts';
import { found } from './found.ts';

const NAME = 'policies';
const NOT_FOUND = 404;
const MAX_NAMED = 5;

/**
 * Whether every policy is valid, in force, and done as it says.
 * @param cause what another check has found: what only the leader can bring about is then a consequence
 * @param notPermitted what another check has found of rights that policies ask for
 */
export function checkPolicies(
  { policies, installation }: Pick<ConfigurationFacts, 'policies' | 'installation'>,
  cause: CheckResult | undefined,
  notPermitted?: CheckResult,
): CheckResult[] {
  if (!policies.ok) {
    if (policies.status !== NOT_FOUND) return [found(NAME, 'skipped', policies.why)];
    const { helmRelease } = installation;
    const remedy =
      helmRelease === undefined
        ? 'kubectl apply -f manifests/install.yaml'
        : `run helm upgrade ${helmRelease} once more`;
    return [found(NAME, 'trouble', 'the definitions of the policies are not installed', remedy)];
  }
  if (policies.value.length === 0) {
    return [found(NAME, 'note', 'there are no policies: nothing is protected', 'see docs/reference/policies.md')];
  }
  const results = policies.value.flatMap((policy) => checkPolicy(policy, cause, notPermitted));
  const audited = policies.value.filter(({ status }) => ready(status)?.message.includes('--audit'));
  if (audited.length > 0) {
    results.push(found(NAME, 'note', 'taintkeeper runs with --audit: it reports, and changes and refuses nothing'));
  }
  const uncalled = policies.value.find(({ status }) => ready(status)?.message.includes(NOT_CALLED));
  if (uncalled) {
    const [, why = ''] = ready(uncalled.status)?.message.split(`${NOT_CALLED}: `) ?? [];
    results.push(found(NAME, 'note', `${NOT_CALLED}: ${why}`));
  }
  if (results.length > 0) return results;
  return [
    found(NAME, 'ok', `${policies.value.length} in force: ${atMost(MAX_NAMED, policies.value.map(nameOf)).join(', ')}`),
  ];
}

function checkPolicy(
  policy: PolicyObject,
  cause: CheckResult | undefined,
  notPermitted: CheckResult | undefined,
): CheckResult[] {
  const { kind, name, result, generation } = policy;
  const status = policy.status as PolicyStatus | undefined;
  const look = `kubectl describe ${kind.toLowerCase()} ${name}`;
  if (!result.ok) {
    const problems = atMost(MAX_NAMED, result.problems.map(formatProblem)).join('; ');
    const stands = policy.inForce ? `; generation ${policy.inForce.generation} stays in force` : '';
    return [
      found(
        NAME,
        'trouble',
        `${nameOf(policy)} is not valid${stands}: ${problems}`,
        `kubectl edit ${kind.toLowerCase()} ${name}`,
      ),
    ];
  }
  const condition = ready(status);
  if (condition === undefined || condition.observedGeneration !== generation) {
    const seen = condition === undefined ? 'no status' : `a status for generation ${condition.observedGeneration}`;
    return [
      consequence(
        cause,
        `${nameOf(policy)} has ${seen}, and is at generation ${generation}: nobody looks after it`,
        look,
      ),
    ];
  }
  const results: CheckResult[] = [];
  const ignored = status?.conditions?.find(({ type }) => type === 'FieldsIgnored');
  if (ignored) {
    const remedy = 'run the version of taintkeeper that the definitions are of, or take the fields out';
    results.push(found(NAME, 'trouble', `${nameOf(policy)}: ${ignored.message}`, remedy));
  }
  if (condition.status !== 'True') {
    results.push(
      consequence(cause, `${nameOf(policy)} is not in force (${condition.reason}): ${condition.message}`, look),
    );
  }
  const stalled = status?.conditions?.find(({ type, status: holds }) => type === 'Stalled' && holds === 'True');
  if (stalled) {
    const evidence = `${nameOf(policy)} is stalled (${stalled.reason}): ${stalled.message}`;
    const why = stalled.reason.endsWith('NotPermitted') ? (notPermitted ?? cause) : cause;
    results.push(consequence(why, evidence, `${look}, and docs/repairs.md on ${stalled.reason}`));
  }
  if (results.length === 0 && (status?.violating ?? 0) > 0) results.push(violating(policy, status, look));
  return results;
}

/** A violation is what policies are there to find: nothing is wrong with the configuration. */
function violating(policy: PolicyObject, status: PolicyStatus | undefined, look: string): CheckResult {
  const { violating: number = 0, violators = [] } = status ?? {};
  const names = atMost(MAX_NAMED, violators).join(', ');
  const evidence = `${nameOf(policy)} is in force; ${count(number, 'object')} not as it says: ${names}`;
  return found(NAME, 'note', evidence, look);
}

function consequence(cause: CheckResult | undefined, evidence: string, remedy: string): CheckResult {
  if (cause === undefined) return found(NAME, 'trouble', evidence, remedy);
  return found(NAME, 'skipped', `${evidence}; that may be because of the trouble with ${cause.name}`);
}

function ready(status: unknown): PolicyCondition | undefined {
  return (status as PolicyStatus | undefined)?.conditions?.find(({ type }) => type === 'Ready');
}

function nameOf({ kind, name }: Pick<PolicyObject, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}
