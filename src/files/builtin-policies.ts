import { readFile } from 'node:fs/promises';
import type { PolicySource } from './policy-files.ts';

/** The bundle carries the built-in policies' texts (see rolldown.config.ts); source code reads the files. */
declare const BUILTIN_POLICIES: readonly PolicySource[] | undefined;

export const BUILTIN_POLICY_FILES = ['control-plane-taints.yaml', 'cni-tolerations.yaml'] as const;

/** The policies that apply when none are given: `manifests/policies/`. */
export async function readBuiltinPolicies(): Promise<PolicySource[]> {
  if (typeof BUILTIN_POLICIES !== 'undefined') return [...BUILTIN_POLICIES];
  return Promise.all(
    BUILTIN_POLICY_FILES.map(async (file) => ({
      name: `built-in/${file}`,
      text: await readFile(new URL(`../../manifests/policies/${file}`, import.meta.url), 'utf8'),
    })),
  );
}
