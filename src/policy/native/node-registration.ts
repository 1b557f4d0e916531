import { choose, LIST_COST, other, type Variable } from '../cel/expression.ts';
import { EMPTY, isEmpty } from '../cel/lists.ts';
import { LABELS } from '../cel/selector.ts';
import { taintsOf, taintValue } from '../cel/taints.ts';
import type { TaintPolicy } from '../policy.ts';
import { type Assembled, mutating, validating } from './assemble.ts';
import type { ResourceRule } from './native-objects.ts';
import { LOSSES, lackingMessage } from './node-messages.ts';
import { reportActions } from './node-protection.ts';
import { readNodeSubject } from './node-subject.ts';
import { listOfWants, wantedUnlessContested, wantsOf } from './present-wants.ts';
import { puttingTaints } from './put-taints.ts';
import type { TranslationOptions } from './translate.ts';

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
