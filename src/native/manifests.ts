import { DNS_SUBDOMAIN_LENGTH } from '../kubernetes/names.ts';
import type { NativePolicy, ValidationAction } from './native-policy.ts';

/** The version in which the API server has MutatingAdmissionPolicy: `v1` from Kubernetes 1.36, `v1beta1` from 1.34. */
export type MutatingVersion = 'v1' | 'v1beta1';

export interface NativeManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/** What the manifests have of a {@link NativePolicy}. */
interface ManifestParts extends Pick<NativePolicy, 'kind' | 'name'> {
  readonly spec: object;
  readonly validationActions?: readonly ValidationAction[];
}

/** The policy and its binding, as they are written to the API server. */
export function manifestsOf(
  { kind, name, spec, validationActions }: ManifestParts,
  mutatingVersion: MutatingVersion,
): NativeManifest[] {
  const version = kind === 'ValidatingAdmissionPolicy' ? 'v1' : mutatingVersion;
  const apiVersion = `admissionregistration.k8s.io/${version}`;
  const actions = validationActions ? { validationActions } : {};
  return [
    { apiVersion, kind, metadata: { name }, spec },
    { apiVersion, kind: `${kind}Binding`, metadata: { name }, spec: { policyName: name, ...actions } },
  ];
}

/**
 * What the name of an object ends with that the API server reads from its own disk
 * (`StaticConfigSuffix` of k8s.io/apiserver/pkg/admission/plugin/manifest).
 */
const STATIC_SUFFIX = '.static.k8s.io';

/** The manifest as the API server takes it from a file: nothing that is stored in the cluster can have its name. */
export function asStaticManifest({ metadata, spec, ...rest }: NativeManifest): NativeManifest {
  const named = 'policyName' in spec ? { ...spec, policyName: `${spec.policyName}${STATIC_SUFFIX}` } : spec;
  return { ...rest, metadata: { name: `${metadata.name}${STATIC_SUFFIX}` }, spec: named };
}

/** Why the manifest cannot become a static one, if it cannot. */
export function tooLongForStatic({ metadata: { name } }: NativeManifest): string | undefined {
  const excess = name.length + STATIC_SUFFIX.length - DNS_SUBDOMAIN_LENGTH;
  return excess > 0
    ? `${name}${STATIC_SUFFIX} is too long for the name of an object, by ${excess} characters`
    : undefined;
}
