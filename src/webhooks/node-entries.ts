import { type Chosen, narrowest } from '../cel/budget.ts';
import { all, any, bind, cel, type Expression, FALSE, literal, not, TRUE, type Variable } from '../cel/expression.ts';
import { additionRulesOf, mayReturn, rulesOf } from '../conditions/node-policies.ts';
import { ADDS_TO_ANNOUNCED, onUpdate } from '../conditions/node-update.ts';
import { additionVariables } from '../conditions/restricted-additions.ts';
import { IS_NODE, LABELS, meetsBeforeOrAfter } from '../conditions/selection.ts';
import { lacksPresentTaint, protectedKeys, whenTaintsChange } from '../conditions/taint-changes.ts';
import { taintsOf } from '../conditions/taints.ts';
import { ALLOW_REMOVAL_ANNOTATION, mayBePermitted, readsAllowRemoval } from '../judge/allow-removal.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { requirementsOfAny } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { entry, type WebhookEntry } from './entry.ts';

const TAINTS: Variable = { name: 'taints', definition: taintsOf('object') };
const CREATE_VARIABLES: readonly Variable[] = [TAINTS, LABELS];

/** An update of a node that one of the policies selects, by its labels before or after. */
function onUpdateOf(policies: readonly CompiledTaintPolicy[]) {
  const objectSelector = requirementsOfAny(policies.map(({ nodeSelector }) => nodeSelector));
  return { resource: 'nodes', operations: ['UPDATE'], objectSelector } as const;
}

const ON_CREATE = { resource: 'nodes', operations: ['CREATE'], failurePolicy: 'Ignore' } as const;

/** True when the new node announces removals itself. */
const ANNOUNCES_ITSELF = cel(
  60,
)`(has(object.metadata.annotations) && ${literal(ALLOW_REMOVAL_ANNOTATION)} in object.metadata.annotations)`;

/** The webhooks for nodes. */
export function nodeEntries(policies: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const binding = policies.filter(({ mode }) => mode !== 'Audit');
  const [failing, others] = [true, false].map((fails) =>
    policies.filter(({ failurePolicy }) => (failurePolicy === 'Fail') === fails),
  ) as [CompiledTaintPolicy[], CompiledTaintPolicy[]];
  // A required taint counts whichever policy requires it.
  const removed = { withValue: TRUE, withAnyValue: TRUE };
  const additions = additionVariables(policies, additionRulesOf(policies), removed);
  const protects = protection(failing, additions);
  const updates = onUpdateOf(failing);
  return [
    ...registration(binding),
    ...restoration(binding, additions),
    ...entry(protects, {
      name: 'protect.taintkeeper.dev',
      phase: 'validate',
      ...updates,
      failurePolicy: 'Fail',
      conditions: { 'is-against-a-policy': protects.expression },
    }),
    ...report(others, additions, { condition: protects.expression, selector: updates.objectSelector }),
    ...registrationReport(policies),
  ];
}

/** A node registers that lacks a required taint, announces removals itself, or may have existed before. */
function registration(binding: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const concerns = onCreation(
    any([binding.some(readsAllowRemoval) ? ANNOUNCES_ITSELF : FALSE, lacksPresentTaint(binding), mayReturn(binding)]),
  );
  return entry(concerns, {
    name: 'register.taintkeeper.dev',
    phase: 'mutate',
    ...ON_CREATE,
    conditions: { 'concerns-a-policy': concerns.expression },
  });
}

/** A node registers that still lacks a required taint, or perhaps a taint that it carried before. */
function registrationReport(policies: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const lacks = onCreation(any([lacksPresentTaint(policies), mayReturn(policies)]));
  return entry(lacks, {
    name: 'report-registration.taintkeeper.dev',
    phase: 'validate',
    ...ON_CREATE,
    conditions: { 'lacks-present-taint': lacks.expression },
  });
}

