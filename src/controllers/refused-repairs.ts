import type { Loss } from '../policy/node-drift.ts';
import { atMost } from '../policy/text.ts';
import type { Trouble } from './trouble.ts';

/** Refusals that a status repeats: a message can be long, and most often all of them say the same. */
const MAX_NAMED = 5;

/** Nodes that the API server does not let be put right: for want of a right, or because another webhook objects. */
export interface RefusedRepairs {
  /** @param message what the API server says, the node's name included */
  refused(node: string, losses: readonly Loss[], message: string): void;
  /** The node was written, needs nothing, or is gone. */
  over(node: string): void;
  has(node: string): boolean;
  troubles(): readonly Trouble[];
}

export function trackRefusedRepairs(onChange: () => void): RefusedRepairs {
  const refusals = new Map<string, { readonly policies: ReadonlySet<string>; readonly message: string }>();

  return {
    refused(node, losses, message) {
      const policies = new Set(losses.flatMap(({ policy, hindrance }) => (hindrance ? [] : [policy.name])));
      refusals.set(node, { policies, message });
      onChange();
    },
    over(node) {
      if (refusals.delete(node)) onChange();
    },
    has: (node) => refusals.has(node),
    troubles() {
      const all = [...refusals.values()];
      return [...new Set(all.flatMap(({ policies }) => [...policies]))].sort().map((policy) => {
        const messages = all.filter(({ policies }) => policies.has(policy)).map(({ message }) => message);
        return {
          kind: 'TaintPolicy',
          policy,
          reason: 'RepairRefused',
          message: `the API server refuses to have taints put back: ${atMost(MAX_NAMED, messages).join(', ')}`,
        };
      });
    },
  };
}
