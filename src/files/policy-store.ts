import type { Policy } from '../policy/policy.ts';
import { compilePolicies, type PolicySet } from '../policy/policy-set.ts';
import { InputError } from './input-error.ts';
import { type PolicySource, parsePolicies } from './policy-files.ts';

/** The result of the latest read of the policies. */
export type PolicyLoad =
  | { readonly ok: true; readonly policies: readonly Policy[] }
  /** The last good policies stay in force. */
  | { readonly ok: false; readonly faults: readonly string[] };

/** The policies in force, read from sources that may change. */
export interface PolicyStore {
  policies(): PolicySet;
  /** The sources of those. */
  inForce(): readonly Policy[];
  lastLoad(): PolicyLoad;
  /** Reads the sources again. If they are broken, the policies in force do not change, and no error is thrown. */
  reload(): Promise<PolicyLoad>;
}

/**
 * Reads the policies for the first time.
 * @param audit every policy counts as mode Audit
 * @throws InputError if the sources are broken or empty, because there are no earlier policies
 */
export async function openPolicyStore(read: () => Promise<PolicySource[]>, audit: boolean): Promise<PolicyStore> {
  const load = async () => {
    const policies = parsePolicies(await read());
    return { policies, compiled: compilePolicies(policies, { audit }) };
  };
  const first = await load();
  let inForce = first;
  let last: PolicyLoad = { ok: true, policies: first.policies };

  return {
    policies: () => inForce.compiled,
    inForce: () => inForce.policies,
    lastLoad: () => last,
    async reload() {
      try {
        inForce = await load();
        last = { ok: true, policies: inForce.policies };
      } catch (error) {
        last = { ok: false, faults: error instanceof InputError ? error.faults : [String(error)] };
      }
      return last;
    },
  };
}