/** A condition on the creation of a node. It is true for a node with more taints than the expression can evaluate. */
function onCreation(condition: Expression): Chosen {
  return narrowest([
    {
      build(size) {
        if (condition === FALSE) return FALSE;
        return bind(CREATE_VARIABLES, any([cel(3)`size(${TAINTS}) > ${size}`, condition]));
      },
    },
    { build: () => TRUE, widened: 'too many policies for one expression: it is true for every new node' },
  ]);
}

/**
 * Mutation of an update: it must restore or remove a taint, or update the allow-removal annotation. It also reports that a policy which could refuse
 * the update lets it pass.
 */
function restoration(binding: readonly CompiledTaintPolicy[], additions: readonly Variable[]): WebhookEntry[] {
  const keys = protectedKeys([...rulesOf(binding), ...additionRulesOf(binding)]);
  // For Deny policies that exempt no user, only validation decides.
  const admitting = binding.filter(({ mode, exemptsUsers }) => mode === 'Restore' || exemptsUsers);
  const isPermitting = binding.some((policy) => policy.removalRules.length > 0 && mayBePermitted(policy));
  const concerns = onUpdate((questions, size) =>
    any([
      whenTaintsChange({
        exact: any([
          questions.byAnyone(binding),
          // A node's own updates are never patched.
          isPermitting ? all([not(IS_NODE), ADDS_TO_ANNOUNCED]) : FALSE,
          questions.addsRestricted(admitting),
        ]),
        additions,
        protectedKeys: keys,
        size,
      }),
      questions.leaves(binding, size),
      questions.announces(binding.filter(({ removalRules }) => removalRules.length > 0)),
    ]),
  );
  return entry(concerns, {
    name: 'restore.taintkeeper.dev',
    phase: 'mutate',
    ...onUpdateOf(binding),
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'IfNeeded',
    conditions: { 'concerns-a-policy': concerns.expression },
  });
}

/** A user whom the policy does not exempt removes a protected taint, adds a restricted one, or takes the node out of the policy. */
function protection(failing: readonly CompiledTaintPolicy[], additions: readonly Variable[]): Chosen {
  const keys = protectedKeys([...rulesOf(failing), ...additionRulesOf(failing)]);
  return onUpdate((questions, size) => {
    const exact = any([questions.unlessExempt(failing), questions.addsRestrictedUnlessExempt(failing)]);
    return any([whenTaintsChange({ exact, protectedKeys: keys, additions, size }), questions.unselects(failing, size)]);
  });
}

/** The requests for which the webhook that fails closed is called. */
interface Protects {
  readonly condition: Expression;
  readonly selector: readonly LabelSelectorRequirement[];
}

/** Violations of policies that fail open, and changes that policies in mode Audit report. No request is judged twice. */
function report(
  policies: readonly CompiledTaintPolicy[],
  additions: readonly Variable[],
  { condition, selector }: Protects,
): WebhookEntry[] {
  const watching = policies.filter(({ mode }) => mode === 'Audit');
  const binding = policies.filter(({ mode }) => mode !== 'Audit');
  const keys = protectedKeys([...rulesOf(policies), ...additionRulesOf(policies)]);
  const concerns = onUpdate((questions, size) => {
    const exact = any([
      questions.byAnyone(watching),
      questions.unlessExempt(binding),
      questions.addsRestricted(watching),
      questions.addsRestrictedUnlessExempt(binding),
    ]);
    return any([
      whenTaintsChange({ exact, protectedKeys: keys, additions, size }),
      questions.leaves(watching, size),
      questions.unselects(binding, size),
    ]);
  });
  const updates = onUpdateOf(policies);
  // A condition that is wider than the policies may be true for nodes that the selector excludes from the other webhook.
  const isSame = JSON.stringify(selector) === JSON.stringify(updates.objectSelector);
  return entry(concerns, {
    name: 'report.taintkeeper.dev',
    phase: 'validate',
    ...updates,
    failurePolicy: 'Ignore',
    conditions: {
      'concerns-a-policy': concerns.expression,
      'is-not-for-protect': not(isSame ? condition : all([meetsBeforeOrAfter(selector), condition])),
    },
  });
}
