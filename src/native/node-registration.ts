import {
  any,
  cel,
  choose,
  type Expression,
  FALSE,
  LIST_COST,
  MAP_COST,
  reference,
  STRUCT_COST,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, each, isEmpty, KEPT_ITEM_COST, listOf, overItems, together } from '../cel/lists.ts';
import { conditionsOf } from '../cel-rules/node-policies.ts';
import { ALLOWS_ITSELF } from '../cel-rules/node-update.ts';
import { LABELS } from '../cel-rules/selection.ts';
import { declaredLiteral, IDENTITY, lacksRequired, taintsOf } from '../cel-rules/taints.ts';
import { obeysEntries } from '../judge/allow-removal.ts';
import { requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { identity } from '../kubernetes/taint.ts';
import { byStrength, type CompiledTaintPolicy, type EnsuredTaint } from '../policy/policy-set.ts';
import { DELETED_FROM_NEW_NODE } from './allow-removal.ts';
import { type Assembled, mutating, validating } from './assemble.ts';
import type { ResourceRule, Target } from './native-policy.ts';
import { missingMessage, reportActions, VIOLATION_VARIABLES } from './node-messages.ts';

/**
 * The item `t` of `spec.taints` as a map, with empty texts and null for absent fields, which the API server leaves out again. An item itself must not
 * be in a patch: in Kubernetes 1.37, CEL reads objects through Go's reflection, and such values have no JSON form
 * (https://github.com/kubernetes/kubernetes/pull/138771, seen with 1.37.2). A field costs a call, and up to two accesses of two units each.
 */
const WRITTEN_TAINT = cel(MAP_COST + 4 * 12)`{
    "key": dyn(t.key), "value": dyn(has(t.value) ? t.value : ""), "effect": dyn(t.effect),
    "timeAdded": has(t.timeAdded) ? dyn(t.timeAdded) : dyn(null)
  }`;

interface PutTaints {
  /** The names of the taints of the node: see {@link IDENTITY}. */
  readonly ids: Variable;
  readonly variables: readonly Variable[];
  readonly operations: Expression;
}

/** Comparing two names of 335 characters, at a tenth of a unit each. */
const COMPARED_NAMES_COST = 35;

/**
 * JSONPatch operations, in CEL, that add every taint of `put` to a node's `taints`, both variables: in place of the taint of the same key and effect,
 * or at the end. {@link withTaints} in CEL. Other expressions must not use the variables earlier.
 */
export function puttingTaints(taints: string, put: string): PutTaints {
  const [list, added] = [reference(taints), reference(put)];
  const ids = idsOf(taints);
  const addedIds = idsOf(put);
  const operation = cel(
    (size) =>
      // For each taint of the node: both names, the search for its name in both lists, and the accesses.
      size * (2 * IDENTITY.cost(size) + size * (1 + COMPARED_NAMES_COST) + 2 * KEPT_ITEM_COST) +
      // For each added one: its name and the search for it.
      size * (IDENTITY.cost(size) + size + KEPT_ITEM_COST) +
      // Each taint of both lists as a map, and the operation.
      2 * size * (WRITTEN_TAINT.cost(size) + KEPT_ITEM_COST) +
      STRUCT_COST,
  )`JSONPatch{op: "add", path: "/spec/taints", value:
  (${list}.map(t, (${IDENTITY}) in ${addedIds}
    ? ${added}[${addedIds}.indexOf(${IDENTITY})] : t) +
  ${added}.filter(t, !((${IDENTITY}) in ${ids}))
  ).map(t, ${WRITTEN_TAINT})}`;
  return {
    ids,
    variables: [ids, addedIds],
    operations: choose(isEmpty(put), EMPTY, cel((size) => operation.cost(size) + LIST_COST)`[${operation}]`),
  };
}

function idsOf(list: string): Variable {
  return { name: `${list}Ids`, definition: each(list, IDENTITY) };
}

/** The required and startup taints of a policy, which new nodes get. If it declares one with a value and with any value, the value counts. */
function registrationTaintsOf({ ensured }: CompiledTaintPolicy): EnsuredTaint[] {
  const taints = ensured.map(({ value }) => value);
  const withValue = new Map(taints.filter(({ anyValue }) => !anyValue).map((one) => [identity(one.taint), one]));
  return [...new Map(taints.map((one) => [identity(one.taint), withValue.get(identity(one.taint)) ?? one])).values()];
}

/** The stronger ones of the other policies that may select the same node and set taints when it registers. */
function strongerThan(policy: CompiledTaintPolicy, others: readonly CompiledTaintPolicy[]): CompiledTaintPolicy[] {
  const own = requirementsOf(policy.nodeSelector);
  return others
    .filter((one) => one.mode !== 'Audit' && one.ensured.length > 0 && byStrength(one, policy) < 0)
    .filter(({ nodeSelector }) => satisfiable([...own, ...requirementsOf(nodeSelector)]));
}

/** The taints, as a list of maps, except those for which the condition is true. */
export function requiredUnless(
  taints: readonly EnsuredTaint[],
  isLeftOut: (taint: EnsuredTaint) => Expression,
): Expression {
  const groups = Map.groupBy(
    taints.map((required) => ({ required, leftOut: isLeftOut(required) })),
    ({ leftOut }) => leftOut.text,
  );
  const lists = [...groups.values()]
    .map((alike) => {
      const [{ leftOut } = { leftOut: FALSE }] = alike;
      return choose(leftOut, EMPTY, listOfRequired(alike.map(({ required }) => required)));
    })
    .filter((list) => list !== EMPTY);
  return lists.length === 0 ? EMPTY : together(lists);
}

/**
 * The taints of the variable `required` that fulfil the condition. In the condition, a taint has the name `required`.
 * @param count how many taints the variable has
 */
export function requiredThat(condition: Expression, count: number): Expression {
  return overItems(
    'filter',
    reference('required'),
    'required',
    condition,
    (size) => count * (condition.cost(size) + KEPT_ITEM_COST),
  );
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

function listOfRequired(taints: readonly EnsuredTaint[]): Expression {
  return cel(LIST_COST + taints.length * MAP_COST)`${listOf(taints.map(declaredLiteral))}`;
}

const NODE_CREATIONS: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] },
];

/**
 * A node that registers gets the policy's required and startup taints, unless a stronger policy sets another value.
 *
 * @param others the other policies that are in force
 */
export function registration(policy: CompiledTaintPolicy, others: readonly CompiledTaintPolicy[]): Assembled[] {
  const { length: count } = registrationTaintsOf(policy);
  if (policy.mode === 'Audit' || count === 0) return [];
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
    name: `${policy.name}.disallow.taintkeeper.dev`,
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
    validations: [{ holds: isEmpty('missing'), message: missingMessage(policy) }],
  });
}

function onCreation({ name, nodeSelector }: CompiledTaintPolicy, what: string) {
  return {
    name: `${name}.${what}.taintkeeper.dev`,
    failurePolicy: 'Ignore',
    resourceRules: NODE_CREATIONS,
    objectSelector: nodeSelector,
    conditions: {},
  } as const;
}

const CREATE_VARIABLES: readonly Variable[] = [{ name: 'taints', definition: taintsOf('object') }, LABELS];

/** @param count how many taints the variable `required` has */
const missing = (count: number): Variable => ({
  name: 'missing',
  definition: requiredThat(LACKS_REQUIRED, count),
});

const LACKS_REQUIRED = lacksRequired('taints');
