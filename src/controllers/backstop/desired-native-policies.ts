import type { NativeKind } from '../../cluster/admission-registration/native-policies.ts';
import type { PolicyObject } from '../../cluster/policies/policy-object.ts';
import { exactSelector } from '../../kubernetes/desired-fields.ts';
import { NAMESPACE_NAME_LABEL } from '../../kubernetes/label-selector.ts';
import { requirementsOf } from '../../kubernetes/selector-overlap.ts';
import { type MutatingVersion, manifestsOf } from '../../native/manifests.ts';
import type { MutatingSpec, NativePolicy } from '../../native/native-policy.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import { POLICY_API_VERSION } from '../../policy/policy.ts';
import type { Ownership } from '../cluster-role-owner.ts';

/** A desired native policy or binding. A field that is undefined must be absent. */
export interface DesiredNative {
  readonly apiVersion: string;
  readonly kind: NativeKind;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> } & Ownership;
  readonly spec: object;
}

export interface DesiredNativeOptions {
  readonly policy: Pick<PolicyObject, 'kind' | 'name' | 'uid'>;
  /** The namespace of taintkeeper. */
  readonly namespace: string;
  readonly mutatingVersion: MutatingVersion | undefined;
  /** The owner of the installation. */
  readonly installationOwner: Ownership;
}

/**
 * The native objects of a policy, in the order in which they are written: each policy before its binding, and mutation before validation, which
 * denies what a missing mutation has not restored.
 *
 * Our policy owns the native policies, and the installation owns the bindings. When either is deleted, Kubernetes' garbage collector ends the
 * enforcement, also while taintkeeper is down. An object with both owners would stay until both are deleted.
 */
export function desiredNatives(translated: readonly NativePolicy[], options: DesiredNativeOptions): DesiredNative[] {
  const { policy, namespace, mutatingVersion = 'v1', installationOwner } = options;
  const { kind, name, uid } = policy;
  const ofPolicy: Ownership = { ownerReferences: [{ apiVersion: POLICY_API_VERSION, kind, name, uid }] };
  const ofBinding = installationOwner.ownerReferences ? installationOwner : ofPolicy;
  return translated
    .toSorted((a, b) => (a.kind < b.kind ? -1 : a.kind > b.kind ? 1 : 0))
    .flatMap((native) => manifestsOf(native, mutatingVersion))
    .map((manifest) => {
      const kind = manifest.kind as NativeKind;
      const isBinding = kind.endsWith('Binding');
      return {
        apiVersion: manifest.apiVersion,
        kind,
        metadata: { name: manifest.metadata.name, labels: MANAGED_LABELS, ...(isBinding ? ofBinding : ofPolicy) },
        spec: isBinding ? bindingSpec(manifest.spec) : policySpec(manifest.spec, namespace),
      };
    });
}

/** The spec with the defaults of the API server, and without fields that would narrow it: no other writer can disable it unnoticed. */
function policySpec(spec: object, namespace: string): object {
  const { matchConstraints, ...rest } = spec as Pick<MutatingSpec, 'matchConstraints'>;
  return {
    ...withoutEmptyLists(rest),
    paramKind: undefined,
    matchConstraints: {
      resourceRules: matchConstraints.resourceRules.map((rule) => ({ ...rule, scope: '*', resourceNames: undefined })),
      // As in the webhook, our own DaemonSets are ignored. Nodes have no namespace, so the selector does not apply to them.
      namespaceSelector: exactSelector([
        ...requirementsOf(matchConstraints.namespaceSelector),
        { key: NAMESPACE_NAME_LABEL, operator: 'NotIn', values: [namespace] },
      ]),
      objectSelector: exactSelector(requirementsOf(matchConstraints.objectSelector)),
      excludeResourceRules: undefined,
      matchPolicy: 'Equivalent',
    },
  };
}

function bindingSpec(spec: object): object {
  return { ...spec, paramRef: undefined, matchResources: undefined };
}

/** The API server omits empty lists. */
function withoutEmptyLists(spec: object): object {
  return Object.fromEntries(
    Object.entries(spec).map(([field, value]) => [
      field,
      Array.isArray(value) && value.length === 0 ? undefined : value,
    ]),
  );
}
