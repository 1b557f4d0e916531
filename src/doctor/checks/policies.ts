import type { StoredRecord } from '../../cluster/node-records.ts';
import { definitionOf } from '../../cluster/policy-definitions.ts';
import { type PolicyObject, policiesInForce, runsInAudit, whyUnusable } from '../../cluster/policy-object.ts';
import { ALLOW_REMOVAL_ANNOTATION, announcementsIn, parseAllowedRemovals } from '../../judge/allow-removal.ts';
import { nodeDrift } from '../../judge/node-drift.ts';
import { isKept, withRecord } from '../../judge/node-record.ts';
import { patternNotes } from '../../judge/pattern-notes.ts';
import { formatTaint, identity, valuesOf } from '../../kubernetes/taint.ts';
import { atMost, count, shellWord } from '../../kubernetes/text.ts';
import { rfc3339 } from '../../kubernetes/time.ts';
import type { Policy, SelectingKind } from '../../policy/policy.ts';
import { compilePolicies } from '../../policy/policy-set.ts';
import { AUDIT_NOTE, conditionOf, type PolicyCondition, type PolicyStatus } from '../../policy/policy-status.ts';
import { type Assessment, assessCondition } from '../../policy/status-conditions.ts';
import { type CheckName, consequence, essentialSkip, type Finding, finding, LEADER_NEEDS, needs } from '../check.ts';
import type { DoctorNode } from '../cluster-facts.ts';
import type { Facts } from '../facts.ts';
import { reinstall } from '../installation.ts';

const NOT_FOUND = 404;
const MAX_NAMED = 5;

/** The checks that show why the leader does not enforce a policy. */
const LEADERSHIP: readonly CheckName[] = [...LEADER_NEEDS, 'leader', 'other webhooks'];

/** Checks that every policy is valid and enforced. */
export function checkPolicies({
  policies,
  undefinedKinds,
  installation,
  nodes,
  nodeRecords,
  nodePools,
}: Pick<Facts, 'policies' | 'undefinedKinds' | 'installation' | 'nodes' | 'nodeRecords' | 'nodePools'>): Finding[] {
  if (!policies.ok) {
    if (policies.status !== NOT_FOUND) return [essentialSkip(policies.why)];
    return [
      finding('problem', 'the CustomResourceDefinitions of the policies are not installed', reinstall(installation)),
    ];
  }
  const undefinedFindings = (undefinedKinds.ok ? undefinedKinds.value : []).map((kind) =>
    finding(
      'problem',
      `CustomResourceDefinition ${definitionOf(kind)} does not exist: no ${kind} is in force`,
      reinstall(installation),
    ),
  );
  if (policies.value.length === 0 && undefinedFindings.length === 0) {
    return [finding('note', 'there are no policies: nothing is protected', 'kubectl explain taintpolicy.spec')];
  }
  // Without these facts, a check sees less than the leader did.
  const seeing: SeeingChecks = { contradictions: nodes.ok, 'node pools': nodes.ok && nodePools.ok };
  const results = [...undefinedFindings, ...policies.value.flatMap((policy) => checkPolicy(policy, seeing))];
  if (policies.value.some(runsInAudit)) {
    results.push(finding('note', AUDIT_NOTE));
  }
  // Every policy has the same, because it is about the registration of the webhook.
  const unverified = policies.value.flatMap(({ status }) => conditionOf(status, 'Unverified') ?? []).at(0);
  if (unverified) results.push(finding('note', unverified.message));
  if (nodes.ok && nodeRecords.ok) {
    results.push(...requiredTaintsRemoved(policiesInForce(policies.value), nodes.value, nodeRecords.value));
  }
  results.push(...announcedRemovals(nodes.ok ? nodes.value : []));
  if (results.length > 0) return results;
  return [
    finding('ok', `${policies.value.length} in force: ${atMost(MAX_NAMED, policies.value.map(nameOf)).join(', ')}`),
  ];
}

/** Of each check that reports a condition in more detail, whether it has all facts for that. */
type SeeingChecks = Readonly<Record<NonNullable<Assessment['check']>, boolean>>;

function checkPolicy(policy: PolicyObject, seeing: SeeingChecks): Finding[] {
  const { kind, name, generation } = policy;
  const status = policy.status as PolicyStatus | undefined;
  const look = `kubectl describe ${kind.toLowerCase()} ${name}`;
  const unusable = whyUnusable(policy);
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
        look,
      ),
    ];
  }
  const results = (status?.conditions ?? []).flatMap((one) => checkCondition(policy, one, look, seeing));
  if (
    kind !== 'TolerationRestriction' &&
    results.every(({ state }) => state === 'note') &&
    (status?.violating ?? 0) > 0
  )
    results.push(violating({ kind, name }, status, look));
  return results;
}

