import { any, type Expression, FALSE, reference, type Variable } from '../cel/expression.ts';
import { EMPTY, isEmpty } from '../cel/lists.ts';
import { ALLOWS_ITSELF } from '../cel-rules/annotations.ts';
import { conditionsOf } from '../cel-rules/node-policies.ts';
import { LABELS } from '../cel-rules/selection.ts';
import { lacksDeclared, TAINTS } from '../cel-rules/taints.ts';
import { obeysEntries } from '../judge/allow-removal.ts';
import { requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { identity } from '../kubernetes/taint.ts';
import { byStrength, type CompiledTaintPolicy, type EnsuredTaint, isEnforced } from '../policy/policy-set.ts';
import { DELETED_FROM_NEW_NODE } from './allow-removal.ts';
import { type Assembled, mutating, validating } from './assemble.ts';
import { type NativePart, nativeName } from './native-parts.ts';
import { NODE_CREATIONS, type Target } from './native-policy.ts';
import { missingMessage, reportActions, VIOLATION_VARIABLES } from './node-messages.ts';
import { puttingTaints } from './put-taints.ts';
import { listOfRequired, requiredThat, requiredUnless } from './required-taints.ts';

/** The required and startup taints of a policy, which new nodes get. If it declares one with a value and with any value, the value counts. */
function registrationTaintsOf({ ensured }: CompiledTaintPolicy): EnsuredTaint[] {
  const withValue = new Map(ensured.filter(({ anyValue }) => !anyValue).map((one) => [identity(one.taint), one]));
  return [...new Map(ensured.map((one) => [identity(one.taint), withValue.get(identity(one.taint)) ?? one])).values()];
}

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
    identity(one.taint) === identity(taint) && !one.anyValue && (one.taint.value ?? '') !== (taint.value ?? '');
  return any(
    stronger.filter((one) => registrationTaintsOf(one).some(overrides)).map((one) => conditionsOf(one).selects.after),
  );
}

/**
 * A node that registers gets the policy's required and startup taints, unless a stronger policy sets another value.
 *
 * @param others the other policies that are in force
 */
export function registration(policy: CompiledTaintPolicy, others: readonly CompiledTaintPolicy[]): Assembled[] {
  const { length: count } = registrationTaintsOf(policy);
  if (!isEnforced(policy) || count === 0) return [];
  // A stronger policy that declares the taint with another value wins.
  const stronger = strongerThan(policy, others);
  const required = requiredUnless(registrationTaintsOf(policy), (one) => isOverridden(one, stronger));
  if (required === EMPTY) return [];
  const put = puttingTaints('taints', 'missing');
  return mutating({
    ...onCreation(policy, 'register'),
    variables: [...CREATE_VARIABLES, { name: 'required', definition: required }, missing(count), ...put.variables],
    reinvocationPolicy: 'Never',
    mutations: [put.operations],
  });
}

/**
 * Nothing has been allowed on a new node, whatever it says. The policy does so for nodes that it does not select, too: their labels may change later.
 */
export function disallowance(policy: CompiledTaintPolicy): Assembled[] {
  if (!obeysEntries(policy)) return [];
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
  const required = registrationTaintsOf(policy);
  if (required.length === 0) return [];
  return validating({
    ...onCreation(policy, 'report-registration'),
    variables: [
      ...CREATE_VARIABLES,
      { name: 'required', definition: listOfRequired(required) },
      missing(required.length),
      { name: 'violations', definition: reference('missing') },
      ...VIOLATION_VARIABLES,
    ],
    actions: reportActions(purpose),
    validations: [{ holds: isEmpty(reference('missing')), message: missingMessage(policy) }],
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

const CREATE_VARIABLES: readonly Variable[] = [TAINTS, LABELS];

/** @param count how many taints the variable `required` has */
const missing = (count: number): Variable => ({
  name: 'missing',
  definition: requiredThat(LACKS_REQUIRED, count),
});

const LACKS_REQUIRED = lacksDeclared(TAINTS);
