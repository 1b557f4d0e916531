import { any, choose, type Expression, FALSE, LIST_COST, listOf, other, type Variable } from '../cel/expression.ts';
import { EMPTY, isEmpty } from '../cel/lists.ts';
import { LABELS } from '../cel/selector.ts';
import { taintLiteral, taintsOf, taintValue } from '../cel/taints.ts';
import type { TaintPolicy } from '../policy.ts';
import { requirementsOf, satisfiable } from '../selector-overlap.ts';
import { identity } from '../taint.ts';
import { TAINT_MODES } from '../taint-policy.ts';
import { type Assembled, mutating, validating } from './assemble.ts';
import type { ResourceRule } from './native-objects.ts';
import { LOSSES, lackingMessage } from './node-messages.ts';
import { reportActions } from './node-protection.ts';
import { type NodeSubject, readNodeSubject } from './node-subject.ts';
import { puttingTaints } from './put-taints.ts';
import type { TranslationOptions } from './translate.ts';

const NODE_CREATIONS: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['nodes'], operations: ['CREATE'] },
];

/** A Present taint; without a value, any is meant. */
type Want = { readonly key: string; readonly value?: string; readonly effect: string };

/**
 * A node that registers gets the policy's Present taints, unless a stronger policy names another value for one of them.
 *
 * @param others the other policies that are in force
 */
export function registration(policy: TaintPolicy, others: readonly TaintPolicy[]): Assembled[] {
  const wants = wantsOf(policy);
  if (policy.spec.mode === 'Audit' || wants.length === 0) return [];
  const wanted = wantedUnlessContested(wants, rivalsOf(policy, others));
  if (wanted === EMPTY) return [];
  const put = puttingTaints('taints', 'lacking');
  return mutating({
    ...onCreation(readNodeSubject(policy), `${policy.name}.register.taintkeeper.dev`),
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
    ...onCreation(subject, `${policy.name}.report-registration.taintkeeper.dev`),
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

function onCreation({ selects }: NodeSubject, name: string) {
  return {
    name,
    failurePolicy: 'Ignore',
    resourceRules: NODE_CREATIONS,
    conditions: { 'is-selected': selects.labels },
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

/** A taint that it wants with one value and with any, it wants with that value. */
function wantsOf({ spec }: TaintPolicy): Want[] {
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
    .filter(({ spec }) => satisfiable([...own, ...requirementsOf(spec.nodeSelector)]))
    .map((one) => ({ selects: readNodeSubject(one).selects.labels, wants: wantsOf(one) }));
}

function isStronger(a: TaintPolicy, b: TaintPolicy): boolean {
  const strength = ({ spec }: TaintPolicy) => TAINT_MODES.indexOf(spec.mode);
  return strength(a) < strength(b) || (strength(a) === strength(b) && a.name < b.name);
}

function wantedUnlessContested(wants: readonly Want[], rivals: readonly Rival[]): Expression {
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
  if (lists.length === 0) return EMPTY;
  return other(
    lists.map(({ text }) => text).join(' +\n'),
    (size) => lists.reduce((sum, list) => sum + list.cost(size) + 2, 0),
    lists.flatMap(({ uses }) => [...uses]),
  );
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

function listOfWants(wants: readonly Want[]): Expression {
  return other(listOf(wants.map(taintLiteral)), LIST_COST + wants.length * 40);
}
