import { vi } from 'vitest';
import type { Toleration } from '../../../../src/kubernetes/toleration.ts';
import type { TolerationPolicySpec } from '../../../../src/policy/toleration-policy.ts';
import { policySet } from '../../policy/policies.ts';
import { startRunningCluster, type Writable } from '../running-cluster.ts';

export const MASTER = { key: 'master', operator: 'Exists', effect: 'NoSchedule' } as const;
export const GPU = { key: 'gpu', operator: 'Exists', effect: 'NoSchedule' } as const;
export const OWN = { key: 'own', operator: 'Exists', later: 'field of a later Kubernetes' };
export const ADDED = 'taintkeeper.dev/tolerations-added';
const IGNORE = 'taintkeeper.dev/ignore';
export const MINUTE = 60_000;

const cni: TolerationPolicySpec = {
  mode: 'Mutate',
  daemonSets: { namespaces: ['*'] },
  tolerations: [MASTER],
  existing: 'Patch',
};

/** Longer than any pause but those of things that are stuck or refused. */
export const soon = () => vi.advanceTimersByTimeAsync(60_000);

/** A cluster with one policy, which asks for `master`. */
export function startPatching({ audit = false, namespaces = ['*'] } = {}) {
  let policies = policySet({ toleration: { cni: { ...cni, daemonSets: { namespaces } } } }, { audit });
  const cluster = startRunningCluster(() => policies);
  return {
    ...cluster,
    require(...tolerations: TolerationPolicySpec['tolerations'] & object) {
      policies = policySet({ toleration: { cni: { ...cni, tolerations } } });
      cluster.policiesChanged();
    },
  };
}

export const ailing = ({ status }: Writable) => {
  status.numberUnavailable = 1;
};
export const well = ({ status }: Writable) => {
  status.numberUnavailable = 0;
};
export const withTolerations =
  (...tolerations: readonly Toleration[]) =>
  ({ spec }: Writable) => {
    spec.template.spec.tolerations = [...tolerations];
  };
export const optedOut = ({ metadata }: Writable) => {
  metadata.annotations[IGNORE] = 'true';
};
export const unmarked = ({ metadata }: Writable) => {
  metadata.annotations = {};
};
export const unseen = ({ status }: Writable) => {
  status.observedGeneration = 0;
};
export const updated =
  (count: number) =>
  ({ status }: Writable) => {
    status.updatedNumberScheduled = count;
  };
/** As an installation that is gone has left it, and somebody who then took its toleration out. */
export const fromEarlierInstallation = ({ metadata }: Writable) => {
  metadata.annotations[ADDED] = 'master:NoSchedule, old:NoSchedule; by uid-of-an-earlier-installation';
};
/** As every user who may create a DaemonSet can write it. */
export const claiming =
  (...tolerations: readonly string[]) =>
  ({ metadata }: Writable) => {
    metadata.annotations[ADDED] = tolerations.join(', ');
  };
/** As another leader has left it. */
export const patchedBefore = (object: Writable) => {
  object.metadata.annotations[ADDED] = 'master:NoSchedule';
  withTolerations(MASTER)(object);
};
