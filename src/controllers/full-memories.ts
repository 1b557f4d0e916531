import { isDeepStrictEqual } from 'node:util';
import { REMEMBERED_ANNOTATION } from '../policy/memory.ts';
import type { CompiledTaintPolicy } from '../policy/policy-set.ts';
import { formatTaint, type Taint } from '../policy/taint.ts';
import { atMost } from '../policy/text.ts';
import type { Trouble } from './trouble.ts';

/** Nodes that a status names, and taints of each. */
const MAX_NAMED = 5;

/** Tells of nodes whose memory has no room for all that has settled on them: no key with a wildcard protects the rest. */
export interface FullMemories {
  /** What was found on a node; nothing, where it has room or is gone. */
  found(node: string, unlisted: readonly Taint[], policies: readonly CompiledTaintPolicy[]): void;
  has(node: string): boolean;
  troubles(): readonly Trouble[];
}

export function trackFullMemories(onChange: () => void): FullMemories {
  const nodes = new Map<string, { readonly text: string; readonly policies: readonly string[] }>();

  return {
    found(node, unlisted, policies) {
      const before = nodes.get(node);
      if (unlisted.length === 0) {
        if (nodes.delete(node)) onChange();
        return;
      }
      const waiting = policies.filter(
        ({ mode, settleMs, protectedBy }) => mode !== 'Audit' && settleMs > 0 && unlisted.some(protectedBy),
      );
      const found = {
        text: `${unlisted.length} of node ${node} (${atMost(MAX_NAMED, unlisted.map(formatTaint)).join(', ')})`,
        policies: waiting.map(({ name }) => name),
      };
      if (isDeepStrictEqual(before, found)) return;
      nodes.set(node, found);
      onChange();
    },
    has: (node) => nodes.has(node),
    troubles() {
      const all = [...nodes.values()];
      return [...new Set(all.flatMap(({ policies }) => policies))].sort().map((policy) => {
        const texts = all.filter(({ policies }) => policies.includes(policy)).map(({ text }) => text);
        const named = atMost(MAX_NAMED, texts).join('; ');
        return {
          kind: 'TaintPolicy',
          policy,
          reason: 'MemoryFull',
          message: `taints that have no room in ${REMEMBERED_ANNOTATION} are not protected by a key with "*": ${named}`,
        };
      });
    },
  };
}
