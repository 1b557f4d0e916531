import type { MutatingVersion } from './manifests.ts';

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
