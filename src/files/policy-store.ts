import type { Policy } from '../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import { InputError } from './input-error.ts';
import { type PolicySource, parsePolicies } from './policy-files.ts';

/** How the latest reading of the policies ended. */
export type PolicyLoad =
  | { readonly ok: true; readonly policies: readonly Policy[]; readonly at: Date }
  /** The last good policies stay in force. */
  | { readonly ok: false; readonly faults: readonly string[] };

/** The policies in force, read from sources that may change. */
export interface PolicyStore {
  policies(): PolicySet;
  /** What those were compiled from. */
  inForce(): readonly Policy[];
  lastLoad(): PolicyLoad;
  /** Reads the sources again. Broken ones leave the policies in force as they are; that is an outcome, not an error. */
  reload(): Promise<PolicyLoad>;
}

/**
 * Reads the policies for the first time.
 * @param audit takes every policy to be in mode Audit
 * @throws InputError when the sources are broken, or empty: there are no earlier policies to keep
 */
export async function openPolicyStore(read: () => Promise<PolicySource[]>, audit: boolean): Promise<PolicyStore> {
  const load = async () => {
    const policies = parsePolicies(await read());
    return { policies, compiled: compilePolicies(policies, { audit }) };
  };
  const first = await load();
  let inForce = first;
  let last: PolicyLoad = { ok: true, policies: first.policies, at: new Date() };

  return {
    policies: () => inForce.compiled,
    inForce: () => inForce.policies,
    lastLoad: () => last,
    async reload() {
      try {
        inForce = await load();
        last = { ok: true, policies: inForce.policies, at: new Date() };
      } catch (error) {
        last = { ok: false, faults: error instanceof InputError ? error.faults : [String(error)] };
      }
      return last;
    },
  };
}
