import { all, any, bind, type Expression, not, TRUE, type Variable } from './cel.ts';
import { type Chosen, narrowest } from './cel-budget.ts';
import { protectedKeys, whenTaintsDrop } from './cel-dropped-taints.ts';
import { type NodePolicy, readNodePolicy, rulesOf } from './cel-node-policies.ts';
import { onUpdate } from './cel-node-update.ts';
import { lacksPresentTaint } from './cel-present-taints.ts';
import { CARRIES_RELEASE } from './cel-protection-changes.ts';
import { IS_NODE } from './cel-requester.ts';
import { LABELS } from './cel-selector.ts';
import { taintsOf } from './cel-taints.ts';
import type { Phase } from './decision.ts';
import type { TaintPolicy } from './policy.ts';
import { entry, type WebhookEntry } from './webhook-entry.ts';

const CREATE_VARIABLES: readonly Variable[] = [{ name: 'taints', definition: taintsOf('object') }, LABELS];

const ON_UPDATE = { resource: 'nodes', operations: ['UPDATE'] } as const;
const ON_CREATE = { resource: 'nodes', operations: ['CREATE'], failurePolicy: 'Ignore' } as const;

/** The webhooks for nodes. */
export function nodeEntries(taintPolicies: readonly TaintPolicy[], audit: boolean): WebhookEntry[] {
  const policies = taintPolicies.map((policy) => readNodePolicy(policy, audit));
  const binding = policies.filter(({ mode }) => mode !== 'Audit');
  const protects = protection(policies.filter(({ failurePolicy }) => failurePolicy === 'Fail'));
  return [
    ...registration('register.taintkeeper.dev', 'mutate', binding),
    ...restoration(binding),
    ...entry(protects, {
      name: 'protect.taintkeeper.dev',
      phase: 'validate',
      ...ON_UPDATE,
      failurePolicy: 'Fail',
      conditions: { 'drops-protected-taint': protects.expression },
    }),
    ...report(policies, binding, protects.expression),
    ...registration('report-registration.taintkeeper.dev', 'validate', policies),
  ];
}

/** A node that registers lacks a Present taint. */
function registration(name: string, phase: Phase, policies: readonly NodePolicy[]): WebhookEntry[] {
  const lacks = narrowest([
    { build: (size) => bind(CREATE_VARIABLES, lacksPresentTaint(policies, size)) },
    { build: () => TRUE, widened: 'too many policies for one expression: it is true for every new node' },
  ]);
  return entry(lacks, { name, phase, ...ON_CREATE, conditions: { 'lacks-present-taint': lacks.expression } });
}

/**
 * Mutation of an update: a taint has to be put back, or an entry of the release annotation to be taken out. What a node
 * itself writes is never patched.
 */
function restoration(binding: readonly NodePolicy[]): WebhookEntry[] {
  const restoring = binding.filter(({ mode }) => mode === 'Restore');
  // What a Restore policy without exemptions protects is put back, or its release is spent: the first question covers it.
  const spending = binding.filter(
    ({ mode, exempts, spendsReleases }) => spendsReleases && (mode === 'Deny' || exempts),
  );
  const keys = protectedKeys(rulesOf([...restoring, ...spending]));
  const drops = onUpdate((questions, size) =>
    all([
      not(IS_NODE),
      whenTaintsDrop({
        exact: any([questions.unlessExempt(restoring), all([CARRIES_RELEASE, questions.byAnyone(spending)])]),
        protectedKeys: keys,
        size,
      }),
    ]),
  );
  return entry(drops, {
    name: 'restore.taintkeeper.dev',
    phase: 'mutate',
    ...ON_UPDATE,
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'IfNeeded',
    conditions: { 'drops-protected-taint': drops.expression },
  });
}

/** A protected taint is dropped by somebody whom the policy does not exempt. */
function protection(failing: readonly NodePolicy[]): Chosen {
  const keys = protectedKeys(rulesOf(failing));
  return onUpdate((questions, size) =>
    whenTaintsDrop({ exact: questions.unlessExempt(failing), protectedKeys: keys, size }),
  );
}

/** All else that there is to say of an update: no request is to be judged twice. */
function report(policies: readonly NodePolicy[], binding: readonly NodePolicy[], protects: Expression): WebhookEntry[] {
  const keys = protectedKeys(rulesOf(policies));
  const concerns = onUpdate((questions, size) =>
    any([
      whenTaintsDrop({ exact: questions.byAnyone(policies), protectedKeys: keys, size }),
      questions.leaves(policies, size),
      questions.announces(binding),
    ]),
  );
  return entry(concerns, {
    name: 'report.taintkeeper.dev',
    phase: 'validate',
    ...ON_UPDATE,
    failurePolicy: 'Ignore',
    conditions: { 'concerns-a-policy': concerns.expression, 'is-not-for-protect': not(protects) },
  });
}
