import { type Machine, sameMachine } from '../kubernetes/machine.ts';
import type { Taint } from '../kubernetes/taint.ts';
import { policiesFor, selectingPolicies } from '../policy/policy-index.ts';
import { type CompiledTaintPolicy, ONCE_ESTABLISHED } from '../policy/policy-set.ts';
import { ESTABLISHED_AFTER_SECONDS } from '../policy/taint-policy.ts';
import { oncePer } from '../runtime/once-per.ts';
import { establishedIn, NONE_ESTABLISHED, type NodeRecord, type RecordedState } from './node-record.ts';
import type { NodeView } from './node-view.ts';

/** Which taints of a Node are established by now. */
export interface Establishment {
  /** Whether the record lists the taint, or is to list it: the Node has carried it for long enough. */
  readonly established: RecordedState['established'];
  /** In how many milliseconds the next taint is; undefined for none. */
  readonly nextInMs: number | undefined;
}

/**
 * A pattern protects a taint once a Ready node has carried it for {@link ESTABLISHED_AFTER_SECONDS}. Taints that are recorded for an earlier Node on
 * the same machine need not wait.
 *
 * @param record of the name of the Node
 * @param stayedMs for how long the Node has carried the taint, as far as it was seen; undefined for a taint that it does not carry
 */
export function establishment(
  node: Pick<NodeView, 'labels' | 'taints'> & { readonly uid: string; readonly machine: Machine },
  record: NodeRecord | undefined,
  policies: readonly CompiledTaintPolicy[],
  stayedMs: (taint: Taint) => number | undefined,
): Establishment {
  const isOfNode = record !== undefined && (record.uid === node.uid || sameMachine(record.machine, node.machine));
  const isListed = isOfNode ? establishedIn(record) : NONE_ESTABLISHED;
  const selecting = selectingPolicies(policies, node.labels);
  if (!selecting.some(({ establishes }) => establishes)) return { established: isListed, nextInMs: undefined };
  const leftMs = (taint: Taint): number | undefined => {
    const stayed = stayedMs(taint);
    if (stayed === undefined) return undefined;
    const isMeant = policiesFor(selecting, taint.key).some(
      (policy) => policy.establishes && policy.removalRestrictedBy(taint, ONCE_ESTABLISHED) !== undefined,
    );
    return isMeant ? 1_000 * ESTABLISHED_AFTER_SECONDS - stayed : undefined;
  };
  const left = node.taints.filter((taint) => !isListed(taint)).map((taint) => leftMs(taint) ?? 0);
  const times = left.filter((ms) => ms > 0);
  return {
    // Each policy calls it, and each call reads all policies.
    established: oncePer((taint: Taint) => isListed(taint) || (leftMs(taint) ?? 1) <= 0),
    nextInMs: times.length === 0 ? undefined : Math.min(...times),
  };
}
