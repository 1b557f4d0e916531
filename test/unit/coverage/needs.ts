import type { MissingTolerations } from '../../../src/coverage/missing-tolerations.ts';
import type { InstalledDaemonSet } from '../../../src/coverage/workload.ts';
import type { PolicyToleration } from '../../../src/policy/toleration-policy.ts';
import { CONTROL_PLANE, daemonSet, MASTER } from '../scheduling/scheduling.ts';

const tolerationOf = (key: string): PolicyToleration => ({ key, operator: 'Exists', effect: 'NoSchedule' });
const OWN = { key: CONTROL_PLANE.key, operator: 'Exists', effect: 'NoSchedule', value: null };
export const ADDED = tolerationOf(MASTER.key);
/** Its own tolerations and the added one. */
export const WHOLE = [tolerationOf(CONTROL_PLANE.key), ADDED];

/** A DaemonSet of `kube-system` that tolerates one name of the control plane's taint, and lacks the other. */
export const need = (
  name: string,
  given: Partial<InstalledDaemonSet> = {},
): MissingTolerations<InstalledDaemonSet> => ({
  daemonSet: {
    ...daemonSet(name, { tolerations: [OWN] }),
    annotations: {},
    labels: {},
    controller: undefined,
    priorityClass: '',
    pluginDirectories: [],
    ...given,
  },
  tolerations: [ADDED],
});

/** Of Calico. */
export const OPERATOR = { kind: 'Installation', name: 'default' };
/** Annotations of an object of a Helm release. */
export const released = (release: string) => ({ 'meta.helm.sh/release-name': release });
/** Why there is no remedy, by the DaemonSet's name. */
export const whyOf = ({ left }: { left: readonly { daemonSet: { name: string }; why: string }[] }) =>
  Object.fromEntries(left.map(({ daemonSet: { name }, why }) => [name, why]));
