import { any, choose, type Expression, FALSE, LIST_COST, listOf, other, type Variable } from '../cel/expression.ts';
import { EMPTY, each, isEmpty, together } from '../cel/lists.ts';
import { LABELS, selectsIn } from '../conditions/selection.ts';
import { IDENTITY, taintLiteral, taintsOf, taintValue } from '../conditions/taints.ts';
import { requirementsOf, satisfiable } from '../kubernetes/selector-overlap.ts';
import { identity } from '../kubernetes/taint.ts';
import type { TaintPolicy } from '../policy/policy.ts';
import { TAINT_MODES } from '../policy/taint-policy.ts';
import { type Assembled, mutating, validating } from './assemble.ts';
import type { ResourceRule, TranslationOptions } from './native-policy.ts';
import { LOSSES, lackingMessage, reportActions } from './node-messages.ts';
import { readNodeSubject } from './node-subject.ts';

/**
 * JSONPatch operations, in CEL, that give a node's `taints` every one of those that are `put`, both bound names: in place of the
 * taint of the same key and effect, or at the end; {@link withTaints} in CEL. The variables have to stand before what uses it.
 */
export function puttingTaints(taints: string, put: string): { variables: Variable[]; operation: Expression } {
  const id = IDENTITY.text;
  const before = `${taints}Ids`;
  const wanted = `${put}Ids`;
  return {
    variables: [
      { name: before, definition: each(taints, IDENTITY) },
      { name: wanted, definition: each(put, IDENTITY) },
    ],
    operation: other(
      `JSONPatch{op: "add", path: "/spec/taints", value:
  ${taints}.map(t, (${id}) in ${wanted}
    ? ${put}[${wanted}.indexOf(${id})] : t) +
  ${put}.filter(t, !((${id}) in ${before}))}`,
      (size) => size * (2 * IDENTITY.cost(size) + 40 + size * 36) + size * (IDENTITY.cost(size) + size + 25) + 50,
      [taints, put, before, wanted],
    ),
  };
}

/** A Present taint; without a value, any is meant. */
export type Want = { readonly key: string; readonly value?: string; readonly effect: string };

/** A taint that it wants with one value and with any, it wants with that value. */
export function wantsOf({ spec }: TaintPolicy): Want[] {
  const wants = spec.taints.flatMap(({ ensure, key, value, effect }) =>
    ensure === 'Present' && effect !== undefined ? [{ key, ...(value === undefined ? {} : { value }), effect }] : [],
  );
  const withValue = new Map(wants.filter(({ value }) => value !== undefined).map((want) => [identity(want), want]));
  return [...new Map(wants.map((want) => [identity(want), withValue.get(identity(want)) ?? want])).values()];
}

/** A stronger policy that could be for the same node, and what it wants there. */
interface Rival {
  readonly selects: Expression;
  readonly wants: readonly Want[];
}

function rivalsOf(policy: TaintPolicy, others: readonly TaintPolicy[]): Rival[] {
  const own = requirementsOf(policy.spec.nodeSelector);
  return others
    .filter((one) => one.spec.mode !== 'Audit' && isStronger(one, policy))
    .filter((one) => wantsOf(one).length > 0)
    .filter(({ spec }) => satisfiable([...own, ...requirementsOf(spec.nodeSelector)]))
    .map((one) => ({ selects: selectsIn('labels', one.spec.nodeSelector), wants: wantsOf(one) }));
}

function isStronger(a: TaintPolicy, b: TaintPolicy): boolean {
  const strength = ({ spec }: TaintPolicy) => TAINT_MODES.indexOf(spec.mode);
  return strength(a) < strength(b) || (strength(a) === strength(b) && a.name < b.name);
}

