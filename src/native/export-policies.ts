import type { Policy } from '../policy/policy.ts';
import { asStaticManifest, manifestsOf, type NativeManifest, tooLongForStatic } from './manifests.ts';
import type { NativeCapabilities } from './native-capabilities.ts';
import { translate } from './translate.ts';
import type { NativeLimit, NativeTranslation } from './translation.ts';

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

/** The same for an API server that reads them from files, or why they cannot be in files. */
export function asStaticExport(exported: readonly ExportedPolicy[]): NativeExport {
  const refusals = exported.flatMap(({ source, manifests }) =>
    manifests.flatMap((manifest) => {
      const fault = tooLongForStatic(manifest);
      return fault === undefined ? [] : [`${source.kind} ${source.name}: ${fault}`];
    }),
  );
  if (refusals.length > 0) return { ok: false, refusals };
  return { ok: true, exported: exported.map((one) => ({ ...one, manifests: one.manifests.map(asStaticManifest) })) };
}

const NOT_NATIVE: NativeTranslation = {
  policies: [],
  limits: [{ field: 'spec', message: 'it does not concern requests: it needs taintkeeper in the cluster' }],
};
