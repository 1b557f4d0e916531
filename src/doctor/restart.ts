import { OWN_DEPLOYMENT } from '../cluster/installation/own-names.ts';
import type { Facts } from './facts/facts.ts';
import type { Installation } from './facts/installation.ts';

/**
 * The command that starts a replica again. While the new pods of a rollout cannot start, another rollout would not start any either: the Deployment
 * keeps the Ready ones until a new one is Ready. Its ReplicaSet replaces a deleted pod by an equal one.
 */
export function restart({ installation, pods }: Pick<Facts, 'installation' | 'pods'>): string {
  const { namespace } = installation;
  const known = pods.ok ? pods.value : [];
  const ready = known.find(({ isReady }) => isReady);
  return ready && known.some(({ isReady, cannotStart }) => !isReady && cannotStart !== undefined)
    ? `kubectl delete pod --namespace ${namespace} ${ready.name}`
    : `kubectl rollout restart --namespace ${namespace} ${deploymentOf(installation)}`;
}

/** The Deployment, as an argument of kubectl. */
export function deploymentOf({ deployment }: Installation): string {
  return `deployment/${deployment?.name ?? OWN_DEPLOYMENT}`;
}
