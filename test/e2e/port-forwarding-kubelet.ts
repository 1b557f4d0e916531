import { issueCa, issueServing } from '../../src/certs/issue.ts';
import { findAssets } from '../control-plane/assets.ts';
import { kubelets } from '../control-plane/components.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { createRestClient, succeeded } from '../control-plane/rest.ts';
import { startComponent } from '../control-plane/start-component.ts';
import { admin } from '../control-plane/users.ts';
import { createWorkspace } from '../control-plane/workspace.ts';

const NODE = 'kubelet-1';
/** Its node has no Lease, and none is looked for. */
const LEASE_SECONDS = 40;

/** A pod, and what forwards to where. */
export interface ForwardedPod {
  readonly name: string;
  /** The pod's port `admin`, and the local one that stands for it. */
  readonly port: number;
  readonly target: number;
}

/** A node whose kubelet forwards ports to local ones, and pods on it. The API server reaches it as it would a real one. */
export async function startForwardingKubelet(cp: ControlPlane, namespace: string, pods: readonly ForwardedPod[]) {
  const assets = findAssets();
  const workspace = createWorkspace('kubelet');
  const ca = await issueCa(new Date());
  const { cert, key } = await issueServing(ca, ['127.0.0.1', 'localhost'], new Date());
  const files = { cert: workspace.write('tls.crt', cert), key: workspace.write('tls.key', key) };
  const forwards = pods.map(({ name, port, target }) => ({ namespace, pod: name, port, target }));
  const kubelet = await startComponent(
    'kubelets',
    kubelets(files, await cp.kubeconfigFile(admin), LEASE_SECONDS, forwards),
    { assets, workspace, connect: (url) => createRestClient(url, ca.cert) },
  );
  await registerNode(cp, Number(new URL(kubelet.url).port));
  for (const pod of pods) await createPod(cp, namespace, pod);
  return {
    log: () => kubelet.process.log(),
    async stop() {
      await kubelet.process.kill();
      workspace.remove();
    },
  };
}

async function registerNode(cp: ControlPlane, port: number): Promise<void> {
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  await succeeded(cp.request(admin, 'POST', '/api/v1/nodes', { body: { metadata: { name: NODE }, status } }));
}

/** Fit for a namespace that enforces the restricted Pod Security Standard, and bound already. */
async function createPod(cp: ControlPlane, namespace: string, { name, port }: ForwardedPod): Promise<void> {
  const body = {
    metadata: { name },
    spec: {
      nodeName: NODE,
      serviceAccountName: 'taintkeeper',
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'taintkeeper',
          image: 'taintkeeper',
          ports: [{ name: 'admin', containerPort: port }],
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  };
  await succeeded(cp.request(admin, 'POST', `/api/v1/namespaces/${namespace}/pods`, { body }));
}
