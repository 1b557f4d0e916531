import type { CompiledTaintPolicy } from '../../policy/policy-set.ts';
import { isAmong, type ReadyDaemonSet } from '../../policy/ready-when.ts';

/** Whether a startup taint of the policies may wait for the DaemonSet. */
export function isAwaited(policies: readonly CompiledTaintPolicy[], { namespace, name }: ReadyDaemonSet): boolean {
  return policies.some(({ untilReady }) =>
    untilReady.some(
      ({ value: { parts } }) =>
        parts.daemonSets.some((named) => named.namespace === namespace && named.name === name) ||
        parts.allDaemonSets.some((all) => isAmong(all, { namespace, name })),
    ),
  );
}

/** The DaemonSets that enforced policies name in `readyWhen`. */
export function namedDaemonSets(policies: readonly CompiledTaintPolicy[]): ReadyDaemonSet[] {
  const enforced = policies.filter(({ mode }) => mode !== 'Audit');
  return enforced.flatMap(({ untilReady }) => untilReady.flatMap(({ value }) => value.parts.daemonSets));
}
