import { cel, composed, type Expression, literal, TRUE } from '../cel/expression.ts';
import { type RestrictedKey, restrictedKeys } from '../coverage/authorization.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { isNamespaceName } from '../policy/daemon-set-selection.ts';
import type { CompiledTolerationRestriction, RestrictionMode } from '../policy/toleration-restriction.ts';
import { type Assembled, conclude, validating } from './assemble.ts';
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

const PODS_SUFFIX = 'authorize-pods.taintkeeper.dev';
const WORKLOADS_SUFFIX = 'warn-workloads.taintkeeper.dev';

/**
 * A TolerationRestriction as native policies. They apply to the same pods as {@link askedKeys}: they refuse or report pods that are not authorized.
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
    name: `${name}.${isPod ? PODS_SUFFIX : WORKLOADS_SUFFIX}`,
    // A pod that cannot be evaluated must not pass, because a user could cause that. A warning must not block a request.
    failurePolicy: isPod && mode === 'Deny' ? 'Fail' : 'Ignore',
    resourceRules: isPod ? PODS : WORKLOADS,
    ...(names.length > 0
      ? {
          namespaceSelector: {
            matchExpressions: [{ key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: names }],
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
      holds: isAuthorized(place, key, variable.name),
      message: isPod ? podMessage(name, mode, key, variable.name) : templateMessage(name, mode, key, variable.name),
    })),
    actions: isPod ? (mode === 'Deny' ? ['Deny'] : ['Audit', 'Warn']) : ['Warn'],
  });
}

function podMessage(policy: string, mode: RestrictionMode, { key, fields }: RestrictedKey, asked: string) {
  return sentence([
    literal(`TolerationRestriction ${policy}${mode === 'Audit' ? ', Audit' : ''} (${fields.join(', ')}): the pod `),
    reasonOf(asked),
    literal(', but '),
    SHOWN_REFUSED,
    ...remedy(` tolerate ${key}`, key),
  ]);
}

function templateMessage(policy: string, mode: RestrictionMode, { key, fields }: RestrictedKey, asked: string) {
  return sentence([
    literal(
      `TolerationRestriction ${policy} (${fields.join(', ')}): its pods will be ${mode === 'Deny' ? 'refused' : 'reported'}: each `,
    ),
    reasonOf(asked),
    literal(', but '),
    SHOWN_SERVICE_ACCOUNT,
    ...remedy(` may not tolerate ${key}`, key),
  ]);
}

/** The command takes a file of the author, because a refused pod does not exist. A refused user can rarely grant rights. */
function remedy(end: string, key: string) {
  return [
    literal(`${end}. To permit it, an administrator runs: taintkeeper coverage tolerations --taint ${key} -n `),
    cel(30)`request.namespace`,
    literal(
      ' --fix MANIFEST | kubectl apply -f -, where MANIFEST is the file of the pod, or of the workload that creates it',
    ),
  ];
}

/** The parts, expressions or literals, concatenated. */
function sentence(parts: readonly (Expression | string)[]): Expression {
  const expressions = parts.map((part) => (typeof part === 'string' ? cel(200)`${part}` : part));
  const cost = (size: number) => expressions.reduce((sum, part) => sum + part.cost(size) + 500, 0);
  return composed(expressions, cost, (texts) => texts.join(' +\n'));
}
