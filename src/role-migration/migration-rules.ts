import { allowRemovalWith } from '../judge/allow-removal.ts';
import type { Operation } from '../kubernetes/json-patch.ts';
import { own } from '../kubernetes/label-selector.ts';
import { isPattern, matchesPattern } from '../kubernetes/pattern.ts';
import { NEW_ROLE, OLD_ROLE } from '../kubernetes/roles.ts';
import { formatTaint, identity, sameTaint, TAINT_EFFECTS, type Taint } from '../kubernetes/taint.ts';
import { covers, rangesOf } from '../kubernetes/toleration.ts';
import type { Policy, TaintPolicy, TolerationPolicy, TolerationRestriction } from '../policy/policy.ts';
import {
  type CompiledTaintPolicy,
  compilePolicies,
  compileTaintPolicy,
  isEnforced,
  startupKeysOf,
} from '../policy/policy-set.ts';
import { MAX_POLICY_TAINTS } from '../policy/taint-policy.ts';
import { type CompiledTaintRule, compileRules, isStartup, type TaintRule } from '../policy/taint-rule.ts';
import { MAX_POLICY_TOLERATIONS, tolerationsOf } from '../policy/toleration-policy.ts';
import { compileTolerationRestriction } from '../policy/toleration-restriction.ts';
import type { Change } from './migration-change.ts';
import { type MigrationFacts, selectsByOldRole } from './migration-facts.ts';
import { missingTolerations, taintPairs } from './role-analysis.ts';

/** The remaining changes of one step, by the facts after the steps before it. */
interface RemainingChanges {
  readonly changes: readonly Change[];
  readonly byHand: readonly string[];
}

interface MigrationRule {
  readonly goal: string;
  readonly find: (facts: MigrationFacts) => RemainingChanges;
}

/**
 * Additions come before removals. The new label comes before the workloads that will select it. The workloads that tolerate both taints come before
 * the second taint. The policies come before the taint that some of them would restore.
 */
export const MIGRATION_RULES: readonly MigrationRule[] = [
  { goal: 'Every node with the old label has the new one, too', find: labels },
  {
    goal: 'Workloads that tolerate one of the taints tolerate both, and none selects by the old label',
    find: templates,
  },
  { goal: 'Every node with the old taint carries the new one, too', find: newTaints },
  {
    goal: 'Policies that name the old taint or label name the new one, too, and none keeps the old taint on a node',
    find: policies,
  },
  { goal: 'No node carries the old taint', find: oldTaints },
  { goal: 'No node has the old label', find: oldLabels },
];

function labels({ nodes }: MigrationFacts): RemainingChanges {
  const changes = nodes.flatMap(({ name, labels }): Change[] => {
    const value = own(labels, OLD_ROLE);
    return value === undefined || own(labels, NEW_ROLE) !== undefined ? [] : [{ kind: 'label', node: name, value }];
  });
  return { changes, byHand: [] };
}

function templates(facts: MigrationFacts): RemainingChanges {
  const pairs = taintPairs(facts);
  const changes = facts.workloads.flatMap((workload): Change[] => {
    const tolerations = missingTolerations(workload, pairs, facts);
    const selects = selectsByOldRole(workload);
    return tolerations.length > 0 || selects ? [{ kind: 'template', workload, tolerations, selects }] : [];
  });
  return { changes, byHand: [] };
}

function newTaints({ nodes }: MigrationFacts): RemainingChanges {
  const changes = nodes.flatMap(({ name, taints }) =>
    oldOnes(taints)
      .map(counterpart)
      .filter((taint) => !taints.some((other) => sameTaint(other, taint)))
      .map((taint): Change => ({ kind: 'taint', node: name, taint })),
  );
  return { changes, byHand: [] };
}

function oldTaints({ nodes, policies }: MigrationFacts): RemainingChanges {
  const { taintPolicies } = compilePolicies(policies);
  const changes: Change[] = [];
  const byHand: string[] = [];
  for (const { name, labels, taints, allowRemoval } of nodes) {
    const released: Taint[] = [];
    for (const taint of oldOnes(taints)) {
      const guards = taintPolicies.filter(
        (policy) => isEnforced(policy) && policy.selectsNode(labels) && policy.protectingRule(taint) !== undefined,
      );
      const stubborn = guards.find((policy) => !policy.allowsRemovalByAnnotation || declares(policy, taint));
      if (!taints.some((other) => sameTaint(other, counterpart(taint)))) {
        byHand.push(`node ${name} does not carry the new taint yet: add that first, then remove ${formatTaint(taint)}`);
      } else if (stubborn) {
        byHand.push(
          `node ${name}: TaintPolicy ${stubborn.name} keeps ${formatTaint(taint)} on the node: change the policy first`,
        );
      } else {
        const guarded = guards.length > 0;
        if (guarded) released.push(taint);
        changes.push({
          kind: 'untaint',
          node: name,
          taint,
          allowRemoval: guarded ? allowRemovalWith(allowRemoval, released) : undefined,
        });
      }
    }
  }
  return { changes, byHand };
}

function oldLabels({ nodes }: MigrationFacts): RemainingChanges {
  const old = nodes.filter(({ labels }) => own(labels, OLD_ROLE) !== undefined);
  const { ready = [], waiting = [] } = Object.groupBy(old, ({ labels }) =>
    own(labels, NEW_ROLE) === undefined ? 'waiting' : 'ready',
  );
  return {
    changes: ready.map(({ name }) => ({ kind: 'unlabel', node: name })),
    byHand: waiting.map(
      ({ name }) => `node ${name} does not have the new label yet: add that first, then remove the old one`,
    ),
  };
}

function policies(facts: MigrationFacts): RemainingChanges {
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
      return { changes, byHand: selectsByOldLabel(policy) ? [...byHand, byLabel] : byHand };
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
    .filter(({ taints }) => oldOnes(taints).some((taint) => compiled.protectingRule(taint) !== undefined));
  const givesUp =
    !compiled.allowsRemovalByAnnotation &&
    isEnforced(compiled) &&
    carriers.length > 0 &&
    carriers.every(({ taints }) =>
      oldOnes(taints).every((taint) => taints.some((other) => sameTaint(other, counterpart(taint)))),
    );
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

/** Whether the policy selects its nodes by the old label. */
function selectsByOldLabel({ spec: { nodeSelector } }: TaintPolicy): boolean {
  const { matchLabels = {}, matchExpressions = [] } = nodeSelector ?? {};
  return Object.hasOwn(matchLabels, OLD_ROLE) || matchExpressions.some(({ key }) => key === OLD_ROLE);
}

function declares({ required }: CompiledTaintPolicy, taint: Taint): boolean {
  return required.some((one) => identity(one.taint) === identity(taint));
}

function oldOnes(taints: readonly Taint[]): Taint[] {
  return taints.filter(({ key }) => key === OLD_ROLE);
}

function counterpart({ value, effect }: Taint): Taint {
  return { key: NEW_ROLE, ...(value ? { value } : {}), effect };
}