function checkCondition(
  policy: PolicyObject,
  condition: PolicyCondition,
  look: string,
  seeing: SeeingChecks,
): Finding[] {
  const { type, reason, message } = condition;
  const { level, word, next = look, check } = assessCondition(condition);
  if (level === 'quiet' || (check !== undefined && seeing[check])) return [];
  const evidence = `${nameOf(policy)} is ${word} (${reason}): ${message}`;
  if (level === 'attention') return [finding('note', evidence, next)];
  // The other conditions do not depend on the leader.
  if (type !== 'Ready' && type !== 'Stalled') return [finding('problem', evidence, next)];
  const causes = reason.endsWith('NotPermitted') ? (['optional rights', ...LEADERSHIP] as const) : LEADERSHIP;
  return [unlessLeaderless(evidence, next, causes)];
}

/** Violations are a note: nothing is wrong with the configuration. */
function violating(
  policy: { readonly kind: SelectingKind; readonly name: string },
  status: PolicyStatus | undefined,
  look: string,
): Finding {
  const { violating: number = 0, violators = [] } = status ?? {};
  const names = atMost(MAX_NAMED, violators).join(', ');
  const evidence = `${nameOf(policy)} is in force; ${count(number, 'object')} ${number === 1 ? 'differs' : 'differ'} from it: ${names}`;
  const [first] = violators;
  return finding(
    'note',
    evidence,
    first === undefined ? look : `taintkeeper explain ${VIOLATORS[policy.kind]} ${first}`,
  );
}

/** The kind of a policy's violators, as an argument of `taintkeeper explain`. */
const VIOLATORS: Readonly<Record<SelectingKind, string>> = {
  TaintPolicy: 'node',
  TolerationPolicy: 'daemonset',
  RecoveryPolicy: 'pod',
};

/** Reports required taints that were removed with permission. The policies do not restore them. */
function requiredTaintsRemoved(
  policies: readonly Policy[],
  nodes: readonly DoctorNode[],
  records: ReadonlyMap<string, StoredRecord>,
): Finding[] {
  const marked = nodes
    .map((node) => withRecord(node, records.get(node.name)?.record, node.uid))
    .filter(({ recorded }) => !recorded.every(isKept));
  const { taintPolicies } = compilePolicies(marked.length === 0 ? [] : policies);
  const without = marked.flatMap((node) => {
    const carried = valuesOf(node.taints);
    const gone = nodeDrift(node, taintPolicies).removed.filter(({ taint }) => !carried.has(identity(taint)));
    const texts = [...new Set(gone.map(({ taint }) => formatTaint(taint)))];
    return texts.length === 0
      ? []
      : [{ name: node.name, text: `${node.name} (${atMost(MAX_NAMED, texts).join(', ')})` }];
  });
  const [first] = without;
  if (first === undefined) return [];
  const which = atMost(
    MAX_NAMED,
    without.map(({ text }) => text),
  ).join(', ');
  const evidence = `${count(without.length, 'node')} ${without.length === 1 ? 'is' : 'are'} without a required taint that was removed with permission: ${which}`;
  return [finding('note', evidence, `taintkeeper explain node ${first.name}`)];
}

/** Reports removals that are announced and not made yet: any user who may write the node can make them. */
function announcedRemovals(nodes: readonly DoctorNode[]): Finding[] {
  const announced = nodes.flatMap(({ name, allowRemoval, announcedAt }) => {
    const texts = announcementsIn(parseAllowedRemovals(allowRemoval)).map(({ text }) => text);
    const since = announcedAt === undefined ? [] : [`since ${rfc3339(announcedAt)}`];
    return texts.length === 0
      ? []
      : [{ name, text: `${name} (${[...atMost(MAX_NAMED, texts), ...since].join(', ')})` }];
  });
  const [first] = announced;
  if (first === undefined) return [];
  const which = atMost(
    MAX_NAMED,
    announced.map(({ text }) => text),
  ).join(', ');
  const evidence = `the removal of taints is announced and not made on ${count(announced.length, 'node')}: ${which}`;
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

/** Notes on policies whose patterns match many taints. */
export function checkPatterns({ policies }: Pick<Facts, 'policies'>): readonly Finding[] {
  return needs({ policies }, ({ policies: all }) =>
    policiesInForce(all).flatMap((policy) =>
      patternNotes(policy).map((note) =>
        finding(
          'note',
          `${policy.kind} ${policy.name}: ${note}`,
          `kubectl edit ${policy.kind.toLowerCase()} ${policy.name}`,
        ),
      ),
    ),
  );
}
