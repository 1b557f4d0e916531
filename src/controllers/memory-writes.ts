import type { Logger } from 'pino';
import type { Entry } from '../cluster/watch/cached-objects.ts';
import { REMEMBERED_ANNOTATION } from '../policy/memory.ts';
import type { DesiredNode } from '../policy/node.ts';
import { REMOVED_ANNOTATION } from '../policy/removal.ts';
import { createAttempts } from './attempts.ts';
import type { ClusterNode } from './cluster-objects.ts';
import { FIGHT } from './taint-contests.ts';

/** Breaks the circuit between taintkeeper and whoever changes its annotations on a node: the taints are as they should be. */
export interface MemoryWrites {
  /** The node was made as desired. */
  wrote(node: Entry<ClusterNode>, desired: DesiredNode): void;
  /** Whether it was made so too often to be worth another write. Never where taints change: they are counted by themselves. */
  isFought(node: Entry<ClusterNode>, desired: DesiredNode): boolean;
  /** Forgets what is out of the window. */
  forget(): void;
}

export function countMemoryWrites(log: Logger): MemoryWrites {
  const writes = createAttempts();
  const keyOf = ({ uid }: Entry<ClusterNode>, { remembered = '', removed = '' }: DesiredNode) =>
    `${uid} ${remembered} ${removed}`;
  const countOf = (key: string) => writes.within(key, FIGHT.windowMs, performance.now()).length;

  return {
    wrote(node, desired) {
      if (desired.taints !== node.value.taints) return;
      const key = keyOf(node, desired);
      writes.record(key, performance.now());
      if (countOf(key) < FIGHT.limit) return;
      const times = `${FIGHT.limit} times in ${FIGHT.windowMs / 60_000} minutes`;
      const annotation = desired.removed === node.value.removed ? REMEMBERED_ANNOTATION : REMOVED_ANNOTATION;
      log.warn(`wrote the same ${annotation} to Node ${node.name} ${times}: somebody changes it each time`);
    },
    isFought: (node, desired) => desired.taints === node.value.taints && countOf(keyOf(node, desired)) >= FIGHT.limit,
    forget: () => writes.forget(FIGHT.windowMs, performance.now()),
  };
}
