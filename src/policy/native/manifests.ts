import type { NativePolicy } from './native-objects.ts';

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
