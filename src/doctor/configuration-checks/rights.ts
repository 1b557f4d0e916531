import { notPermitted, OPTIONAL_RIGHTS } from '../../cluster/optional-rights.ts';
import type { PolicyObject } from '../../cluster/policies.ts';
import { askedRights, type OptionalRight } from '../../policy/backstop.ts';
import type { CheckResult } from '../check.ts';
import type { ConfigurationFacts, Installation, Right } from '../configuration-facts.ts';
import { found } from './found.ts';

const NAME = 'rights';
/** Where `manifests/install.yaml` installs. */
const MANIFEST_NAMESPACE = 'taintkeeper';

/** Whether the service account may do all that it has to. */
export function checkRights({
  rights,
  installation,
}: Pick<ConfigurationFacts, 'rights' | 'installation'>): CheckResult[] {
  if (!rights.ok) {
    const remedy = 'ask as somebody who may create subjectaccessreviews, a cluster-admin for example';
    return [found(NAME, 'skipped', rights.why, remedy)];
  }
  const { user, asked, lacking } = rights.value;
  if (lacking.length === 0) return [found(NAME, 'ok', `${user} has all ${asked} that it needs`)];
  return [found(NAME, 'trouble', `${user} may not ${lacking.map(formatRight).join('; ')}`, remedyFor(installation))];
}

/** Whether it may do all that the policies ask for besides. */
export function checkPermissions({
  rights,
  installation,
  policies,
}: Pick<ConfigurationFacts, 'rights' | 'installation' | 'policies'>): CheckResult[] {
  if (!rights.ok || !policies.ok) return [];
  return policies.value.flatMap((policy) => checkPolicy(policy, rights.value.notPermitted, installation));
}

function checkPolicy(
  { kind, name, result }: PolicyObject,
  missing: readonly OptionalRight[],
  { audit, namespace, helmRelease }: Installation,
): CheckResult[] {
  const asked = result.ok ? askedRights(result.policy, audit) : [];
  return asked
    .filter(({ right }) => missing.includes(right))
    .map(({ right, by }) => {
      const { value, manifest } = OPTIONAL_RIGHTS[right];
      const remedy =
        helmRelease !== undefined
          ? `helm upgrade ${helmRelease} manifests/chart --namespace ${namespace} --reset-then-reuse-values --set ${value}=true`
          : `kubectl apply -f ${namespace === MANIFEST_NAMESPACE ? manifest : `${manifest}, for the namespace ${namespace}`}`;
      return found(NAME, 'trouble', `${kind} ${name}: ${notPermitted(right, by)}`, remedy);
    });
}

function remedyFor({ helmRelease, namespace }: Installation): string {
  if (helmRelease !== undefined) {
    return `helm get manifest ${helmRelease} --namespace ${namespace} | kubectl apply -f -`;
  }
  const manifest = namespace === MANIFEST_NAMESPACE ? 'manifests/install.yaml' : 'what it was installed from';
  return `kubectl apply -f ${manifest}`;
}

/** `list, watch pods`, `get secrets taintkeeper-certs in taintkeeper`. */
function formatRight({ verbs, resource, group, name, namespace }: Right): string {
  const type = group === '' ? resource : `${resource}.${group}`;
  return `${verbs.join(', ')} ${type}${name === undefined ? '' : ` ${name}`}${namespace === undefined ? '' : ` in ${namespace}`}`;
}
