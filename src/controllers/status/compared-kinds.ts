import { type CompiledTaintPolicy, waitsForDaemonSets } from '../../policy/compiled-taint-policy.ts';
import type { PolicyKind } from '../../policy/policy.ts';

/** A kind of objects that policies are compared with. */
export type ComparedKind = 'nodes' | 'daemonSets';

/** Whether all objects of a kind are known, will be known soon, or cannot be listed, and why. */
export type Reading = 'Read' | 'Pending' | { readonly error: string };

/** What the status of a policy depends on. The right to list one kind may be missing, and the other policies have a status nevertheless. */
export function comparedKinds(
  kind: PolicyKind,
  own: Pick<CompiledTaintPolicy, 'untilReady'> | undefined,
): readonly ComparedKind[] {
  switch (kind) {
    case 'TaintPolicy':
      return own && waitsForDaemonSets(own) ? ['nodes', 'daemonSets'] : ['nodes'];
    case 'TolerationRestriction':
      return [];
    case 'TolerationPolicy':
    case 'RecoveryPolicy':
      return ['nodes', 'daemonSets'];
  }
}
