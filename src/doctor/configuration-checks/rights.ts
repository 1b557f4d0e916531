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
