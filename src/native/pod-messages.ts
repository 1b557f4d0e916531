import { cel, choose, concatenated, type Expression, literal, type Variable } from '../cel/expression.ts';
import { type RestrictedKey, TOLERATE } from '../judge/request/pod-authorization.ts';
import type { RestrictionMode } from '../policy/toleration-restriction.ts';
import { IS_PERSON, SERVICE_ACCOUNT } from './pod-tolerations.ts';

/** The parts as one text. Concatenating costs 500 for each of them, and 200 for each text among them. */
function sentence(parts: readonly (Expression | string)[]): Expression {
  const texts = parts.filter((part) => typeof part === 'string');
  return concatenated(parts, () => parts.length * 500 + texts.length * 200);
}

/** Why a pod is refused or reported, and how to permit it. */
export function podMessage(
  policy: string,
  mode: RestrictionMode,
  { key, fields }: RestrictedKey,
  toAuthorize: Variable,
) {
  return sentence([
    literal(`TolerationRestriction ${policy}${mode === 'Audit' ? ', Audit' : ''} (${fields.join(', ')}): the pod `),
    reasonOf(toAuthorize),
    literal(', but '),
    REFUSED_USERS,
    literal(` tolerate ${key}. To permit it, an administrator runs: ${roleCommand(key)}; ${BIND} `),
    ...bindingArguments(key),
  ]);
}

/** The warning for the author of a workload whose pods would not be authorized. */
export function templateMessage(
  policy: string,
  mode: RestrictionMode,
  { key, fields }: RestrictedKey,
  toAuthorize: Variable,
) {
  return sentence([
    literal(
      `TolerationRestriction ${policy} (${fields.join(', ')}): its pods will be ${mode === 'Deny' ? 'refused' : 'reported'}: each `,
    ),
    reasonOf(toAuthorize),
    literal(', but '),
    SERVICE_ACCOUNT_TEXT,
    literal(` may not tolerate ${key}. To permit it, an administrator lets the service account ${grant(key)}`),
  ]);
}

/** `kubectl create clusterrole` knows no resource without a definition, but takes all resources of a group. `tolerate` is a verb of no other one. */
function roleCommand(key: string): string {
  const { apiGroup, verb } = TOLERATE;
  return `kubectl create clusterrole ${roleName(key)} --verb=${verb} --resource='*.${apiGroup}' --resource-name=${key}`;
}

const BIND = 'kubectl create clusterrolebinding';

/** Names what the API server has validated: a pod, unlike the template of a StatefulSet, cannot name a service account that is shell code. */
function bindingArguments(key: string): (Expression | string)[] {
  const role = roleName(key);
  return [
    literal(`${role}:`),
    SERVICE_ACCOUNT_ID,
    literal(` --clusterrole=${role} --serviceaccount=`),
    SERVICE_ACCOUNT_ID,
  ];
}

function grant(key: string): string {
  const { apiGroup, resource, verb } = TOLERATE;
  return `${verb} ${resource}.${apiGroup} with the resource name ${key}`;
}

/** No RBAC object can have a slash in its name. */
function roleName(key: string): string {
  return `${TOLERATE.verb}:${key.replaceAll('/', ':')}`;
}

/** A toleration `t` in one word, as {@link formatToleration} writes one with `Exists`, or with a value. */
const tolerationText = (t: string) =>
  `(has(${t}.key) && ${t}.key != "" ? ${t}.key : "*") + (has(${t}.value) && ${t}.value != "" ? "=" + ${t}.value : "") +
  (has(${t}.effect) && ${t}.effect != "" ? ":" + ${t}.effect : "")`;

const TEXT_COST = 600;

/** Why the pod needs authorization: `tolerates * and 2 more`, or `has a nodeName, which bypasses the scheduler`. */
function reasonOf(toAuthorize: Variable): Expression {
  return cel((size) => TEXT_COST + size * 80)`(size(${toAuthorize}) == 0
  ? "has a nodeName, which bypasses the scheduler"
  : "tolerates " + ${toAuthorize}.map(t, ${tolerationText('t')})[0] +
    (size(${toAuthorize}) > 1 ? " and " + string(size(${toAuthorize}) - 1) + " more" : ""))`;
}

/** `NAMESPACE:NAME`, as kubectl takes it. */
const SERVICE_ACCOUNT_ID: Expression = cel(30)`request.namespace + ":" + ${SERVICE_ACCOUNT}`;

/** `service account NAMESPACE/NAME`. */
const SERVICE_ACCOUNT_TEXT: Expression = cel(40)`"service account " + request.namespace + "/" + ${SERVICE_ACCOUNT}`;

/** Which user may not create a pod: `service account team/default may not`, or `neither service account team/default nor me may`. */
const REFUSED_USERS: Expression = choose(
  IS_PERSON,
  cel(80)`"neither " + ${SERVICE_ACCOUNT_TEXT} + " nor " + request.userInfo.username + " may"`,
  cel(40)`${SERVICE_ACCOUNT_TEXT} + " may not"`,
);
