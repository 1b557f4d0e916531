import type { CheckName as ReadinessCheckName } from '../../../server/admin-server.ts';
import { atMost } from '../../../text/counts.ts';
import { consequence, type Finding, finding } from '../../check.ts';
import type { Facts } from '../../facts/facts.ts';
import type { PodView, StartFailure } from '../../facts/pod-view.ts';
import type { Readiness, ReplicaFacts } from '../../facts/replica-facts.ts';
import { whatNodesLack } from './awaited-nodes.ts';

const MAX_NAMED = 5;

/**
 * Why pods are not ready. The remedy is for the first one.
 * @param unready in the order in which they are named
 * @param summary how many pods are ready
 * @param rejected the pods that nodes rejected; empty if there are none
 */
export function unreadyPods(
  unready: readonly [PodView, ...PodView[]],
  {
    state,
    summary,
    rejected,
  }: { readonly state: 'problem' | 'note'; readonly summary: string; readonly rejected: string },
  facts: Pick<Facts, 'installation' | 'replicas' | 'nodes'>,
): Finding {
  const reasons = unready.map(({ name, problem }) => ({
    name,
    problem,
    failures: problem ? [] : failuresOf(facts.replicas.find((replica) => replica.pod?.name === name)),
  }));
  // A replica whose certificate is not valid is not ready. The cause is not the network.
  const isAboutTrust = reasons.every(
    ({ failures: [first] }) => first !== undefined && TRUST_CHECKS.includes(first.name),
  );
  const told = atMost(
    MAX_NAMED,
    reasons.map(({ name, problem, failures }) => {
      const texts = failures.map((failure) => `${failure.name} failed: ${failure.detail}`);
      return `${name}: ${problem || texts.join(', ') || 'no reason given'}`;
    }),
  ).join('; ');
  const drained = unready.find((_pod, index) => reasons[index]?.failures[0]?.name === 'drain');
  const [first] = unready;
  const awaited = drained ? undefined : whatNodesLack(first, facts);
  const result = finding(
    state,
    [summary, told, awaited?.evidence, rejected].filter(Boolean).join('; '),
    drained
      ? `kubectl uncordon ${drained.node}`
      : (awaited?.remedy ?? remedyFor(first.cannotStart, `--namespace ${facts.installation.namespace} ${first.name}`)),
  );
  return isAboutTrust ? consequence(result, (cause) => `${summary} (${told}): see ${cause}`) : result;
}

function remedyFor(cause: StartFailure | undefined, pod: string): string {
  const describe = `kubectl describe pod ${pod}`;
  switch (cause) {
    case 'image':
      return `its node cannot get the image: push it to a registry that the node reaches, or load it onto the node; ${describe}`;
    case 'crash':
      return `kubectl logs --previous ${pod}`;
    case 'configuration':
    case 'unscheduled':
      return describe;
    default:
      return `${describe}; kubectl logs ${pod}`;
  }
}

/** The readiness checks about trust, whose cause another check reports. */
const TRUST_CHECKS: readonly ReadinessCheckName[] = ['certificate', 'webhooks'];

function failuresOf(replica: ReplicaFacts | undefined): Readiness['failures'] {
  return replica?.readiness.ok ? replica.readiness.value.failures : [];
}
