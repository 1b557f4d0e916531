import { bind, type Expression, FALSE, TRUE, type Variable } from '../cel/expression.ts';
import type { FailurePolicy } from '../failure-policy.ts';
import type { LabelSelector } from '../label-selector.ts';
import { usedVariables, withVariables } from './named-variables.ts';
import type { MutatingSpec, NativePolicy, ResourceRule, ValidationAction } from './native-objects.ts';
import { sizeWithin } from './size-within.ts';

/** A policy of the API server's own, and how large the objects may be that it is evaluated on. */
export interface Assembled {
  readonly policy: NativePolicy;
  /** How many items a list of the object may have, for the API server to evaluate the policy; undefined where not even 64. */
  readonly size: number | undefined;
}

interface Parts {
  /** `POLICY.protect.taintkeeper.dev` */
  readonly name: string;
  readonly failurePolicy: FailurePolicy;
  readonly resourceRules: readonly ResourceRule[];
  /** To look at labels costs the API server nothing; for CEL it makes a copy of the object, for each policy. */
  readonly objectSelector?: LabelSelector | undefined;
  readonly namespaceSelector?: LabelSelector | undefined;
  /** By name. The variables that they use are bound in them. */
  readonly conditions: Readonly<Record<string, Expression>>;
  /** In the order of use. Those that nothing uses are left out. */
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
          expression: withVariables(holds),
          messageExpression: withVariables(message),
          reason: 'Forbidden',
        })),
        auditAnnotations: annotations.map(([key, value]) => ({ key, valueExpression: withVariables(value) })),
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
        jsonPatch: { expression: withVariables(mutation) },
      })),
    },
  }));
}

/** How often the variables are evaluated against one budget: for the validations, their messages and the annotations apart. */
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
    .map(([name, condition]) => ({ name, condition: bind(variables, condition) }));
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
