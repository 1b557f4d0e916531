import { ownValue } from '../kubernetes/label-selector.ts';
import { TOLERATIONS_PATH } from '../kubernetes/toleration.ts';
import type { InstalledDaemonSet } from './workload.ts';

/**
 * The field of an Installation (operator.tigera.io/v1) for each of the operator's DaemonSets. Its value replaces the operator's own tolerations. The
 * values of the chart tigera-operator below `installation` are the spec of the Installation.
 */
const INSTALLATION_FIELDS: Readonly<Record<string, string>> = {
  'calico-node': 'calicoNodeDaemonSet',
  'calico-node-windows': 'calicoNodeWindowsDaemonSet',
  'csi-node-driver': 'csiNodeDriverDaemonSet',
};

/** The path of the tolerations within the spec of an Installation. Undefined for other DaemonSets than the operator's. */
export function installationPath({ name, controller }: InstalledDaemonSet): readonly string[] | undefined {
  const field = controller?.kind === 'Installation' ? ownValue(INSTALLATION_FIELDS, name) : undefined;
  return field === undefined ? undefined : [field, ...TOLERATIONS_PATH];
}
