import { concatenated, type Expression, literal, TRUE, type Variable } from '../cel/expression.ts';
import { type RestrictedKey, restrictedKeys, TOLERATE } from '../judge/request/pod-authorization.ts';
import { NAMESPACE_NAME_LABEL } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { isNamespaceName } from '../policy/daemon-set-selection.ts';
import type { CompiledTolerationRestriction, RestrictionMode } from '../policy/toleration-restriction.ts';
import { type Assembled, conclude, validating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import type { NativeTranslation, ResourceRule } from './native-policy.ts';
import {
  askedVariable,
  IN_POD,
  IN_TEMPLATE,
  IS_NO_MIRROR_POD,
  isAuthorized,
  isChanged,
  isInNoneOf,
  mayBeAsked,
  type PodPlace,
  podVariables,
  reasonOf,
  SERVICE_ACCOUNT_ID,
  SHOWN_REFUSED,
  SHOWN_SERVICE_ACCOUNT,
} from './pod-tolerations.ts';

const PODS: readonly ResourceRule[] = [
  { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'], operations: ['CREATE', 'UPDATE'] },
];

/** The kinds that users write. A ReplicaSet belongs to a Deployment, for which there was a warning already. */
const WORKLOADS: readonly ResourceRule[] = [
  {
    apiGroups: ['apps'],
    apiVersions: ['v1'],
    resources: ['deployments', 'statefulsets', 'daemonsets'],
    operations: ['CREATE', 'UPDATE'],
  },
  { apiGroups: ['batch'], apiVersions: ['v1'], resources: ['jobs', 'cronjobs'], operations: ['CREATE', 'UPDATE'] },
];

/**
 * A TolerationRestriction as native policies. They apply to the same pods as {@link neededAuthorizations}: they refuse or report pods that are not
 * authorized.
 * The author of a workload whose pods would not be authorized gets a warning.
 */
export function translatePods(restriction: CompiledTolerationRestriction): NativeTranslation {
  return conclude(restriction, [...asked(restriction, IN_POD), ...asked(restriction, IN_TEMPLATE)], []);
}

function asked(restriction: CompiledTolerationRestriction, place: PodPlace): Assembled[] {
  const { name, mode, exceptNamespaces } = restriction;
  const keys = restrictedKeys(restriction);
  const isPod = place.what === 'pod';
  const names = [...new Set(exceptNamespaces)].filter(isNamespaceName).sort();
  const numbered = keys.map((key, index) => ({ key, variable: askedVariable(key, index + 1) }));
  const variables = [...podVariables(place), ...numbered.map(({ variable }) => variable)];
  return validating({
    name: nativeName(name, isPod ? 'authorize-pods' : 'warn-workloads'),
    // A pod that cannot be evaluated must not pass, because a user could cause that. A warning must not block a request.
    failurePolicy: isPod && mode === 'Deny' ? 'Fail' : 'Ignore',
    resourceRules: isPod ? PODS : WORKLOADS,
    ...(names.length > 0
      ? {
          namespaceSelector: {
            matchExpressions: [{ key: NAMESPACE_NAME_LABEL, operator: 'NotIn', values: names }],
          },
        }
      : {}),
    conditions: {
      'may-tolerate-a-key': mayBeAsked(place, keys),
      'is-changed': isChanged(place),
      'is-no-mirror-pod': isPod ? IS_NO_MIRROR_POD : TRUE,
      'is-not-excepted': isInNoneOf(exceptNamespaces.filter(isPattern)),
    },
    variables,
    validations: numbered.map(({ key, variable }) => ({
      holds: isAuthorized(place, key, variable),
      message: isPod ? podMessage(name, mode, key, variable) : templateMessage(name, mode, key, variable),
    })),
    actions: isPod ? (mode === 'Deny' ? ['Deny'] : ['Audit', 'Warn']) : ['Warn'],
  });
}

/** The parts as one text. Concatenating costs 500 for each of them, and 200 for each text among them. */
function sentence(parts: readonly (Expression | string)[]): Expression {
  const texts = parts.filter((part) => typeof part === 'string');
  return concatenated(parts, () => parts.length * 500 + texts.length * 200);
}

function podMessage(policy: string, mode: RestrictionMode, { key, fields }: RestrictedKey, asked: Variable) {
  return sentence([
    literal(`TolerationRestriction ${policy}${mode === 'Audit' ? ', Audit' : ''} (${fields.join(', ')}): the pod `),
    reasonOf(asked),
    literal(', but '),
    SHOWN_REFUSED,
    literal(` tolerate ${key}. To permit it, an administrator runs: ${roleCommand(key)}; ${BIND} `),
    ...bindingArguments(key),
  ]);
}

function templateMessage(policy: string, mode: RestrictionMode, { key, fields }: RestrictedKey, asked: Variable) {
  return sentence([
    literal(
      `TolerationRestriction ${policy} (${fields.join(', ')}): its pods will be ${mode === 'Deny' ? 'refused' : 'reported'}: each `,
    ),
    reasonOf(asked),
    literal(', but '),
    SHOWN_SERVICE_ACCOUNT,
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
