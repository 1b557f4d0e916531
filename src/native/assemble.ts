import { COST_BUDGET, LENGTH_LIMIT } from '../cel/budget.ts';
import { bind, type Expression, FALSE, requireNone, TRUE, type Variable } from '../cel/expression.ts';
import type { LabelSelector } from '../kubernetes/label-selector.ts';
import type { FailurePolicy } from '../policy/taint-policy.ts';
import type { MutatingSpec, NativePolicy, NativeVariable, ResourceRule, ValidationAction } from './native-policy.ts';

/**
 * Cost units that the API server allows for all conditions of a policy, and for the rest of it: 2,500,000 and 10,000,000
 * (k8s.io/apiserver/pkg/apis/cel/config.go), some of them kept back, as COST_BUDGET does with those for one expression.
 */
const CONDITIONS_BUDGET = 2_250_000;
const POLICY_BUDGET = 9_000_000;

/** Items of a list. No node and no DaemonSet has more. */
const SIZES = [1024, 512, 256, 192, 128, 96, 64];

/** How many items a list may have for the API server to evaluate a policy on it. Undefined if not even the least number. */
function sizeWithin(conditions: readonly Expression[], others: readonly Expression[]): number | undefined {
  const expressions = [...conditions, ...others];
  if (expressions.some(({ text }) => text.length > LENGTH_LIMIT)) return undefined;
  return SIZES.find(
    (size) =>
      expressions.every(({ cost }) => cost(size) <= COST_BUDGET) &&
      total(conditions, size) <= CONDITIONS_BUDGET &&
      total(others, size) <= POLICY_BUDGET,
  );
}

function total(expressions: readonly Expression[], size: number): number {
  return expressions.reduce((sum, { cost }) => sum + cost(size), 0);
}

/** The text of an expression in a policy, whose variables are fields: `variables.removed`. */
export function written(expression: Expression): string {
  return expression.written((name) => `variables.${name}`);
}

/**
 * The variables that the expressions use, directly or indirectly, in the given order. It must be the order of use, because a definition can only use the
 * variables before it.
 */
export function usedVariables(variables: readonly Variable[], expressions: readonly Expression[]): NativeVariable[] {
  const undefinedYet = new Set(expressions.flatMap(({ uses }) => [...uses]));
  const kept = variables.toReversed().filter(({ name, definition }) => {
    if (!undefinedYet.delete(name)) return false;
    for (const further of definition.uses) undefinedYet.add(further);
    return true;
  });
  requireNone(undefinedYet);
  return kept.toReversed().map(({ name, definition }) => ({ name, expression: written(definition) }));
}

/** The condition with the definitions of its variables, because match conditions have none. */
function boundCondition(variables: readonly Variable[], condition: Expression): Expression {
  const bound = bind(variables, condition);
  requireNone(bound.uses);
  return bound;
}

/** A native policy, and the size of objects up to which the API server evaluates it. */
export interface Assembled {
  readonly policy: NativePolicy;
  /** How many items a list of the object may have for the API server to evaluate the policy. Undefined if not even 64. */
  readonly size: number | undefined;
}

interface Parts {
  /** See {@link nativeName}. */
  readonly name: string;
  readonly failurePolicy: FailurePolicy;
  readonly resourceRules: readonly ResourceRule[];
  /** A selector costs the API server nothing. For CEL it copies the object, for each policy. */
  readonly objectSelector?: LabelSelector | undefined;
  readonly namespaceSelector?: LabelSelector | undefined;
  /** By name. The variables that they use are bound in them. */
  readonly conditions: Readonly<Record<string, Expression>>;
  /** In the order of use. Unused ones are left out. */
  readonly variables: readonly Variable[];
}

export interface ValidatingParts extends Parts {
  readonly actions: readonly ValidationAction[];
  readonly validations: readonly { readonly holds: Expression; readonly message: Expression }[];
  /** By key. */
  readonly auditAnnotations?: Readonly<Record<string, Expression>>;
}

export interface MutatingParts extends Parts {
  readonly reinvocationPolicy: MutatingSpec['reinvocationPolicy'];
  /** Each is a list of JSONPatch objects. */
  readonly mutations: readonly Expression[];
}

/** A ValidatingAdmissionPolicy; none if a condition is never true. */
export function validating(parts: ValidatingParts): Assembled[] {
  const { name, actions, validations, auditAnnotations = {} } = parts;
  const annotations = Object.entries(auditAnnotations);
  return assembled(
    parts,
    [...validations.flatMap(({ holds, message }) => [holds, message]), ...annotations.map(([, value]) => value)],
    VALIDATING_ROUNDS,
    (common) => ({
      kind: 'ValidatingAdmissionPolicy',
      name,
      spec: {
        ...common,
        validations: validations.map(({ holds, message }) => ({
          expression: written(holds),
          messageExpression: written(message),
          reason: 'Forbidden',
        })),
        auditAnnotations: annotations.map(([key, value]) => ({ key, valueExpression: written(value) })),
      },
      validationActions: actions,
    }),
  );
}

/** A MutatingAdmissionPolicy; none if a condition is never true. */
export function mutating(parts: MutatingParts): Assembled[] {
  const { name, mutations, reinvocationPolicy } = parts;
  return assembled(parts, mutations, MUTATING_ROUNDS, (common) => ({
    kind: 'MutatingAdmissionPolicy',
    name,
    spec: {
      ...common,
      reinvocationPolicy,
      mutations: mutations.map((mutation) => ({
        patchType: 'JSONPatch',
        jsonPatch: { expression: written(mutation) },
      })),
    },
  }));
}

/** How many times the variables are evaluated within one budget: for validations, messages and annotations. */
const VALIDATING_ROUNDS = 3;
/** Each mutation has a budget of its own. */
const MUTATING_ROUNDS = 1;

function assembled(
  { failurePolicy, resourceRules, objectSelector, namespaceSelector, conditions, variables }: Parts,
  expressions: readonly Expression[],
  rounds: number,
  policy: (common: Omit<MutatingSpec, 'mutations' | 'reinvocationPolicy'>) => NativePolicy,
): Assembled[] {
  const bound = Object.entries(conditions)
    .filter(([, condition]) => condition !== TRUE)
    .map(([name, condition]) => ({ name, condition: boundCondition(variables, condition) }));
  if (bound.some(({ condition }) => condition === FALSE)) return [];
  const used = usedVariables(variables, expressions);
  const names = new Set(used.map(({ name }) => name));
  const definitions = variables.filter(({ name }) => names.has(name)).map(({ definition }) => definition);
  return [
    {
      policy: policy({
        failurePolicy,
        matchConstraints: {
          resourceRules,
          ...(objectSelector ? { objectSelector } : {}),
          ...(namespaceSelector ? { namespaceSelector } : {}),
        },
        matchConditions: bound.map(({ name, condition }) => ({ name, expression: condition.text })),
        variables: used,
      }),
      size: sizeWithin(
        bound.map(({ condition }) => condition),
        [...Array.from({ length: rounds }, () => definitions).flat(), ...expressions],
      ),
    },
  ];
}
