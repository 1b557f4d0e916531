import { exactSelector, hasFields } from '../../kubernetes/desired-fields.ts';
import { NODE_METADATA_POLICY, nodeMetadataManifests } from '../../native/node-metadata.ts';
import { type Finding, finding, needs } from '../check.ts';
import type { MetadataProtection, StoredSpec } from '../facts/cluster-facts.ts';
import type { Facts } from '../facts/facts.ts';
import type { Installation } from '../facts/installation.ts';
import { reinstall } from '../reinstall.ts';

/** Checks that the API server protects the annotation `allow-removal` and the owners of nodes from users who may write `nodes/status`. */
export function checkNodeMetadata({
  metadataProtection,
  installation,
}: Pick<Facts, 'metadataProtection' | 'installation'>): readonly Finding[] {
  return needs({ metadataProtection }, (known) => protection(known.metadataProtection, installation));
}

function protection(stored: MetadataProtection, installation: Installation): Finding {
  const [policy, binding] = nodeMetadataManifests();
  const whole = exactSelector([]);
  const constraints = { excludeResourceRules: undefined, objectSelector: whole, namespaceSelector: whole };
  const spec = policy?.spec as { readonly matchConstraints: object };
  const desiredPolicy = {
    ...spec,
    paramKind: undefined,
    matchConstraints: { ...spec.matchConstraints, ...constraints },
  };
  const desiredBinding = { ...binding?.spec, paramRef: undefined, matchResources: undefined };
  const wrong = [
    ...difference('ValidatingAdmissionPolicy', stored.policy, desiredPolicy),
    ...difference('ValidatingAdmissionPolicyBinding', stored.binding, desiredBinding),
  ];
  if (wrong.length === 0)
    return finding(
      'ok',
      `${NODE_METADATA_POLICY} protects allow-removal and the owners of nodes from writers of nodes/status`,
    );
  const evidence = `${wrong.join('; ')}: users who may write nodes/status can allow themselves the removal of taints, and have nodes deleted`;
  return finding('problem', evidence, reinstall(installation));
}

function difference(kind: string, stored: StoredSpec | undefined, desired: object): string[] {
  if (stored === undefined) return [`${kind} ${NODE_METADATA_POLICY} not found`];
  return hasFields(stored.spec, desired) ? [] : [`${kind} ${NODE_METADATA_POLICY} was changed`];
}
