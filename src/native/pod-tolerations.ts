import {
  all,
  any,
  cel,
  choose,
  type Expression,
  FALSE,
  literal,
  not,
  reference,
  TRUE,
  type Variable,
} from '../cel/expression.ts';
import { EMPTY, exists, isEmpty, literals, those } from '../cel/lists.ts';
import { matchesAny } from '../cel/pattern.ts';
import { IS_NODE, NAMESPACE_OPERAND, REQUESTER_VARIABLES, USER_NAME } from '../cel-rules/selection.ts';
import { VALUE } from '../cel-rules/taints.ts';
import { type RestrictedKey, TOLERATE } from '../judge/request/pod-authorization.ts';
import { givenEffects } from '../kubernetes/daemon-tolerations.ts';
import { DEFAULT_SERVICE_ACCOUNT, SYSTEM_ADMIN, SYSTEM_PREFIX } from '../kubernetes/system-users.ts';

/*
 * Which pods, or templates of pods, need authorization, in CEL: the same as neededAuthorizations of ../judge/request/pod-authorization.ts.
 */

/** The place of the pod spec in an object: in the object itself, or in the template of a workload. */
export interface PodPlace {
  readonly what: 'pod' | 'template';
  /** The spec of the pod after the request and, at an update, before it. */
  readonly pod: Variable;
  readonly podBefore: Variable;
}

const IS_UPDATE = cel(4)`request.operation == "UPDATE"`;

/** A creation has no old object: the new one counts. */
const BEFORE = '(request.operation == "UPDATE" ? oldObject : object)';

/** At two places, and so without a type: the API server checks the expressions against the types of all kinds. */
const templateIn = (object: string) => cel(40)`(request.kind.kind == "CronJob"
  ? dyn(${object}).spec.jobTemplate.spec.template.spec
  : dyn(${object}).spec.template.spec)`;

export const IN_POD: PodPlace = {
  what: 'pod',
  pod: { name: 'pod', definition: cel(4)`object.spec` },
  podBefore: { name: 'podBefore', definition: cel(10)`${BEFORE}.spec` },
};
export const IN_TEMPLATE: PodPlace = {
  what: 'template',
  pod: { name: 'pod', definition: templateIn('object') },
  podBefore: { name: 'podBefore', definition: templateIn(BEFORE) },
};

// References to the variables that `podVariables` defines.

const ALL_TOLERATIONS = reference('every');
const ALL_TOLERATIONS_BEFORE = reference('before');
const TOLERATIONS = reference('tolerations');
const NAMES_NODE = reference('namesNode');
export const SERVICE_ACCOUNT = reference('serviceAccount');
export const IS_PERSON = reference('isPerson');

/** Limits the cost. A pod with more owner references counts as one of a controller. */
const MAX_OWNERS = 16;

/** `isPerson` of ../judge/request/pod-authorization.ts. The API server evaluates it once, and only if the service account is not authorized. */
const IS_PERSON_VARIABLE: Variable = {
  name: 'isPerson',
  definition: all([
    cel(30)`(${USER_NAME} == ${literal(SYSTEM_ADMIN)} || !${USER_NAME}.startsWith(${literal(SYSTEM_PREFIX)}))`,
    cel(
      20 + MAX_OWNERS * 20,
    )`(!has(object.metadata.ownerReferences) || size(object.metadata.ownerReferences) <= ${MAX_OWNERS} &&
  !object.metadata.ownerReferences.exists(r, has(r.controller) && r.controller))`,
  ]),
};

const tolerationsOf = (pod: Variable) => {
  const tolerations = cel(1)`${pod}.tolerations`;
  return cel(8)`(has(${tolerations}) ? ${tolerations} : [])`;
};
const serviceAccountOf = (pod: Variable) => {
  const account = cel(1)`${pod}.serviceAccountName`;
  return cel(6)`(has(${account}) && ${account} != "" ? ${account} : ${literal(DEFAULT_SERVICE_ACCOUNT)})`;
};
const nodeNameOf = (pod: Variable) => {
  const nodeName = cel(1)`${pod}.nodeName`;
  return cel(8)`(has(${nodeName}) ? ${nodeName} : "")`;
};

/** Cost of comparing one toleration with another. */
const COMPARISON_COST = 10;

/**
 * Variables of the expressions below. `tolerations` are those that need authorization: the new ones at an update of a pod, whose node is already
 * chosen, and all of a template, because its next pods are new ones.
 */
