import type { Operation } from '../kubernetes/json-patch.ts';
import { isPattern, matchesPattern } from '../kubernetes/pattern.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { requirementsOf } from '../kubernetes/selector-overlap.ts';
import { TAINT_EFFECTS } from '../kubernetes/taint.ts';
import { covers, rangesOf } from '../kubernetes/taint-range.ts';
import { compileTaintPolicy, startupKeysOf } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import type { Policy, TaintPolicy, TolerationPolicy, TolerationRestriction } from '../policy/policy.ts';
import { MAX_POLICY_TAINTS } from '../policy/taint-policy.ts';
import { type CompiledTaintRule, compileRules, isStartup, type TaintRule } from '../policy/taint-rule.ts';
import { MAX_POLICY_TOLERATIONS, tolerationsOf } from '../policy/toleration-policy.ts';
import { compileTolerationRestriction } from '../policy/toleration-restriction.ts';
import type { RemainingChanges } from './migration-change.ts';
import type { MigrationFacts } from './migration-facts.ts';
import { hasNewRoleTaint, oldRoleTaints } from './role-taints.ts';

/** The changes of policies that name the old taint or label. */
export function policyChanges(facts: MigrationFacts): RemainingChanges {
  const found = facts.policies.map((policy) => rewriting(policy, facts));
  return {
    changes: found.flatMap(({ changes }) => changes),
    byHand: [...facts.unreadPolicies, ...found.flatMap(({ byHand }) => byHand)],
  };
}

function rewriting(policy: Policy, facts: MigrationFacts): RemainingChanges {
  switch (policy.kind) {
    case 'TaintPolicy': {
      const byLabel = `TaintPolicy ${policy.name} selects nodes by the old label: change spec.nodeSelector to ${NEW_ROLE}`;
      const { changes, byHand } = rewritingTaints(policy, facts);
      return { changes, byHand: policySelectsByOldLabel(policy) ? [...byHand, byLabel] : byHand };
    }
    case 'TolerationPolicy':
      return rewritingTolerations(policy);
    case 'TolerationRestriction':
      return restricting(policy);
    case 'RecoveryPolicy':
      return NOTHING;
  }
}

/** RBAC rules also name the keys, so this is left to the user. */
function restricting({ name, spec }: TolerationRestriction): RemainingChanges {
  const isRestricted = coverageBy(compileTolerationRestriction({ name, spec }).taints);
  const missing = spec.taints
    .filter((taint) => taint.key === OLD_ROLE && !isRestricted(taint))
    .map((taint) => ({ ...taint, key: NEW_ROLE }));
  if (missing.length === 0) return NOTHING;
  const why = `restricts the old taint and not the new one: add ${JSON.stringify(missing)} to spec.taints, and ${NEW_ROLE} to the ClusterRoles that allow the verb tolerate on ${OLD_ROLE}`;
  return { changes: [], byHand: [`TolerationRestriction ${name} ${why}`] };
}

/**
 * Whether rules together cover every new taint that corresponds to a rule for the old one. A rule without an effect is for all effects, and one
 * without a value is for any value, of which there are infinitely many: only rules without a value cover it.
 */
function coverageBy(rules: readonly CompiledTaintRule[]): (old: Pick<TaintRule, 'value' | 'effect'>) => boolean {
  const matching = compileRules(rules);
  const matchingAnyValue = compileRules(rules.filter(({ value }) => value === undefined));
  return ({ value, effect }) =>
    (effect === undefined ? TAINT_EFFECTS : [effect]).every((each) => {
      const taint = { key: NEW_ROLE, value, effect: each };
      return (value === undefined ? matchingAnyValue : matching)(taint) !== undefined;
    });
}

const NOTHING: RemainingChanges = { changes: [], byHand: [] };

/** Adds a toleration of the new taint for each toleration of only the old one, also to policies that `coverage fix` has written. */
function rewritingTolerations(policy: TolerationPolicy): RemainingChanges {
  const { name, spec } = policy;
  const given = tolerationsOf(spec);
  const added = given
    .filter(({ key }) => key === OLD_ROLE)
    .map((toleration) => ({ ...toleration, key: NEW_ROLE }))
    .filter((toleration) => rangesOf(toleration).some((range) => !given.some((one) => covers(one, range))));
  if (added.length === 0) return NOTHING;
  if (given.length + added.length > MAX_POLICY_TOLERATIONS) {
    const why = `requires a toleration of the old taint, and has as many tolerations as a policy may have: add a policy for ${NEW_ROLE}`;
    return { changes: [], byHand: [`TolerationPolicy ${name} ${why}`] };
  }
  const rewritten = { ...policy, spec: { ...spec, tolerations: [...given, ...added] } };
  const operations = added.map((value): Operation => ({ op: 'add', path: '/spec/tolerations/-', value }));
  return { changes: [{ kind: 'policy', policy: rewritten, operations }], byHand: [] };
}

