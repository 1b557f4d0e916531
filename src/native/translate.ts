import type { NativelyExpressible } from '../policy/backstop.ts';
import type { Policy } from '../policy/policy.ts';
import { compilePolicies, compileTaintPolicy, compileTolerationPolicy, startupKeysOf } from '../policy/policy-set.ts';
import { compileTolerationRestriction } from '../policy/toleration-restriction.ts';
import { oncePer } from '../runtime/once-per.ts';
import type {
  MutatingVersion,
  NativeLimit,
  NativePolicy,
  NativeTranslation,
  TranslationOptions,
} from './native-policy.ts';
import { translateDaemonSets } from './translate-daemon-sets.ts';
import { translateNodes } from './translate-nodes.ts';
import { translatePods } from './translate-pods.ts';

/** All policies are translated with the same list of others. */
const compiled = oncePer((policies: readonly Policy[]) => compilePolicies(policies));

/**
 * A policy as native policies: the same decisions and patches as {@link judgeNodeCreation}, {@link judgeNodeUpdate} and {@link judgeDaemonSet}.
 * `limits` lists what cannot be expressed.
 */
export function translate(policy: NativelyExpressible, { among, ...target }: TranslationOptions): NativeTranslation {
  const { taintPolicies, tolerationPolicies } = compiled(among);
  switch (policy.kind) {
    case 'TaintPolicy':
      return translateNodes(compileTaintPolicy(policy, { startupKeys: startupKeysOf(among) }), taintPolicies, target);
    case 'TolerationPolicy':
      return translateDaemonSets(compileTolerationPolicy(policy), tolerationPolicies, target);
    case 'TolerationRestriction':
      return translatePods(compileTolerationRestriction(policy));
  }
}

/** The admission policies that an API server has. */
export interface NativeCapabilities {
  /** For example `1.36`. */
  readonly version: string;
  /** Undefined if there is no MutatingAdmissionPolicy. */
  readonly mutating: MutatingVersion | undefined;
  /** Whether its MutatingAdmissionPolicy is off by default. */
  readonly gated: boolean;
  /** Whether it can read policies from files (the gate ManifestBasedAdmissionControlConfig). */
  readonly readsManifests: boolean;
}

/** The version for which `export` writes policies if none is named: that of most tests. */
export const DEFAULT_KUBERNETES = '1.36';
/** ValidatingAdmissionPolicy is v1 from here on. */
export const OLDEST_NATIVE_KUBERNETES = '1.30';

/** What Kubernetes 1.MINOR has; undefined for one without ValidatingAdmissionPolicy v1. */
export function capabilitiesOf(minor: number): NativeCapabilities | undefined {
  if (minor < 30) return undefined;
  const gated = minor >= 34 && minor < 36;
  return {
    version: `1.${minor}`,
    mutating: minor >= 36 ? 'v1' : gated ? 'v1beta1' : undefined,
    gated,
    readsManifests: minor >= 36,
  };
}

/** The minor version in `1.36`, `v1.34.2` or `v1.33.4+k3s1`; undefined where the text is no version of Kubernetes 1. */
export function parseMinor(text: string): number | undefined {
  const minor = /^v?1\.(\d{1,3})(?:\.\d+)?(?:[-+.][\w.+-]*)?$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

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
