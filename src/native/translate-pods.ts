import { TRUE } from '../cel/expression.ts';
import { restrictedKeys } from '../judge/request/pod-authorization.ts';
import { NAMESPACE_NAME_LABEL } from '../kubernetes/label-selector.ts';
import { isPattern } from '../kubernetes/pattern.ts';
import { isNamespaceName } from '../policy/daemon-set-selection.ts';
import type { CompiledTolerationRestriction } from '../policy/toleration-restriction.ts';
import { type Assembled, validating } from './assemble.ts';
import { nativeName } from './native-parts.ts';
import type { ResourceRule } from './native-policy.ts';
import { podMessage, templateMessage } from './pod-messages.ts';
import {
  IN_POD,
  IN_TEMPLATE,
  IS_NO_MIRROR_POD,
  isAuthorized,
  isChanged,
  isInNoneOf,
  mayNeedAuthorization,
  type PodPlace,
  podVariables,
  tolerationsToAuthorize,
} from './pod-tolerations.ts';
import { type NativeTranslation, translationOf } from './translation.ts';

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
  return translationOf(
    restriction,
    [...validationAt(restriction, IN_POD), ...validationAt(restriction, IN_TEMPLATE)],
    [],
  );
}

function validationAt(restriction: CompiledTolerationRestriction, place: PodPlace): Assembled[] {
  const { name, mode, exceptNamespaces } = restriction;
  const keys = restrictedKeys(restriction);
  const isPod = place.what === 'pod';
  const names = [...new Set(exceptNamespaces)].filter(isNamespaceName).sort();
  const numbered = keys.map((key, index) => ({ key, variable: tolerationsToAuthorize(key, index + 1) }));
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
      'may-tolerate-a-key': mayNeedAuthorization(place, keys),
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
