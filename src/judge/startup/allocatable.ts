import type { ReadyResource } from '../../policy/ready-when.ts';
import { type Blocker, unmet } from './blocker.ts';

/** What `readyWhen.allocatable` depends on. */
export interface NodeResources {
  /** The resources of which `status.allocatable` has more than zero, as far as `readyWhen` can name them. Absent if there are none. */
  readonly resources?: readonly string[];
}

/** The resources of `readyWhen.allocatable` that the node does not offer: an absent one is zero. */
export function allocatableBlockers(awaited: readonly ReadyResource[], { resources = [] }: NodeResources): Blocker[] {
  return awaited
    .filter(({ resource }) => !resources.includes(resource))
    .map(({ resource }) => unmet(`resource ${resource}: the node has none that is allocatable`));
}

/** The same where all of them are there. */
export function allocatableText(awaited: readonly ReadyResource[]): string[] {
  return awaited.map(({ resource }) => `resource ${resource} is allocatable`);
}
