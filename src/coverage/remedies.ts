import { own } from '../kubernetes/label-selector.ts';
import type { Toleration } from '../kubernetes/toleration.ts';
import type { MissingTolerations } from './missing-tolerations.ts';
import type { InstalledDaemonSet } from './workload.ts';

/** An installed DaemonSet, and the tolerations that it lacks. */
export type Need = MissingTolerations<InstalledDaemonSet>;

/** A remedy of one kind, and the DaemonSets without a remedy of that kind. */
export interface Remedies<Remedy> {
  readonly remedies: readonly Remedy[];
  readonly left: readonly { readonly daemonSet: InstalledDaemonSet; readonly why: string }[];
}

/** That a DaemonSet of a controller has no remedy; empty for one without. @param so why it has none */
export function leftToController(daemonSet: InstalledDaemonSet, so: string) {
  const { controller } = daemonSet;
  return controller ? [{ daemonSet, why: `it belongs to ${controller.kind} ${controller.name}: ${so}` }] : [];
}

/** The DaemonSet's own tolerations and the needed ones, because the list replaces another one. */
export function allTolerations({ daemonSet, tolerations }: Need): Toleration[] {
  const written = daemonSet.tolerations.map(
    (toleration): Toleration => Object.fromEntries(Object.entries(toleration).filter(([, value]) => value !== null)),
  );
  return [...written, ...tolerations];
}

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
  const field = controller?.kind === 'Installation' ? own(INSTALLATION_FIELDS, name) : undefined;
  return field === undefined ? undefined : [field, 'spec', 'template', 'spec', 'tolerations'];
}

/** Sets the value at the path, and makes the objects above it. */
export function setAt(values: Record<string, unknown>, [key = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) values[key] = value;
  else {
    values[key] ??= {};
    setAt(values[key] as Record<string, unknown>, rest, value);
  }
}
