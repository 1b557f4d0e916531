import { formatLabels } from '../../kubernetes/label-selector.ts';
import type { MutatingVersion } from '../../native/manifests.ts';
import { MANAGED_LABELS } from '../../objects/managed-labels.ts';
import type { ApiClient } from '../client/api-client.ts';
import { findApi } from '../client/find-object.ts';
import { isOurs } from '../installation/own-names.ts';
import { listObjects } from '../list/list-objects.ts';
import { ADMISSION_REGISTRATION_PATH } from './webhook-configurations.ts';

/** The kinds of native policies, each with its bindings. */
export const NATIVE_RESOURCES = {
  MutatingAdmissionPolicy: 'mutatingadmissionpolicies',
  MutatingAdmissionPolicyBinding: 'mutatingadmissionpolicybindings',
  ValidatingAdmissionPolicy: 'validatingadmissionpolicies',
  ValidatingAdmissionPolicyBinding: 'validatingadmissionpolicybindings',
} as const;
export type NativeKind = keyof typeof NATIVE_RESOURCES;
const NATIVE_KINDS = Object.keys(NATIVE_RESOURCES) as NativeKind[];

/** The version in which the API server has them. Undefined if it has none, or only older ones than taintkeeper writes. */
export interface NativeVersions {
  readonly validating: 'v1' | undefined;
  readonly mutating: MutatingVersion | undefined;
}

/** The fields of a native policy or binding that are read here. */
export interface NativeObject {
  readonly kind: NativeKind;
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly resourceVersion: string;
    readonly generation?: number;
    readonly labels?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly uid: string }[];
  };
  /** For a ValidatingAdmissionPolicy, from the controller manager. */
  readonly status?: {
    readonly observedGeneration?: number;
    readonly typeChecking?: {
      readonly expressionWarnings?: readonly { readonly fieldRef: string; readonly warning: string }[];
    };
  };
  readonly [field: string]: unknown;
}

/**
 * Asks the API server which of them it serves.
 * @throws ApiError
 */
export async function servedVersions(client: ApiClient): Promise<NativeVersions> {
  const [stable, beta] = await Promise.all([resourcesOf(client, 'v1'), resourcesOf(client, 'v1beta1')]);
  const validating = stable.includes(NATIVE_RESOURCES.ValidatingAdmissionPolicy) ? 'v1' : undefined;
  const mutates = NATIVE_RESOURCES.MutatingAdmissionPolicy;
  return { validating, mutating: stable.includes(mutates) ? 'v1' : beta.includes(mutates) ? 'v1beta1' : undefined };
}

async function resourcesOf(client: ApiClient, version: string): Promise<string[]> {
  const found = await findApi<{ resources?: { name: string }[] }>(client, `${ADMISSION_REGISTRATION_PATH}/${version}`);
  return found?.resources?.map(({ name }) => name) ?? [];
}

/** The path of the kind's objects. Undefined if the API server has none. */
export function nativePath(kind: NativeKind, { validating, mutating }: NativeVersions): string | undefined {
  const version = kind.startsWith('Validating') ? validating : mutating;
  return version && `${ADMISSION_REGISTRATION_PATH}/${version}/${NATIVE_RESOURCES[kind]}`;
}

const OWNER_KINDS = ['TaintPolicy', 'TolerationPolicy', 'TolerationRestriction', 'ClusterRole'];

/**
 * All objects with such a name and the labels, of every served kind.
 * @throws ApiError
 */
export async function listNative(
  client: ApiClient,
  versions: NativeVersions,
  labels: Readonly<Record<string, string>> = {},
): Promise<NativeObject[]> {
  const lists = NATIVE_KINDS.map(async (kind) => {
    const path = nativePath(kind, versions);
    // Items of a list have no kind.
    const read = (object: unknown) => ({ ...(object as NativeObject), kind });
    return path === undefined ? [] : listObjects(client, path, read, { labelSelector: formatLabels(labels) });
  });
  return (await Promise.all(lists)).flat().filter(({ metadata }) => isOurs(metadata.name));
}

/** Whether a leader has written it: users can add a label to any object. */
export function isWrittenByLeader({ metadata: { labels, ownerReferences } }: NativeObject): boolean {
  const isLabelled = Object.entries(MANAGED_LABELS).every(([key, value]) => labels?.[key] === value);
  return isLabelled && (ownerReferences ?? []).some(({ kind }) => OWNER_KINDS.includes(kind));
}
