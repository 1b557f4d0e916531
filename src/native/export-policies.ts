import type { Policy } from '../policy/policy.ts';
import type { NativeCapabilities } from './native-capabilities.ts';
import { manifestsOf, type NativeLimit, type NativeManifest, type NativeTranslation } from './native-policy.ts';
import { translate } from './translate.ts';

/** The objects of one policy for an API server without taintkeeper, and what they do not do. */
export interface ExportedPolicy {
  readonly source: Policy;
  readonly manifests: readonly NativeManifest[];
  readonly limits: readonly NativeLimit[];
}

/** All of them, or why some have no native form. */
export type NativeExport =
  | { readonly ok: true; readonly exported: readonly ExportedPolicy[] }
  | { readonly ok: false; readonly refusals: readonly string[] };

/** Translates the policies for an API server with these features. */
export function exportPolicies(
  policies: readonly Policy[],
  { mutating }: Pick<NativeCapabilities, 'mutating'>,
): NativeExport {
  const options = { among: policies, mutates: mutating !== undefined, purpose: 'Alone' } as const;
  const translated = policies.map((source) => ({
    source,
    ...(source.kind === 'RecoveryPolicy' ? NOT_NATIVE : translate(source, options)),
  }));
  const refusals = translated.flatMap(({ refusal }) => refusal ?? []);
  if (refusals.length > 0) return { ok: false, refusals };
  const exported = translated.map(({ source, policies: natives, limits }) => ({
    source,
    // Without MutatingAdmissionPolicies, their version makes no difference.
    manifests: natives.flatMap((native) => manifestsOf(native, mutating ?? 'v1')),
    limits,
  }));
  return { ok: true, exported };
}

const NOT_NATIVE: NativeTranslation = {
  policies: [],
  limits: [{ field: 'spec', message: 'it does not concern requests: it needs taintkeeper in the cluster' }],
};