export function podVariables({ what, pod, podBefore }: PodPlace): Variable[] {
  const isNew = cel((size) => size * COMPARISON_COST + 2)`!(t in ${ALL_TOLERATIONS_BEFORE})`;
  const namesNode = cel(4)`${nodeNameOf(pod)} != ""`;
  return [
    ...REQUESTER_VARIABLES,
    pod,
    podBefore,
    { name: 'every', definition: tolerationsOf(pod) },
    { name: 'before', definition: choose(IS_UPDATE, tolerationsOf(podBefore), EMPTY) },
    { name: 'tolerations', definition: what === 'pod' ? those(ALL_TOLERATIONS, isNew) : ALL_TOLERATIONS },
    { name: 'namesNode', definition: what === 'pod' ? all([not(IS_UPDATE), namesNode]) : namesNode },
    { name: 'serviceAccount', definition: serviceAccountOf(pod) },
    ...(what === 'pod' ? [IS_PERSON_VARIABLE] : []),
  ];
}

/** True if the object may need authorization for one of the keys: a cheap condition, which is false for most pods. */
export function mayNeedAuthorization({ pod }: PodPlace, keys: readonly RestrictedKey[]): Expression {
  const names = literals(['', ...keys.map(({ key }) => key)]);
  const restrictsNodeName = keys.some((key) => key.restrictsNodeName);
  return any([
    exists(ALL_TOLERATIONS, 't', cel(8 + keys.length)`!has(t.key) || t.key in ${names}`),
    restrictsNodeName ? cel(4)`${nodeNameOf(pod)} != ""` : FALSE,
  ]);
}

/** True unless an update changes nothing that needs authorization. An update of a pod can only change its tolerations. */
export function isChanged({ what, pod, podBefore }: PodPlace): Expression {
  const differ = (of: (pod: Variable) => Expression) => cel(56)`${of(pod)} != ${of(podBefore)}`;
  return any([
    not(IS_UPDATE),
    cel((size) => 3 + size * COMPARISON_COST)`${ALL_TOLERATIONS} != ${ALL_TOLERATIONS_BEFORE}`,
    ...(what === 'template' ? [differ(nodeNameOf), differ(serviceAccountOf)] : []),
  ]);
}

/** A kubelet starts static pods without a request, and creates mirror pods only to show them. NodeRestriction lets it create no other pods. */
export const IS_NO_MIRROR_POD: Expression = not(
  all([
    IS_NODE,
    cel(12)`has(object.metadata.annotations) && "kubernetes.io/config.mirror" in object.metadata.annotations`,
  ]),
);

/** True for a namespace that matches none of the patterns. */
export function isInNoneOf(patterns: readonly string[]): Expression {
  return not(matchesAny(NAMESPACE_OPERAND, patterns));
}

/** `asked1`: those of the `tolerations` that need authorization for the key. */
export function tolerationsToAuthorize({ key, taints }: RestrictedKey, number: number): Variable {
  const given = givenEffects(key);
  return {
    name: `asked${number}`,
    definition: those(
      TOLERATIONS,
      all([
        cel(10)`(!has(t.key) || t.key in ${literals(['', key])})`,
        given.length === 0
          ? TRUE
          : cel(20)`!(has(t.key) && t.key != "" && has(t.effect) && t.effect in ${literals(given)})`,
        any(
          taints.map(({ effect, value }) =>
            all([
              effect === undefined ? TRUE : cel(10)`(!has(t.effect) || t.effect in ${literals(['', effect])})`,
              value === undefined
                ? TRUE
                : cel(30)`(has(t.operator) && !(t.operator in ["", "Equal"]) || ${VALUE} == ${literal(value)})`,
            ]),
          ),
        ),
      ]),
    ),
  };
}

/** Each costs the API server as much as everything else together. */
const CHECK_COST = 350_006;

const checked = (authorizer: Expression, key: string) =>
  cel(CHECK_COST)`${authorizer}.group(${literal(TOLERATE.apiGroup)}).resource(${literal(TOLERATE.resource)})
  .name(${literal(key)}).check(${literal(TOLERATE.verb)}).allowed()`;

/**
 * True if the pod needs no authorization for the key, or its service account is authorized, or the person who creates it is. Controllers create the
 * pods of a template.
 */
export function isAuthorized(
  { what }: PodPlace,
  { key, restrictsNodeName }: RestrictedKey,
  toAuthorize: Variable,
): Expression {
  const needsNone = restrictsNodeName ? all([isEmpty(toAuthorize), not(NAMES_NODE)]) : isEmpty(toAuthorize);
  return any([
    needsNone,
    checked(cel(3)`authorizer.serviceAccount(request.namespace, ${SERVICE_ACCOUNT})`, key),
    ...(what === 'pod' ? [all([IS_PERSON, checked(cel(1)`authorizer`, key)])] : []),
  ]);
}
