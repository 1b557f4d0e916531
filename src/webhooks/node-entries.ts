import { type Chosen, narrowest } from '../cel/budget.ts';
import { all, any, bind, cel, type Expression, FALSE, not, TRUE, type Variable } from '../cel/expression.ts';
import { ADDS_TO_ALLOWED, ALLOWS_ITSELF, ANNOTATION_COMPARISON_COST, STARTUP_BOOT } from '../cel-rules/annotations.ts';
import { leavablePolicies } from '../cel-rules/ended-startup-taints.ts';
import { conditionsOf, rulesOf } from '../cel-rules/node-policies.ts';
import { onUpdate } from '../cel-rules/node-update.ts';
import { IS_NODE, LABELS, meetsBeforeOrAfter } from '../cel-rules/selection.ts';
import { lacksDeclaredTaint, protectedKeys, whenTaintsChange } from '../cel-rules/taint-changes.ts';
import { TAINTS } from '../cel-rules/taints.ts';
import { clearsEntriesAtRegistration, endsEntries } from '../judge/allow-removal.ts';
import { setsTaintsAgain } from '../judge/node-boot.ts';
import type { LabelSelectorRequirement } from '../kubernetes/label-selector.ts';
import { requirementsOfAny } from '../kubernetes/selector-overlap.ts';
import type { CompiledTaintPolicy } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { entry, type WebhookEntry } from './webhook-entry.ts';

const CREATE_VARIABLES: readonly Variable[] = [TAINTS, LABELS];

/** An update of a node that one of the policies selects, by its labels before or after. */
function onUpdateOf(policies: readonly CompiledTaintPolicy[]) {
  const objectSelector = requirementsOfAny(policies.map(({ nodeSelector }) => nodeSelector));
  return { resource: 'nodes', operations: ['UPDATE'], objectSelector } as const;
}

const ON_CREATE = { resource: 'nodes', operations: ['CREATE'] } as const;

/** The webhooks for nodes. */
export function nodeEntries(policies: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const enforced = policies.filter(isEnforced);
  const failing = policies.filter(({ failurePolicy }) => failurePolicy === 'Fail');
  const others = policies.filter(({ failurePolicy }) => failurePolicy !== 'Fail');
  const protects = protectionCondition(failing, policies);
  const updates = onUpdateOf(failing);
  return [
    ...registration(enforced),
    ...restoration(enforced, policies),
    ...entry(protects, {
      name: 'protect.taintkeeper.dev',
      phase: 'validate',
      ...updates,
      failurePolicy: 'Fail',
      conditions: { 'is-against-a-policy': protects.expression },
    }),
    ...report(others, policies, { condition: protects.expression, selector: updates.objectSelector }),
    ...registrationReport(policies),
  ];
}

/** A node registers that lacks a required or startup taint, allows removals itself, or does not say for which boot it gets startup taints. */
function registration(enforced: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const concerns = onCreation(
    any([
      enforced.some(clearsEntriesAtRegistration) ? ALLOWS_ITSELF : FALSE,
      lacksDeclaredTaint(enforced),
      lacksBoot(enforced),
    ]),
  );
  return entry(concerns, {
    name: 'register.taintkeeper.dev',
    phase: 'mutate',
    ...ON_CREATE,
    failurePolicy: 'Ignore',
    conditions: { 'concerns-a-policy': concerns.expression },
  });
}

/** True for a node that registers with a boot ID that its annotation does not have, and whose startup taints are set again after a reboot. */
function lacksBoot(policies: readonly CompiledTaintPolicy[]): Expression {
  const selected = policies.filter(setsTaintsAgain).map((policy) => conditionsOf(policy).selects.after);
  return all([any(selected), OTHER_BOOT]);
}

const BOOT_ID: Variable = {
  name: 'bootId',
  definition: cel(
    30,
  )`has(object.status) && has(object.status.nodeInfo) && has(object.status.nodeInfo.bootID)\n  ? object.status.nodeInfo.bootID : ""`,
};
const OTHER_BOOT: Expression = bind(
  [BOOT_ID, STARTUP_BOOT],
  all([cel(3)`${BOOT_ID} != ""`, cel(ANNOTATION_COMPARISON_COST)`${STARTUP_BOOT} != ${BOOT_ID}`]),
);

