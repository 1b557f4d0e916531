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
