import type { Policy } from '../policy/policy.ts';
import { byName, compilePolicies } from '../policy/policy-set.ts';
import { daemonSetEntries } from './daemon-set-entries.ts';
import { nodeEntries } from './node-entries.ts';
import type { WebhookEntry } from './webhook-entry.ts';

/**
 * The webhooks that the policies need. Their selectors and conditions match exactly the requests about which {@link judgeNodeCreation}, {@link
 * judgeNodeUpdate} and {@link judgeDaemonSet} decide or report something, in this phase or in the other one. No request matches twice in one phase.
 * They match more, and never fewer, if the exact condition would cost the API server too much:
 *
 * - updates of nodes with more taints than the expression allows (384 or 512 for few policies): those that change a taint with a protected key, or
 * the order of such taints. From some thousands of taints on, those that change any taint;
 * - new nodes with more than 512 taints, and DaemonSets with more than 512 tolerations, or fewer if the expression says so;
 * - requesters with more than 64 groups, or names of more than 256 characters: no pattern exempts them;
 * - in mutation, updates that add taints to a node with an allow-removal annotation, with any entries;
 * - updates by nodes themselves that remove or add a taint, which NodeRestriction refuses before;
 * - allow-removal annotations of more than 1,024 characters, or of white space other than blanks and line breaks;
 * - the requests that `widened` of an entry names.
 *
 * The same policies give the same entries, in any order of the policies. With `audit`, every policy counts as mode Audit.
 */
export function webhookEntries(policies: readonly Policy[], { audit = false } = {}): WebhookEntry[] {
  const { taintPolicies, tolerationPolicies } = compilePolicies(policies, { audit });
  return [...nodeEntries(taintPolicies.toSorted(byName)), ...daemonSetEntries(tolerationPolicies.toSorted(byName))];
}
