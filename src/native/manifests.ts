import type { NativePolicy } from './native-policy.ts';

/** Characters of the longest name of an object: a DNS subdomain (RFC 1123). */
export const OBJECT_NAME_LENGTH = 253;

/** The version in which the API server has MutatingAdmissionPolicy: `v1` from Kubernetes 1.36, `v1beta1` from 1.34. */
export type MutatingVersion = 'v1' | 'v1beta1';

export interface NativeManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/** The policy and its binding, as they are written to the API server. */
export function manifestsOf(policy: NativePolicy, mutatingVersion: MutatingVersion): NativeManifest[] {
  const { kind, name, spec } = policy;
  const version = kind === 'ValidatingAdmissionPolicy' ? 'v1' : mutatingVersion;
  const apiVersion = `admissionregistration.k8s.io/${version}`;
  const actions = policy.kind === 'ValidatingAdmissionPolicy' ? { validationActions: policy.validationActions } : {};
  return [
    { apiVersion, kind, metadata: { name }, spec },
    { apiVersion, kind: `${kind}Binding`, metadata: { name }, spec: { policyName: name, ...actions } },
  ];
}

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
