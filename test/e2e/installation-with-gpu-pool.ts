import type { ControlPlane } from '../control-plane/control-plane.ts';
import { succeeded } from '../control-plane/rest.ts';
import { admin, node } from '../control-plane/users.ts';
import { type Installation, install, registerControlPlaneNode } from './installation.ts';

const GPU_POOL = {
  apiVersion: 'taintkeeper.dev/v1alpha1',
  kind: 'TaintPolicy',
  metadata: { name: 'gpu-pool' },
  spec: {
    mode: 'Audit',
    nodeSelector: { matchLabels: { pool: 'gpu' } },
    taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule', ensure: 'Always' }],
  },
};

/** Two replicas, a control-plane node `cp-1`, and a node `gpu-1` that lacks the taint that the policy `gpu-pool` audits. */
export async function installWithGpuPool(cp: ControlPlane): Promise<Installation> {
  const installation = await install(cp);
  await installation.start(['a', 'b']);
  await registerControlPlaneNode(cp, 'cp-1');
  await succeeded(cp.request(admin, 'POST', '/apis/taintkeeper.dev/v1alpha1/taintpolicies', { body: GPU_POOL }));
  const body = { metadata: { name: 'gpu-1', labels: { pool: 'gpu' } } };
  await succeeded(cp.request(node('gpu-1'), 'POST', '/api/v1/nodes', { body }));
  return installation;
}
