import { type Chosen, narrowest } from '../cel/budget.ts';
import { all, any, bind, type Expression, FALSE, literal, not, other, TRUE, type Variable } from '../cel/expression.ts';
import { lacksPresentTaint, protectedKeys, whenTaintsChange } from '../conditions/dropped-taints.ts';
import { carriesProtected, type NodePolicy, readNodePolicy, rulesOf } from '../conditions/node-policies.ts';
import { onUpdate } from '../conditions/node-update.ts';
import { RESTORES_NATIVELY } from '../conditions/protection-changes.ts';
import { IS_NODE, LABELS } from '../conditions/selection.ts';
import { lasting, taintsOf } from '../conditions/taints.ts';
import { REMEMBERED_ANNOTATION } from '../judge/memory.ts';
import { REMOVED_ANNOTATION } from '../judge/removal.ts';
import { requirementsOfAny } from '../kubernetes/selector-overlap.ts';
import type { TaintPolicy } from '../policy/policy.ts';
import { entry, type WebhookEntry } from './entry.ts';

const CREATE_VARIABLES: readonly Variable[] = [{ name: 'taints', definition: taintsOf('object') }, LABELS];

type OnUpdate = Pick<WebhookEntry, 'resource' | 'operations' | 'objectSelector'>;

/** The same for all of them: between them they share out the updates by their conditions only. */
function onUpdateOf(policies: readonly TaintPolicy[]): OnUpdate {
  const objectSelector = requirementsOfAny(policies.map(({ spec }) => spec.nodeSelector));
  return { resource: 'nodes', operations: ['UPDATE'], objectSelector };
}

const ON_CREATE = { resource: 'nodes', operations: ['CREATE'], failurePolicy: 'Ignore' } as const;

/** True when the new node has one of the annotations already that say what became of its taints. */
const SAYS_OF_ITSELF = other(
  `(has(object.metadata.annotations) && [${[REMEMBERED_ANNOTATION, REMOVED_ANNOTATION].map(literal).join(', ')}].exists(a, a in object.metadata.annotations))`,
  40,
);

/** The webhooks for nodes. */
export function nodeEntries(taintPolicies: readonly TaintPolicy[], audit: boolean): WebhookEntry[] {
  const policies = taintPolicies.map((policy) => readNodePolicy(policy, audit));
  const binding = policies.filter(({ mode }) => mode !== 'Audit');
  const updates = onUpdateOf(taintPolicies);
  const protects = protection(policies.filter(({ failurePolicy }) => failurePolicy === 'Fail'));
  return [
    ...registration(binding),
    ...restoration(binding, updates),
    ...entry(protects, {
      name: 'protect.taintkeeper.dev',
      phase: 'validate',
      ...updates,
      failurePolicy: 'Fail',
      conditions: { 'drops-protected-taint': protects.expression },
    }),
    ...report(policies, binding, protects.expression, updates),
    ...registrationReport(policies),
  ];
}

/** A node registers that lacks a Present taint, has a taint that is to be remembered, or says itself what it remembers or was rid of. */
function registration(binding: readonly NodePolicy[]): WebhookEntry[] {
  const concerns = onCreation(
    any([
      binding.length === 0 ? FALSE : SAYS_OF_ITSELF,
      lacksPresentTaint(binding),
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

/** A node registers that still lacks a Present taint. */
function registrationReport(policies: readonly NodePolicy[]): WebhookEntry[] {
  const lacks = onCreation(lacksPresentTaint(policies));
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
        return bind(CREATE_VARIABLES, any([other(`size(taints) > ${size}`, 3, ['taints']), condition]));
      },
    },
    { build: () => TRUE, widened: 'too many policies for one expression: it is true for every new node' },
  ]);
}

/**
 * Mutation of an update: a taint has to be put back, an entry of the release annotation to be taken out, or what the node has
 * to be remembered; or a native policy has put a taint back, which the requester is to be told. What a node itself writes is never
 * patched.
 */
function restoration(binding: readonly NodePolicy[], updates: OnUpdate): WebhookEntry[] {
  const keys = protectedKeys(rulesOf(binding));
  const told = binding.some((policy) => policy.restoresNatively) ? RESTORES_NATIVELY : FALSE;
  const concerns = onUpdate((questions, size) =>
    all([
      not(IS_NODE),
      any([
        told,
        whenTaintsChange({
          exact: any([questions.byAnyone(binding), questions.adds(binding)]),
          protectedKeys: keys,
          size,
        }),
      ]),
    ]),
  );
  return entry(concerns, {
    name: 'restore.taintkeeper.dev',
    phase: 'mutate',
    ...updates,
    // A record may stand on any node: whoever writes nodes can write one, and a native policy whose own selector is out of date.
    ...(told === FALSE ? {} : { objectSelector: [] }),
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'IfNeeded',
    conditions: { 'changes-protected-taint': concerns.expression },
  });
}

/** A protected taint is dropped by somebody whom the policy does not exempt. */
function protection(failing: readonly NodePolicy[]): Chosen {
  const keys = protectedKeys(rulesOf(failing));
  return onUpdate((questions, size) =>
    whenTaintsChange({ exact: questions.unlessExempt(failing), protectedKeys: keys, size }),
  );
}

/** All else that there is to say of an update: no request is to be judged twice. */
function report(
  policies: readonly NodePolicy[],
  binding: readonly NodePolicy[],
  protects: Expression,
  updates: OnUpdate,
): WebhookEntry[] {
  const keys = protectedKeys(rulesOf(policies));
  const concerns = onUpdate((questions, size) =>
    any([
      whenTaintsChange({ exact: questions.byAnyone(policies), protectedKeys: keys, size }),
      questions.leaves(policies, size),
      questions.announces(binding),
    ]),
  );
  return entry(concerns, {
    name: 'report.taintkeeper.dev',
    phase: 'validate',
    ...updates,
    failurePolicy: 'Ignore',
    conditions: { 'concerns-a-policy': concerns.expression, 'is-not-for-protect': not(protects) },
  });
}