/**
 * A policy that protects the old taint also protects the new one. A policy that allows no removal by annotation (`removalByAnnotation: Forbidden`)
 * stops protecting the old one once each of its nodes carries the new one.
 */
function rewritingTaints(policy: TaintPolicy, { nodes }: MigrationFacts): RemainingChanges {
  const { name, spec } = policy;
  if (spec.taints.some(({ key, ensure }) => key === OLD_ROLE && ensure === 'Always')) {
    const why = `requires the old taint, and would set it again: require ${NEW_ROLE} instead`;
    return { changes: [], byHand: [`TaintPolicy ${name} ${why}`] };
  }
  const compiled = compileTaintPolicy(policy, { startupKeys: startupKeysOf([policy]) });
  const carriers = nodes
    .filter(({ labels }) => compiled.selectsNode(labels))
    .filter(({ taints }) => oldRoleTaints(taints).some((taint) => compiled.protectingRule(taint) !== undefined));
  const givesUp =
    !compiled.allowsRemovalByAnnotation &&
    isEnforced(compiled) &&
    carriers.length > 0 &&
    carriers.every(({ taints }) => oldRoleTaints(taints).every((taint) => hasNewRoleTaint(taints, taint)));
  const isProtected = coverageBy(compiled.protectionRules);
  // A node can have only one taint of a key and an effect, so the value of a taint that taintkeeper sets makes no difference.
  const isSet = ({ effect }: TaintRule) =>
    compiled.ensured.some(({ taint }) => taint.key === NEW_ROLE && taint.effect === effect);
  // An added startup rule would end the protection of its key by a rule with DOMAIN/*, and contradict a rule with the exact key.
  const coversNew = (rule: TaintRule) => isProtected(rule) || (isStartup(rule.ensure) && isSet(rule));
  const edits = spec.taints.map((rule, index) => editOf(rule, index, givesUp, coversNew));
  // From the end, so that the other indexes stay valid.
  const operations = edits.toReversed().flatMap(({ operations = [] }) => operations);
  if (operations.length === 0) return NOTHING;
  const taints = [...edits.flatMap(({ kept }) => kept), ...edits.flatMap(({ added = [] }) => added)];
  if (taints.length > MAX_POLICY_TAINTS) {
    const why = `names the old taint, and has as many rules as a policy may have: add a policy for ${NEW_ROLE}`;
    return { changes: [], byHand: [`TaintPolicy ${name} ${why}`] };
  }
  return { changes: [{ kind: 'policy', policy: { ...policy, spec: { ...spec, taints } }, operations }], byHand: [] };
}

interface RuleEdit {
  /** The new rule, or none. */
  readonly kept: readonly TaintRule[];
  readonly added?: readonly TaintRule[];
  readonly operations?: readonly Operation[];
}

function editOf(rule: TaintRule, index: number, givesUp: boolean, coversNew: (rule: TaintRule) => boolean): RuleEdit {
  const { key, except = [] } = rule;
  const path = `/spec/taints/${index}`;
  const isMeant: Operation = { op: 'test', path: `${path}/key`, value: key };
  const renamed = { ...rule, key: NEW_ROLE };
  if (key === OLD_ROLE && givesUp) {
    if (coversNew(rule)) return { kept: [], operations: [isMeant, { op: 'remove', path }] };
    return { kept: [renamed], operations: [isMeant, { op: 'replace', path: `${path}/key`, value: NEW_ROLE }] };
  }
  if (key === OLD_ROLE && !coversNew(rule)) {
    return { kept: [rule], added: [renamed], operations: [{ op: 'add', path: '/spec/taints/-', value: renamed }] };
  }
  const means = (pattern: string) => matchesPattern(pattern, OLD_ROLE);
  if (givesUp && isPattern(key) && means(key) && !except.some(means)) {
    const without = [...except, OLD_ROLE];
    const op = except.length > 0 ? 'replace' : 'add';
    return {
      kept: [{ ...rule, except: without }],
      operations: [isMeant, { op, path: `${path}/except`, value: without }],
    };
  }
  return { kept: [rule] };
}

function policySelectsByOldLabel({ spec: { nodeSelector } }: TaintPolicy): boolean {
  return requirementsOf(nodeSelector).some(({ key }) => key === OLD_ROLE);
}
