import { all, any, cel, type Expression, FALSE, not, type Variable } from '../cel/expression.ts';
import { each, those, together } from '../cel/lists.ts';
import { beginsToSelect, conditionsOf } from '../cel-rules/node-policies.ts';
import { LABELS_CHANGE } from '../cel-rules/node-update.ts';
import { isProtected } from '../cel-rules/protected-taints.ts';
import { IS_NODE } from '../cel-rules/selection.ts';
import { settableOnSelection } from '../cel-rules/taint-changes.ts';
import { lacksDeclared, NAME_WITHOUT_VALUE, TAINTS_AFTER } from '../cel-rules/taints.ts';
import { sameTaint, TAINT_EFFECTS } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { ALLOWED, allowedByAnnotation, MAX_ENTRIES, SPLIT_COST } from './allow-removal-entries.ts';
import { type Assembled, mutating } from './assemble.ts';
import { declaredThat, declaredUnless } from './declared-taints.ts';
import { nativeName } from './native-parts.ts';
import { NODE_UPDATES } from './native-policy.ts';
import { isProtectedByOthers, policyGroups } from './policy-groups.ts';
import { puttingTaints } from './put-taints.ts';
import { type AmongPolicies, updateVariables } from './update-variables.ts';

/** The name of `required`, a map, as {@link NAME_WITHOUT_VALUE} names a taint. */
const REQUIRED_ID = cel(80)`required.key + ":" + required.effect`;

const READABLE = `^[^\\\\s=:]+(=[^\\\\s=:]*)?:(${TAINT_EFFECTS.join('|')})$`;

/** The readable entries of the annotation before the update, as {@link NAME_WITHOUT_VALUE} names taints: with any value. */
const ALLOWED_IDS: Variable = {
  name: 'allowedIds',
  // For each character, 1.6 for the pattern, which has 65 characters, and 0.7 for the other calls. For each entry, 300 for lists and accesses.
  definition: cel(6 * SPLIT_COST + MAX_ENTRIES * 300)`${ALLOWED}.filter(e, e.matches("${READABLE}"))
  .map(e, e.split(":")[0].split("=")[0] + e.substring(e.lastIndexOf(":")))`,
};

/** {@link keepsOff} in CEL, of `required`: two searches, another name and accesses. */
const IS_KEPT_OFF = cel(2 * MAX_ENTRIES + 240)`(has(required.value)
  ? (required.key + "=" + required.value + ":" + required.effect) in ${ALLOWED} ||
    required.value == "" && (${REQUIRED_ID}) in ${ALLOWED}
  : (${REQUIRED_ID}) in ${ALLOWED_IDS})`;

/**
 * An update that makes the policy select a node is a registration for it: the node gets the required taints that do not evict its pods, as
 * {@link taintsOnSelection} says. A node's own update is never patched.
 */
export function selection(context: AmongPolicies): Assembled[] {
  const { policy } = context;
  const { name, mode, nodeSelector, allowsRemovalByAnnotation } = policy;
  const taints = settableOnSelection(policy);
  if (!isEnforced(policy) || taints.length === 0) return [];
  const others = context.among.filter((other) => other.name !== name && isEnforced(other));
  // A removal that is refused, or that another policy reverts, must not become a change to the required value, which always passes.
  const keeping = policyGroups(mode === 'Deny' ? [...others, policy] : others);
  const { variables, removed } = updateVariables(context);
  const allowed = allowedByAnnotation(removed);
  const protectedByOthers: Variable = {
    name: 'protectedByOthers',
    definition: those(TAINTS_AFTER, isProtectedByAnother(others)),
  };
  const keptRemoved: Variable = {
    name: 'keptRemoved',
    definition: those(removed, isProtectedByOthers(keeping, policy.protectionRules, allowed)),
  };
  const protectedIds: Variable = {
    name: 'protectedIds',
    definition: together([protectedByOthers, keptRemoved].map((list) => each(list, NAME_WITHOUT_VALUE))),
  };
  const required: Variable = {
    name: 'required',
    definition: declaredUnless(taints, (one) => isRequiredOtherwise(one, others)),
  };
  const isMissing = all([
    lacksDeclared(TAINTS_AFTER),
    ...(allowsRemovalByAnnotation ? [not(IS_KEPT_OFF)] : []),
    cel((size) => size + 1)`!((${REQUIRED_ID}) in ${protectedIds})`,
  ]);
  const beginning: Variable = { name: 'beginning', definition: declaredThat(required, isMissing, taints.length) };
  const put = puttingTaints(TAINTS_AFTER, beginning);
  return mutating({
    name: nativeName(name, 'select'),
    failurePolicy: 'Ignore',
    resourceRules: NODE_UPDATES,
    objectSelector: nodeSelector,
    conditions: { 'begins-to-select': all([LABELS_CHANGE, ...beginsToSelect(policy), not(IS_NODE)]) },
    variables: [
      ...variables,
      ALLOWED_IDS,
      protectedByOthers,
      allowed,
      ...keeping.flatMap(({ binds }) => binds.variables),
      keptRemoved,
      protectedIds,
      required,
      beginning,
      ...put.variables,
    ],
    reinvocationPolicy: 'Never',
    mutations: [put.operations],
  });
}

/** True for a node of which another policy requires the taint with another value, or with a value where this one names none. */
function isRequiredOtherwise({ taint, anyValue }: EnsuredTaint, others: readonly CompiledTaintPolicy[]): Expression {
  const requires = ({ required }: CompiledTaintPolicy) =>
    required.some(
      (one) =>
        !one.anyValue && sameTaint(one.taint, taint) && (anyValue || (one.taint.value ?? '') !== (taint.value ?? '')),
    );
  return any(others.filter(requires).map((one) => conditionsOf(one).selects.after));
}

/** True for a taint `t` that one of the policies protects on the node as it is after the update. */
function isProtectedByAnother(others: readonly CompiledTaintPolicy[]): Expression {
  const protecting = others.filter(({ protectionRules }) => protectionRules.length > 0);
  if (protecting.length === 0) return FALSE;
  return any(protecting.map((one) => all([conditionsOf(one).selects.after, isProtected(one.protectionRules)])));
}
