import type { NativeKind } from '../../cluster/native-policies.ts';
import type { PolicyObject } from '../../cluster/policy-object.ts';
import { requirementsOf } from '../../kubernetes/selector-overlap.ts';
import { type MutatingSpec, type MutatingVersion, manifestsOf, type NativePolicy } from '../../native/native-policy.ts';
import { MANAGED_LABELS } from '../../objects/object-meta.ts';
import { POLICY_API_VERSION } from '../../policy/policy.ts';
import type { Ownership } from '../managed-objects.ts';
import { exactSelector } from '../managed-objects.ts';

/** A native policy or binding as it should be. A field that is undefined must not be there. */
export interface DesiredNative {
  readonly apiVersion: string;
  readonly kind: NativeKind;
  readonly metadata: { readonly name: string; readonly labels: Readonly<Record<string, string>> } & Ownership;
  readonly spec: object;
}

export interface DesiredNativeOptions {
  readonly policy: Pick<PolicyObject, 'kind' | 'name' | 'uid'>;
  /** Where taintkeeper runs. */
  readonly namespace: string;
  readonly mutatingVersion: MutatingVersion | undefined;
  /** Who owns the installation. */
  readonly installation: Ownership;
}

/**
 * The objects for what a policy was translated to, in the order in which they are to be written: each policy before its binding;
 * and mutation before validation, which refuses what a missing mutation has not put back.
 *
 * What decides goes with our policy, and what puts it in force with the installation: whichever of the two is deleted, the
 * API server's garbage collector ends it, also while taintkeeper is down. An object with both for owners would stay until the
 * last of them is gone.
 */
export function desiredNatives(translated: readonly NativePolicy[], options: DesiredNativeOptions): DesiredNative[] {
  const { policy, namespace, mutatingVersion = 'v1', installation } = options;
  const { kind, name, uid } = policy;
  const ofPolicy: Ownership = { ownerReferences: [{ apiVersion: POLICY_API_VERSION, kind, name, uid }] };
  const ofBinding = installation.ownerReferences ? installation : ofPolicy;
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

/** With everything that the API server adds by itself, and without what would narrow it: nobody is to switch it off unseen. */
function policySpec(spec: object, namespace: string): object {
  const { matchConstraints, ...rest } = spec as Pick<MutatingSpec, 'matchConstraints'>;
  return {
    ...withoutEmptyLists(rest),
    paramKind: undefined,
    matchConstraints: {
      resourceRules: matchConstraints.resourceRules.map((rule) => ({ ...rule, scope: '*', resourceNames: undefined })),
      // A DaemonSet of our own is left alone, as by the webhook. Nodes are in no namespace: the selector does not count for them.
      namespaceSelector: exactSelector([
        ...requirementsOf(matchConstraints.namespaceSelector),
        { key: 'kubernetes.io/metadata.name', operator: 'NotIn', values: [namespace] },
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

/** The API server leaves empty lists out. */
function withoutEmptyLists(spec: object): object {
  return Object.fromEntries(
    Object.entries(spec).map(([field, value]) => [
      field,
      Array.isArray(value) && value.length === 0 ? undefined : value,
    ]),
  );
}
