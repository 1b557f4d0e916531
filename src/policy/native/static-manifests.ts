import type { NativeManifest } from './manifests.ts';
import { OBJECT_NAME_LENGTH } from './object-name.ts';

/**
 * What the name of an object ends with that the API server reads from its own disk
 * (`StaticConfigSuffix` of k8s.io/apiserver/pkg/admission/plugin/manifest).
 */
export const STATIC_SUFFIX = '.static.k8s.io';

/** The manifest as the API server takes it from a file: nothing that is stored in the cluster can have its name. */
export function asStaticManifest({ metadata, spec, ...rest }: NativeManifest): NativeManifest {
  const named = 'policyName' in spec ? { ...spec, policyName: `${spec.policyName}${STATIC_SUFFIX}` } : spec;
  return { ...rest, metadata: { name: `${metadata.name}${STATIC_SUFFIX}` }, spec: named };
}

/** Why the manifest cannot become a static one, if it cannot. */
export function tooLongForStatic({ metadata: { name } }: NativeManifest): string | undefined {
  const excess = name.length + STATIC_SUFFIX.length - OBJECT_NAME_LENGTH;
  return excess > 0
    ? `${name}${STATIC_SUFFIX} would be too long a name for an object, by ${excess} characters`
    : undefined;
}
