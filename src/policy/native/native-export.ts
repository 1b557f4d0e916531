import type { Policy } from '../policy.ts';
import type { NativeCapabilities } from './kubernetes-version.ts';
import type { NativeLimit, NativePolicy, NativeTranslation } from './native-objects.ts';
import { translate } from './translate.ts';

/** What one of the policies becomes for an API server that is all there is. */
export interface ExportedPolicy {
  readonly source: Policy;
  readonly policies: readonly NativePolicy[];
  readonly limits: readonly NativeLimit[];
}

/** All of them, or why some have no native form. */
export type NativeExport =
  | { readonly ok: true; readonly exported: readonly ExportedPolicy[] }
  | { readonly ok: false; readonly refusals: readonly string[] };

/** Translates the policies for an API server that has these. */
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
  return refusals.length > 0 ? { ok: false, refusals } : { ok: true, exported: translated };
}

const NOT_NATIVE: NativeTranslation = {
  policies: [],
  limits: [{ field: 'spec', message: 'no request is what it is about: it needs taintkeeper in the cluster' }],
};