/** The Present taints of a policy, but those that a stronger one of the others wants on the node with another value. */
export function wantedUnlessContested(policy: TaintPolicy, others: readonly TaintPolicy[]): Expression {
  const wants = wantsOf(policy);
  const rivals = rivalsOf(policy, others);
  const groups = Map.groupBy(
    wants.map((want) => ({ want, contested: isContested(want, rivals) })),
    ({ contested }) => contested.text,
  );
  const lists = [...groups.values()]
    .map((alike) => {
      const [{ contested } = { contested: FALSE }] = alike;
      return choose(contested, EMPTY, listOfWants(alike.map(({ want }) => want)));
    })
    .filter((list) => list !== EMPTY);
  return lists.length === 0 ? EMPTY : together(lists);
}

/** True for a node that gets another value of the taint from a stronger policy. */
function isContested(want: Want, rivals: readonly Rival[]): Expression {
  if (want.value === undefined) return FALSE;
  return any(
    rivals
      .filter(({ wants }) =>
        wants.some((one) => identity(one) === identity(want) && one.value !== undefined && one.value !== want.value),
      )
      .map(({ selects }) => selects),
  );
}

export function listOfWants(wants: readonly Want[]): Expression {
  return other(listOf(wants.map(taintLiteral)), LIST_COST + wants.length * 40);
}

const NODE_CREATIONS: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] },
];

/**
 * A node that registers gets the policy's Present taints, unless a stronger policy names another value for one of them.
 *
 * @param others the other policies that are in force
 */
export function registration(policy: TaintPolicy, others: readonly TaintPolicy[]): Assembled[] {
  const wants = wantsOf(policy);
  if (policy.spec.mode === 'Audit' || wants.length === 0) return [];
  const wanted = wantedUnlessContested(policy, others);
  if (wanted === EMPTY) return [];
  const put = puttingTaints('taints', 'lacking');
  return mutating({
    ...onCreation(policy.spec, `${policy.name}.register.taintkeeper.dev`),
    variables: [...CREATE_VARIABLES, { name: 'wanted', definition: wanted }, lacking(wants.length), ...put.variables],
    reinvocationPolicy: 'Never',
    mutations: [
      choose(
        isEmpty('lacking'),
        EMPTY,
        other(`[${put.operation.text}]`, (size) => put.operation.cost(size) + LIST_COST, put.operation.uses),
      ),
    ],
  });
}

/** Says which Present taints a node lacks all the same once it registers: an Audit policy sets none. */
export function registrationReport(policy: TaintPolicy, { purpose }: TranslationOptions): Assembled[] {
  const wants = wantsOf(policy);
  if (wants.length === 0) return [];
  const subject = readNodeSubject(policy);
  return validating({
    ...onCreation(policy.spec, `${policy.name}.report-registration.taintkeeper.dev`),
    variables: [
      ...CREATE_VARIABLES,
      { name: 'wanted', definition: listOfWants(wants) },
      lacking(wants.length),
      { name: 'lost', definition: other('lacking', 1, ['lacking']) },
      ...LOSSES,
    ],
    actions: reportActions(purpose),
    validations: [{ holds: isEmpty('lacking'), message: lackingMessage(subject) }],
  });
}

function onCreation({ nodeSelector }: TaintPolicy['spec'], name: string) {
  return {
    name,
    failurePolicy: 'Ignore',
    resourceRules: NODE_CREATIONS,
    objectSelector: nodeSelector,
    conditions: {},
  } as const;
}

const CREATE_VARIABLES: readonly Variable[] = [{ name: 'taints', definition: taintsOf('object') }, LABELS];

/** To compare two taints with keys of the greatest length. */
const COMPARISON_COST = 60;

/** @param count how many Present taints the policy has */
const lacking = (count: number): Variable => ({
  name: 'lacking',
  definition: other(
    `wanted.filter(w, !taints.exists(t,
  t.key == w.key && t.effect == w.effect && (!has(w.value) || w.value == ${taintValue('t')})))`,
    (size) => count * (size * COMPARISON_COST + 25),
    ['wanted', 'taints'],
  ),
});
