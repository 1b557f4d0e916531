import { DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import type { ExportedPolicy, NativeExport } from './export-policies.ts';
import type { NativeManifest } from './native-policy.ts';

/**
 * What the name of an object ends with that the API server reads from its own disk
 * (`StaticConfigSuffix` of k8s.io/apiserver/pkg/admission/plugin/manifest).
 */
const STATIC_SUFFIX = '.static.k8s.io';

/** The objects as the API server takes them from files: nothing that is stored in the cluster can have their names. */
export function asStaticExport(exported: readonly ExportedPolicy[]): NativeExport {
  const refusals = exported.flatMap(({ source, manifests }) =>
    manifests.map(tooLong).flatMap((fault) => (fault === undefined ? [] : [`${source.kind} ${source.name}: ${fault}`])),
  );
  if (refusals.length > 0) return { ok: false, refusals };
  return { ok: true, exported: exported.map((one) => ({ ...one, manifests: one.manifests.map(asStaticManifest) })) };
}

function asStaticManifest({ metadata, spec, ...rest }: NativeManifest): NativeManifest {
  const named = 'policyName' in spec ? { ...spec, policyName: `${spec.policyName}${STATIC_SUFFIX}` } : spec;
  return { ...rest, metadata: { name: `${metadata.name}${STATIC_SUFFIX}` }, spec: named };
}

/** Why the manifest cannot become a static one, if it cannot. */
function tooLong({ metadata: { name } }: NativeManifest): string | undefined {
  const excess = name.length + STATIC_SUFFIX.length - DNS_SUBDOMAIN_LENGTH;
  return excess > 0
    ? `${name}${STATIC_SUFFIX} is too long for the name of an object, by ${excess} characters`
    : undefined;
}