/** A node registers that still lacks a required or startup taint. */
function registrationReport(policies: readonly CompiledTaintPolicy[]): WebhookEntry[] {
  const lacks = onCreation(lacksDeclaredTaint(policies));
  return entry(lacks, {
    name: 'report-registration.taintkeeper.dev',
    phase: 'validate',
    ...ON_CREATE,
    failurePolicy: 'Ignore',
    conditions: { 'lacks-declared-taint': lacks.expression },
  });
}

/** A condition on the creation of a node. It is true for a node with more taints than the expression can evaluate. */
function onCreation(condition: Expression): Chosen {
  return narrowest([
    {
      build(size) {
        if (condition === FALSE) return FALSE;
        return bind(CREATE_VARIABLES, any([cel(2)`size(${TAINTS}) > ${size}`, condition]));
      },
    },
    { build: () => TRUE, widened: 'too many policies for one expression: it is true for every new node' },
  ]);
}

/**
 * Mutation of an update: it must restore a taint, set the required taint of a policy that begins to select the node, or update the allow-removal
 * annotation. It also reports that a policy which could refuse the update exempts the user.
 *
 * @param allPolicies the policies of every mode
 */
function restoration(
  enforced: readonly CompiledTaintPolicy[],
  allPolicies: readonly CompiledTaintPolicy[],
): WebhookEntry[] {
  // For Deny policies that exempt no user, only validation decides.
  const mutating = enforced.filter(({ mode, exemptsUsers }) => mode === 'Restore' || exemptsUsers);
  const keys = protectedKeys(rulesOf(enforced));
  const concerns = onUpdate((update, size) =>
    any([
      whenTaintsChange({
        exact: any([
          update.removesProtected(mutating),
          // A node's own updates are never patched.
          enforced.some(endsEntries) ? all([not(IS_NODE), ADDS_TO_ALLOWED]) : FALSE,
        ]),
        corrections: update.corrections(allPolicies),
        protectedKeys: keys,
        size,
      }),
      update.lacksTaintOnSelection(enforced, size),
    ]),
  );
  return entry(concerns, {
    name: 'restore.taintkeeper.dev',
    phase: 'mutate',
    ...onUpdateOf(enforced),
    failurePolicy: 'Ignore',
    reinvocationPolicy: 'IfNeeded',
    conditions: { 'concerns-a-policy': concerns.expression },
  });
}

/** A user whom the policy does not exempt removes a protected taint. */
function protectionCondition(
  failing: readonly CompiledTaintPolicy[],
  allPolicies: readonly CompiledTaintPolicy[],
): Chosen {
  const keys = protectedKeys(rulesOf(failing));
  return onUpdate((update, size) =>
    whenTaintsChange({
      exact: update.removesProtectedUnlessExempt(failing),
      corrections: update.corrections(allPolicies),
      protectedKeys: keys,
      size,
    }),
  );
}

/** The requests for which the webhook that fails closed is called. */
interface Protects {
  readonly condition: Expression;
  readonly selector: readonly LabelSelectorRequirement[];
}

/**
 * Violations of policies that fail open, changes that policies in mode Audit report, and changes of labels by which a node that waits loses its startup
 * taint. No request is judged twice.
 */
function report(
  policies: readonly CompiledTaintPolicy[],
  allPolicies: readonly CompiledTaintPolicy[],
  { condition, selector }: Protects,
): WebhookEntry[] {
  const audited = policies.filter((policy) => !isEnforced(policy));
  const enforced = policies.filter(isEnforced);
  const keys = protectedKeys(rulesOf(policies));
  const concerns = onUpdate((update, size) =>
    any([
      whenTaintsChange({
        exact: any([update.removesProtected(audited), update.removesProtectedUnlessExempt(enforced)]),
        corrections: update.corrections(allPolicies),
        protectedKeys: keys,
        size,
      }),
      update.endsStartupTaint(allPolicies, size),
    ]),
  );
  const updates = onUpdateOf([...new Set([...policies, ...leavablePolicies(allPolicies)])]);
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
