import { definitionOf } from '../../cluster/policies/policy-definitions.ts';
import { type PolicyObject, policyFault, runsInAudit } from '../../cluster/policies/policy-object.ts';
import { ALLOW_REMOVAL_ANNOTATION, parseAllowedRemovals } from '../../judge/allow-removal.ts';
import type { SelectingKind } from '../../policy/policy.ts';
import { type Harm, harmOfCondition, worstFirst } from '../../policy/reporting/harm.ts';
import { AUDIT_NOTE } from '../../policy/reporting/policy-messages.ts';
import { conditionOf, type PolicyCondition, type PolicyStatus } from '../../policy/reporting/policy-status.ts';
import {
  type Assessment,
  assessCondition,
  type StalledReason,
  type StateOf,
} from '../../policy/reporting/status-conditions.ts';
import { atMost, count } from '../../text/counts.ts';
import { shellWord } from '../../text/printable.ts';
import { type CheckName, consequence, essentialSkip, type Finding, finding, LEADER_NEEDS } from '../check.ts';
import type { DoctorNode } from '../facts/doctor-node.ts';
import type { Facts } from '../facts/facts.ts';
import { reinstall } from '../reinstall.ts';

const NOT_FOUND = 404;
const MAX_NAMED = 5;

/** The checks that show why the leader does not enforce a policy. */
const LEADERSHIP: readonly CheckName[] = [...LEADER_NEEDS, 'leader', 'other webhooks'];

/** The reasons of conditions that a missing right may cause. */
const MISSING_RIGHTS: readonly string[] = ['NotPermitted', 'BackstopNotInForce'] satisfies StalledReason[];

/** Checks that every policy is valid and enforced. */
export function checkPolicies({
  policies,
  kindsWithoutDefinition,
  installation,
  nodes,
  nodePools,
}: Pick<Facts, 'policies' | 'kindsWithoutDefinition' | 'installation' | 'nodes' | 'nodePools'>): Finding[] {
  if (!policies.ok) {
    if (policies.status !== NOT_FOUND) return [essentialSkip(policies.why)];
    return [
      finding('problem', 'the CustomResourceDefinitions of the policies are not installed', reinstall(installation)),
    ];
  }
  const noDefinitionFindings = (kindsWithoutDefinition.ok ? kindsWithoutDefinition.value : []).map((kind) =>
    finding(
      'problem',
      `CustomResourceDefinition ${definitionOf(kind)} does not exist: no ${kind} is in force`,
      reinstall(installation),
    ),
  );
  if (policies.value.length === 0 && noDefinitionFindings.length === 0) {
    return [finding('note', 'there are no policies: nothing is protected', 'kubectl explain taintpolicy.spec')];
  }
  // Without these facts, a check sees less than the leader did.
  const seeing: SeeingChecks = { contradictions: nodes.ok, 'node pools': nodes.ok && nodePools.ok };
  const ranked = policies.value.flatMap((policy) =>
    checkPolicy(policy, seeing).map((finding) => ({ finding, harm: harmOf(policy) })),
  );
  const results = [...noDefinitionFindings, ...worstFirst(ranked, ({ harm }) => harm).map(({ finding }) => finding)];
  if (policies.value.some(runsInAudit)) {
    results.push(finding('note', AUDIT_NOTE));
  }
  // Every policy has the same, because it is about the registration of the webhook.
  const unverified = policies.value
    .flatMap(({ status }) => conditionOf(status, 'Ready') ?? [])
    .find(({ reason }) => reason === ('ServiceNotReachable' satisfies StateOf<'Ready'>['reason']));
  if (unverified) results.push(finding('note', unverified.message));
  results.push(...allowedRemovals(nodes.ok ? nodes.value : []));
  if (results.length > 0) return results;
  return [
    finding('ok', `${policies.value.length} in force: ${atMost(MAX_NAMED, policies.value.map(nameOf)).join(', ')}`),
  ];
}

/** The worst of what a policy says. Policies without a problem come after those with one. */
function harmOf(policy: PolicyObject): Harm {
  if (policyFault(policy) !== undefined) return 'NotInForce';
  const { conditions = [], violating = 0 } = (policy.status ?? {}) as PolicyStatus;
  const harms = conditions.filter((condition) => assessCondition(condition).level !== 'quiet').map(harmOfCondition);
  return worstFirst(harms, (harm) => harm)[0] ?? (violating > 0 ? 'Reported' : 'Repairing');
}

/** Of each check that reports a condition in more detail, whether it has all facts for that. */
type SeeingChecks = Readonly<Record<NonNullable<Assessment['check']>, boolean>>;

