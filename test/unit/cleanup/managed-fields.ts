import type { ManagedFields } from '../../../src/objects/managed-fields.ts';

/** An entry of a manager that owns fields of the pod template. */
export const templateOf = (
  manager: string,
  field: 'tolerations' | 'containers',
  operation = 'Update',
): ManagedFields => ({
  manager,
  operation,
  time: '2026-01-02T03:04:05Z',
  fieldsV1: { 'f:spec': { 'f:template': { 'f:spec': { [`f:${field}`]: {} } } } },
});

/** Those of a DaemonSet that a user applied with kubectl, and to whose tolerations the leader appended one. */
export const PATCHED: readonly ManagedFields[] = [
  templateOf('kubectl-client-side-apply', 'containers'),
  templateOf('taintkeeper', 'tolerations'),
];

/** The annotation of `kubectl apply`, with the tolerations of the manifest. */
export const appliedWith = (tolerations?: readonly object[]) => ({
  'kubectl.kubernetes.io/last-applied-configuration': JSON.stringify({ spec: { template: { spec: { tolerations } } } }),
});
