import type { ReadyResource } from '../../policy/ready-when.ts';
import type { NodeStatus } from '../node-view.ts';
import { type Blocker, unmet } from './blocker.ts';

/** The resources of `readyWhen.allocatable` that the node does not offer: an absent one is zero. */
export function allocatableBlockers(awaited: readonly ReadyResource[], { resources = [] }: NodeStatus): Blocker[] {
  return awaited
    .filter(({ resource }) => !resources.includes(resource))
    .map(({ resource }) => unmet(`resource ${resource}: the node has none that is allocatable`));
}

/** The same where all of them are there. */
export function allocatableText(awaited: readonly ReadyResource[]): string[] {
  return awaited.map(({ resource }) => `resource ${resource} is allocatable`);
}
