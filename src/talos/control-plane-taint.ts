import type { MachineConfiguration } from './machine-configuration.ts';
import type { DeclaredTaint } from './taint-notation.ts';
import { kindOf } from './tree.ts';

/** The taint that keeps ordinary pods off control-plane nodes. */
export const CONTROL_PLANE_TAINT: DeclaredTaint = {
  key: 'node-role.kubernetes.io/control-plane',
  value: '',
  effect: 'NoSchedule',
};

/**
 * The taint that Talos adds by itself: to control-plane nodes that do not allow scheduling. Only the older shape implies it;
 * a KubeNodeConfig document says all there is (K8sNodeConfig of Talos' v1alpha1_k8s_bridge.go). A patch implies nothing.
 */
export function impliedTaint(configuration: MachineConfiguration): DeclaredTaint | undefined {
  const { role, isPatch, allowSchedulingOnControlPlanes, documents } = configuration;
  if (isPatch || role !== 'controlplane' || allowSchedulingOnControlPlanes?.value) return undefined;
  return documents.some((document) => kindOf(document) === 'KubeNodeConfig') ? undefined : CONTROL_PLANE_TAINT;
}
