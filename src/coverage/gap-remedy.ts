import { ROLE_TAINT_KEYS } from '../kubernetes/roles.ts';
import type { Taint } from '../kubernetes/taint.ts';
import type { CompiledTolerationPolicy } from '../policy/compiled-toleration-policy.ts';
import type { SchedulingNode } from '../scheduling/coverage.ts';
import { shellWord } from '../text/printable.ts';
import { fixGaps } from './gap-fix.ts';
import type { Gap } from './gaps.ts';
import type { FixableDaemonSet } from './workload.ts';

/** The command that prints the policies that close the gaps of a DaemonSet. @param taints the blocking taints */
export function fixCommandFor(
  { namespace, name }: Pick<FixableDaemonSet, 'namespace' | 'name'>,
  taints: readonly Taint[],
): string {
  const others = taints.map(({ key }) => key).filter((key) => !ROLE_TAINT_KEYS.some((role) => role === key));
  const keyOptions = [...new Set(others)].map((key) => ` --taint ${shellWord(key)}`);
  return `taintkeeper coverage fix -n ${shellWord(namespace)} --daemonset ${shellWord(name)}${keyOptions.join('')}`;
}

/** The command that adds the required tolerations to a DaemonSet. It replaces the pods, and works even if taintkeeper may not patch DaemonSets. */
export function rolloutCommandFor({ namespace, name }: Pick<FixableDaemonSet, 'namespace' | 'name'>): string {
  return `kubectl rollout restart -n ${shellWord(namespace)} daemonset ${shellWord(name)}`;
}

/** What lets a DaemonSet run on the nodes of its gaps. */
export interface GapRemedy {
  /** For a shell. It replaces the pods of the DaemonSet. */
  readonly command: string;
  /** On how many more nodes the DaemonSet then runs. */
  readonly nodes: number;
}

/**
 * The one command that closes the gaps of a DaemonSet: it requires the tolerations that no policy requires yet, and rolls the DaemonSet out, so that the
 * webhook adds all that policies require. If policies require some, the other gaps count as intended, except those of a node-critical daemon.
 * @param gaps of one DaemonSet
 * @param inForce the policies
 * @param isCritical see `isNodeCritical`
 * @returns undefined if there is no such command: the gaps are intended, transient, or no policy can close them
 */
export function gapRemedy(
  gaps: readonly Gap<FixableDaemonSet, SchedulingNode>[],
  inForce: readonly CompiledTolerationPolicy[],
  isCritical: boolean,
): GapRemedy | undefined {
  const permanent = gaps.filter(({ isTransient }) => !isTransient);
  const keys = permanent.flatMap(({ taints }) => taints.map(({ key }) => key));
  const { policies, closed: closable, left } = fixGaps(permanent, keys, inForce);
  const required = left.flatMap(({ gap, because }) => (because.kind === 'alreadyRequired' ? [gap] : []));
  const closed = isCritical || required.length === 0 ? closable : [];
  const cured = [...closed, ...required];
  const [first] = cured;
  if (first === undefined) return undefined;
  const names = policies.map(({ metadata }) => `tolerationpolicy/${metadata.name}`);
  const steps = [
    ...(closed.length > 0
      ? [
          `${fixCommandFor(
            first.daemonSet,
            closed.flatMap(({ taints }) => taints),
          )} | kubectl apply -f -`,
          `kubectl wait --for=condition=Ready ${names.join(' ')}`,
        ]
      : []),
    rolloutCommandFor(first.daemonSet),
  ];
  return { command: steps.join(' && '), nodes: cured.reduce((sum, { nodes }) => sum + nodes.length, 0) };
}