function checkPolicy(policy: PolicyObject, seeing: SeeingChecks): Finding[] {
  const { kind, name, generation } = policy;
  const status = policy.status as PolicyStatus | undefined;
  const describeCommand = `kubectl describe ${kind.toLowerCase()} ${name}`;
  const unusable = policyFault(policy);
  if (unusable !== undefined) {
    const edit = `kubectl edit ${kind.toLowerCase()} ${name}`;
    return [finding('problem', `${nameOf(policy)} is not valid: ${unusable}`, edit)];
  }
  const condition = conditionOf(status, 'Ready');
  if (condition === undefined || condition.observedGeneration !== generation) {
    const seen = condition === undefined ? 'no status' : `a status for generation ${condition.observedGeneration}`;
    return [
      unlessLeaderless(
        `${nameOf(policy)} has ${seen}, and is at generation ${generation}: no leader has processed it`,
        describeCommand,
      ),
    ];
  }
  const results = (status?.conditions ?? []).flatMap((one) => checkCondition(policy, one, describeCommand, seeing));
  if (
    kind !== 'TolerationRestriction' &&
    results.every(({ state }) => state === 'note') &&
    (status?.violating ?? 0) > 0
  )
    results.push(violating({ kind, name }, status, describeCommand));
  return results;
}

function checkCondition(
  policy: PolicyObject,
  condition: PolicyCondition,
  describeCommand: string,
  seeing: SeeingChecks,
): Finding[] {
  const { reason, message } = condition;
  const { level, word, next = describeCommand, check } = assessCondition(condition);
  if (level === 'quiet' || (check !== undefined && seeing[check])) return [];
  const evidence = `${nameOf(policy)} is ${word} (${reason}): ${message}`;
  if (level === 'attention') return [finding('note', evidence, next)];
  // Which fields are known does not depend on the leader.
  if (reason === ('UnknownFields' satisfies StalledReason)) return [finding('problem', evidence, next)];
  const causes = MISSING_RIGHTS.includes(reason) ? (['optional rights', ...LEADERSHIP] as const) : LEADERSHIP;
  return [unlessLeaderless(evidence, next, causes)];
}

/** Violations are a note: nothing is wrong with the configuration. */
function violating(
  policy: { readonly kind: SelectingKind; readonly name: string },
  status: PolicyStatus | undefined,
  describeCommand: string,
): Finding {
  const { violating: number = 0, violators = [] } = status ?? {};
  const names = atMost(MAX_NAMED, violators).join(', ');
  const evidence = `${nameOf(policy)} is in force; ${count(number, 'object')} ${number === 1 ? 'differs' : 'differ'} from it: ${names}`;
  const [first] = violators;
  return finding(
    'note',
    evidence,
    first === undefined ? describeCommand : `taintkeeper explain ${VIOLATORS[policy.kind]} ${shellWord(first)}`,
  );
}

/** The kind of a policy's violators, as an argument of `taintkeeper explain`. */
const VIOLATORS: Readonly<Record<SelectingKind, string>> = {
  TaintPolicy: 'node',
  TolerationPolicy: 'daemonset',
  RecoveryPolicy: 'pod',
};

/** Reports the entries of the annotation allow-removal: their taints may be removed, and are not set again. */
function allowedRemovals(nodes: readonly DoctorNode[]): Finding[] {
  const allowing = nodes.flatMap(({ name, allowRemoval }) => {
    const texts = parseAllowedRemovals(allowRemoval).entries.map(({ text }) => text);
    return texts.length === 0 ? [] : [{ name, text: `${name} (${atMost(MAX_NAMED, texts).join(', ')})` }];
  });
  const [first] = allowing;
  if (first === undefined) return [];
  const which = atMost(
    MAX_NAMED,
    allowing.map(({ text }) => text),
  ).join(', ');
  const evidence = `annotation ${ALLOW_REMOVAL_ANNOTATION} of ${count(allowing.length, 'node')} allows the removal of taints, which are not set again: ${which}`;
  return [finding('note', evidence, `kubectl annotate node ${shellWord(first.name)} ${ALLOW_REMOVAL_ANNOTATION}-`)];
}

/** A problem that follows from the lack of a leader, if there is none. */
function unlessLeaderless(evidence: string, remedy: string, causes = LEADERSHIP): Finding {
  return consequence(
    finding('problem', evidence, remedy),
    (cause) => `${evidence}; that may be because of the problem with ${cause}`,
    causes,
  );
}

function nameOf({ kind, name }: Pick<PolicyObject, 'kind' | 'name'>): string {
  return `${kind} ${name}`;
}
