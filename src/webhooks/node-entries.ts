import { type Chosen, narrowest } from '../cel/budget.ts';
import { all, any, bind, cel, type Expression, FALSE, not, TRUE, type Variable } from '../cel/expression.ts';
import { literals } from '../cel/lists.ts';
import { lacksPresentTaint, protectedKeys, whenTaintsChange } from '../conditions/dropped-taints.ts';
import { additionVariables } from '../conditions/guarded-taints.ts';
import { additionRulesOf, carriesProtected, mayReturn, rulesOf } from '../conditions/node-policies.ts';
import { onUpdate, RESTORES_NATIVELY } from '../conditions/node-update.ts';
import { lasting } from '../conditions/protected-taints.ts';
import { IS_NODE, LABELS, meetsBeforeOrAfter } from '../conditions/selection.ts';
import { taintsOf } from '../conditions/taints.ts';
import { REMEMBERED_ANNOTATION, readsRecords } from '../judge/memory.ts';
import { RESTORED_ANNOTATION } from '../judge/node-view.ts';
import { ALLOW_REMOVAL_ANNOTATION, REMOVED_ANNOTATION } from '../judge/removal.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { requirementsOfAny } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { entry, type WebhookEntry } from './entry.ts';

const TAINTS: Variable = { name: 'taints', definition: taintsOf('object') };
const CREATE_VARIABLES: readonly Variable[] = [TAINTS, LABELS];

/** An update of a node that one of the policies is for, by its labels before or after. */
function onUpdateOf(policies: readonly CompiledTaintPolicy[]) {
  const objectSelector = requirementsOfAny(policies.map(({ nodeSelector }) => nodeSelector));
  return { resource: 'nodes', operations: ['UPDATE'], objectSelector } as const;
}

const ON_CREATE = { resource: 'nodes', operations: ['CREATE'], failurePolicy: 'Ignore' } as const;

/** True when the new node has one of the annotations already that say what became, or is to become, of its taints. */
const SAYS_OF_ITSELF = cel(60)`(has(object.metadata.annotations) && ${literals([
  REMEMBERED_ANNOTATION,
  REMOVED_ANNOTATION,
  RESTORED_ANNOTATION,
  ALLOW_REMOVAL_ANNOTATION,
])}.exists(a, a in object.metadata.annotations))`;

/** The webhooks for nodes. */
export function nodeEntries(policies: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const binding = policies.filter(({ mode }) => mode !== 'Audit');
  const [failing, others] = [true, false].map((fails) =>
    policies.filter(({ failurePolicy }) => (failurePolicy === 'Fail') === fails),
  ) as [CompiledTaintPolicy[], CompiledTaintPolicy[]];
  // Whoever guards a taint, it is wanted by whoever declares it.
  const additions = additionVariables(policies, additionRulesOf(policies));
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

/**
 * A node registers that lacks a required taint, has a taint that is to be remembered, says itself what it remembers or was rid of, or may
 * have been there before.
 */
function registration(binding: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const concerns = onCreation(
    any([
      binding.some(readsRecords) ? SAYS_OF_ITSELF : FALSE,
      lacksPresentTaint(binding),
      mayReturn(binding),
      bind([lasting('taints', rulesOf(binding))], carriesProtected('taints', binding)),
    ]),
  );
  return entry(concerns, {
    name: 'register.taintkeeper.dev',
    phase: 'mutate',
    ...ON_CREATE,
    conditions: { 'concerns-a-policy': concerns.expression },
  });
}

/** A node registers that still lacks a required taint, or perhaps one that it carried before. */
function registrationReport(policies: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const lacks = onCreation(any([lacksPresentTaint(policies), mayReturn(policies)]));
  return entry(lacks, {
    name: 'report-registration.taintkeeper.dev',
    phase: 'validate',
    ...ON_CREATE,
    conditions: { 'lacks-present-taint': lacks.expression },
  });
}

/** A condition on the creation of a node. One with more taints than can be looked at meets it. */
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
 * Mutation of an update: a taint has to be put back or taken out, an entry of the allow-removal annotation to be taken out, or what the node has
 * to be remembered; a native policy has put a taint back, which the requester is to be told; or a policy that could stop the update lets
 * it pass, which is to be told as well.
 */
function restoration(binding: readonly CompiledTaintPolicy[], additions: readonly Variable[]): WebhookEntry[] {
  const keys = protectedKeys([...rulesOf(binding), ...additionRulesOf(binding)]);
  const told = binding.some((policy) => policy.restoresNatively) ? all([not(IS_NODE), RESTORES_NATIVELY]) : FALSE;
  // Of what Deny policies refuse to whoever asks, validation alone has something to say.
  const admitting = binding.filter(({ mode, exemptsAnybody }) => mode === 'Restore' || exemptsAnybody);
  const concerns = onUpdate((questions, size) =>
    any([
      told,
      whenTaintsChange({
        exact: any([
          questions.byAnyone(binding),
          // What a node itself writes is never patched.
          all([not(IS_NODE), questions.adds(binding)]),
          questions.guardedFromAnyone(admitting),
        ]),
        additions,
        protectedKeys: keys,
        size,
      }),
      questions.leaves(binding, size),
      questions.announces(binding.filter(({ rules }) => rules.length > 0)),
    ]),
  );
  return entry(concerns, {
    name: 'restore.taintkeeper.dev',
    phase: 'mutate',
    ...onUpdateOf(binding),
    // A record may stand on any node: whoever writes nodes can write one, and a native policy whose own selector is out of date.
    ...(told === FALSE ? {} : { objectSelector: [] }),
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'IfNeeded',
    conditions: { 'concerns-a-policy': concerns.expression },
  });
}

/** Somebody whom the policy does not exempt drops a protected taint, adds one that is guarded, or takes the node out of it. */
function protection(failing: readonly CompiledTaintPolicy[], additions: readonly Variable[]): Chosen {
  const keys = protectedKeys([...rulesOf(failing), ...additionRulesOf(failing)]);
  return onUpdate((questions, size) => {
    const exact = any([questions.unlessExempt(failing), questions.guarded(failing)]);
    return any([whenTaintsChange({ exact, protectedKeys: keys, additions, size }), questions.unselects(failing, size)]);
  });
}

/** What the webhook that fails closed is called for. */
interface Protects {
  readonly condition: Expression;
  readonly selector: readonly LabelSelectorRequirement[];
}

/** What is against a policy that fails open, or seen by one in mode Audit: no request is to be judged twice. */
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
      questions.guardedFromAnyone(watching),
      questions.guarded(binding),
    ]);
    return any([
      whenTaintsChange({ exact, protectedKeys: keys, additions, size }),
      questions.leaves(watching, size),
      questions.unselects(binding, size),
    ]);
  });
  const updates = onUpdateOf(policies);
  // A condition that is wider than the policies may be true for nodes that the selector keeps away from the other webhook.
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
