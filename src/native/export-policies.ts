import type { Policy } from '../policy/policy.ts';
import type { NativeCapabilities } from './native-capabilities.ts';
import type { NativePolicy } from './native-policy.ts';
import { translate } from './translate.ts';
import type { NativeLimit, NativeTranslation } from './translation.ts';

/** The translation of one policy for an API server without taintkeeper. */
export interface ExportedPolicy {
  readonly source: Policy;
  readonly policies: readonly NativePolicy[];
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
  return refusals.length > 0 ? { ok: false, refusals } : { ok: true, exported: translated };
}

const NOT_NATIVE: NativeTranslation = {
  policies: [],
  limits: [{ field: 'spec', message: 'it does not concern requests: it needs taintkeeper in the cluster' }],
};
