import type { Policy } from '../policy/policy.ts';
import { byName, compilePolicies } from '../policy/policy-set.ts';
import { daemonSetEntries } from './daemon-set-entries.ts';
import type { WebhookEntry } from './entry.ts';
import { nodeEntries } from './node-entries.ts';

/**
 * The webhooks that the policies need, none for none. Their selectors and conditions let through exactly the requests of which
 * {@link judgeNode} and {@link judgeDaemonSet} have something to say, in that phase or in the other one, and no request
 * twice in one phase. More are let through, and never fewer, where the exact condition would cost the API server too much:
 *
 * - updates of nodes with more taints than the expression names, 384 or 512 for few policies: those that change a taint with a protected
 *   key, or the order of such taints; from some thousands of taints on, those that change any taint;
 * - new nodes for which a policy with `deletedNodeRetentionSeconds` is, in both phases: what nodes carried before is not in their objects;
 * - new nodes with more than 512 taints, and DaemonSets with more than 512 tolerations, or fewer where the expression says so;
 * - requesters with more than 64 groups, or names of more than 256 characters: no wildcard exempts them;
 * - in mutation, updates that add taints to a node with an allow-removal annotation, whatever its entries name;
 * - updates that add a guarded taint which a policy requires and some user may remove: only records say whether it was removed;
 * - updates by nodes themselves that drop or add a taint, which NodeRestriction refuses before;
 * - allow-removal annotations of more than 1,024 characters, or of nothing but white space that is no blank and no line break;
 * - what `widened` says of an entry.
 *
 * The same policies give the same entries, in whatever order they come. With `audit`, every policy is taken to be in mode
 * Audit.
 */
export function webhookEntries(policies: readonly Policy[], { audit = false } = {}): WebhookEntry[] {
  const { taintPolicies, tolerationPolicies } = compilePolicies(policies, { audit });
  return [...nodeEntries(taintPolicies.toSorted(byName)), ...daemonSetEntries(tolerationPolicies.toSorted(byName))];
}
