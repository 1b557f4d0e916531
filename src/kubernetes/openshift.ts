import type { StringMap } from './label-selector.ts';

/** Set by the kubelet of each node (openshift/machine-config-operator, templates/): `node.openshift.io/os_id`. */
const LABELS = 'node.openshift.io/';
/** Set by the machine config daemon (openshift/machine-config-operator, pkg/daemon/constants): `…/currentConfig`. */
const ANNOTATIONS = 'machineconfiguration.openshift.io/';

/** The label or annotation that shows that a node belongs to OpenShift; undefined for other nodes. */
export function openShiftMark({
  labels,
  annotations,
}: {
  readonly labels: StringMap;
  readonly annotations: StringMap;
}): string | undefined {
  const label = Object.keys(labels).find((key) => key.startsWith(LABELS));
  const annotation = Object.keys(annotations).find((key) => key.startsWith(ANNOTATIONS));
  if (annotation !== undefined) return `annotation ${annotation}`;
  return label === undefined ? undefined : `label ${label}`;
}
