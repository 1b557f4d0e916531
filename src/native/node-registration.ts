import { any, type Expression, FALSE, referenced, type Variable } from '../cel/expression.ts';
import { EMPTY, isEmpty } from '../cel/lists.ts';
import { ALLOWS_ITSELF } from '../cel-rules/annotations.ts';
import { conditionsOf } from '../cel-rules/node-policies.ts';
import { LABELS } from '../cel-rules/selection.ts';
import { lacksDeclared, TAINTS } from '../cel-rules/taints.ts';
import { clearsEntriesAtRegistration } from '../judge/allow-removal.ts';
import { taintsToSet } from '../judge/declared-taints.ts';
import { requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { taintIdentity } from '../kubernetes/taint.ts';
import type { CompiledTaintPolicy, EnsuredTaint } from '../policy/compiled-taint-policy.ts';
import { isEnforced } from '../policy/enforcement.ts';
import { byStrength } from '../policy/policy-set.ts';
import { type Assembled, mutating, validating } from './assemble.ts';
import { declaredThat, declaredUnless, listOfDeclared } from './declared-taints.ts';
import { type NativePart, nativeName } from './native-parts.ts';
import { NODE_CREATIONS } from './native-policy.ts';
import { missingMessage, reportActions, violationVariables } from './node-messages.ts';
import { puttingTaints } from './put-taints.ts';
import { DELETED_FROM_NEW_NODE } from './rewrite-allow-removal.ts';
import type { Target } from './translation.ts';

/** The stronger ones of the other policies that may select the same node and set taints when it registers. */
function strongerThan(policy: CompiledTaintPolicy, others: readonly CompiledTaintPolicy[]): CompiledTaintPolicy[] {
  const own = requirementsOf(policy.nodeSelector);
  return others
    .filter((one) => isEnforced(one) && one.ensured.length > 0 && byStrength(one, policy) < 0)
    .filter(({ nodeSelector }) => satisfiable([...own, ...requirementsOf(nodeSelector)]));
}

/** True for a node to which a stronger policy gives another value of the taint. */
function isOverridden({ taint, anyValue }: EnsuredTaint, stronger: readonly CompiledTaintPolicy[]): Expression {
  if (anyValue) return FALSE;
  const overrides = (one: EnsuredTaint) =>
    taintIdentity(one.taint) === taintIdentity(taint) &&
    !one.anyValue &&
    (one.taint.value ?? '') !== (taint.value ?? '');
  return any(
    stronger.filter((one) => taintsToSet(one.ensured).some(overrides)).map((one) => conditionsOf(one).selects.after),
  );
}

/**
 * A node that registers gets the policy's required and startup taints, unless a stronger policy sets another value.
 *
 * @param others the other policies that are in force
 */
export function registration(policy: CompiledTaintPolicy, others: readonly CompiledTaintPolicy[]): Assembled[] {
  const ensured = taintsToSet(policy.ensured);
  if (!isEnforced(policy) || ensured.length === 0) return [];
  // A stronger policy that declares the taint with another value wins.
  const stronger = strongerThan(policy, others);
  const declared = declaredUnless(ensured, (one) => isOverridden(one, stronger));
  if (declared === EMPTY) return [];
  const { variables, missing } = missingTaints(declared, ensured.length);
  const put = puttingTaints(TAINTS, missing);
  return mutating({
    ...onCreation(policy, 'register'),
    variables: [...variables, ...put.variables],
    reinvocationPolicy: 'Never',
    mutations: [put.operations],
  });
}

/**
 * Nothing has been allowed on a new node, whatever it says. The policy does so for nodes that it does not select, too: their labels may change later.
 */
export function disallowance(policy: CompiledTaintPolicy): Assembled[] {
  if (!clearsEntriesAtRegistration(policy)) return [];
  return mutating({
    name: nativeName(policy.name, 'disallow'),
    failurePolicy: 'Ignore',
    resourceRules: NODE_CREATIONS,
    conditions: { 'allows-itself': ALLOWS_ITSELF },
    variables: [],
    reinvocationPolicy: 'Never',
    mutations: [DELETED_FROM_NEW_NODE],
  });
}

/** Reports which required and startup taints a node still lacks when it registers. An Audit policy sets none. */
export function registrationReport(policy: CompiledTaintPolicy, { purpose }: Target): Assembled[] {
  const declared = taintsToSet(policy.ensured);
  if (declared.length === 0) return [];
  const { variables, missing } = missingTaints(listOfDeclared(declared), declared.length);
  return validating({
    ...onCreation(policy, 'report-registration'),
    variables: [...variables, ...violationVariables(referenced(missing))],
    actions: reportActions(purpose),
    validations: [{ holds: isEmpty(missing), message: missingMessage(policy) }],
  });
}

function onCreation({ name, nodeSelector }: CompiledTaintPolicy, part: NativePart) {
  return {
    name: nativeName(name, part),
    failurePolicy: 'Ignore',
    resourceRules: NODE_CREATIONS,
    objectSelector: nodeSelector,
    conditions: {},
  } as const;
}

const LACKS_DECLARED = lacksDeclared(TAINTS);

/**
 * The taints of the list that a new node lacks.
 * @param count how many taints the list has
 */
function missingTaints(list: Expression, count: number): { variables: readonly Variable[]; missing: Variable } {
  const declared: Variable = { name: 'required', definition: list };
  const missing: Variable = { name: 'missing', definition: declaredThat(declared, LACKS_DECLARED, count) };
  return { variables: [TAINTS, LABELS, declared, missing], missing };
}
