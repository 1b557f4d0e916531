import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { issueCa, issueServing } from '../../src/certs/issue.ts';
import { findAssets, obstacleTo } from '../control-plane/assets.ts';
import type { ControlPlane } from '../control-plane/control-plane.ts';
import { createRestClient } from '../control-plane/rest.ts';
import { startComponent } from '../control-plane/start-component.ts';
import { admin } from '../control-plane/users.ts';
import { createWorkspace } from '../control-plane/workspace.ts';

const NODE = 'kubelet-1';
const STAGES = join(import.meta.dirname, '..', 'control-plane', 'kwok-stages.yaml');

/** What forwards to where. */
export interface ForwardedPod {
  readonly name: string;
  /** The pod's port, and the local one that stands for it. */
  readonly port: number;
  readonly target: number;
}

/** Why there can be none, if so. */
export function obstacleToKubelet(): string | undefined {
  const assets = findAssets();
  return assets && obstacleTo(['kwok'], { ...assets, choice: 'newest' });
}

/**
 * A node whose kubelet forwards ports, and pods on it. The kubelet is kwok's, which answers port-forwards by the very code that
 * container runtimes do, k8s.io/cri-streaming, and leads them to local ports.
 */
export async function startForwardingKubelet(cp: ControlPlane, namespace: string, pods: readonly ForwardedPod[]) {
  const assets = findAssets();
  if (!assets) throw new Error('no kwok');
  const workspace = createWorkspace('kubelet');
  const ca = await issueCa(new Date());
  const { cert, key } = await issueServing(ca, ['127.0.0.1', 'localhost'], new Date());
  const files = { cert: workspace.write('tls.crt', cert), key: workspace.write('tls.key', key) };
  const forwards = pods.map((pod) => forwardOf(pod, namespace)).join('---\n');
  const config = workspace.write('kwok.yaml', `${readFileSync(STAGES, 'utf8')}\n---\n${forwards}`);
  const kubeconfig = await cp.kubeconfigFile(admin);
  const kubelet = await startComponent(
    'kwok',
    {
      ports: 1,
      healthPath: '/healthz',
      args: ([port]) => [
        `--kubeconfig=${kubeconfig}`,
        `--config=${config}`,
        '--manage-all-nodes=false',
        '--manage-nodes-with-annotation-selector=nobody/is=managed',
        `--server-address=127.0.0.1:${port}`,
        `--tls-cert-file=${files.cert}`,
        `--tls-private-key-file=${files.key}`,
      ],
    },
    { assets, workspace, connect: (url) => createRestClient(url, ca.cert) },
  );
  await registerNode(cp, Number(new URL(kubelet.url).port));
  for (const { name } of pods) await createPod(cp, namespace, name);
  return {
    log: () => kubelet.process.log(),
    async stop() {
      await kubelet.process.kill();
      workspace.remove();
    },
  };
}

function forwardOf({ name, port, target }: ForwardedPod, namespace: string): string {
  return `${JSON.stringify({
    apiVersion: 'kwok.x-k8s.io/v1alpha1',
    kind: 'PortForward',
    metadata: { name, namespace },
    spec: { forwards: [{ ports: [port], target: { address: '127.0.0.1', port: target } }] },
  })}\n`;
}

async function registerNode(cp: ControlPlane, port: number): Promise<void> {
  const status = {
    addresses: [{ type: 'InternalIP', address: '127.0.0.1' }],
    daemonEndpoints: { kubeletEndpoint: { Port: port } },
  };
  const made = await cp.request(admin, 'POST', '/api/v1/nodes', { body: { metadata: { name: NODE }, status } });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
}

/** Fit for a namespace that enforces the restricted Pod Security Standard, and bound already. */
async function createPod(cp: ControlPlane, namespace: string, name: string): Promise<void> {
  const made = await cp.request(admin, 'POST', `/api/v1/namespaces/${namespace}/pods`, {
    body: {
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
            securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
          },
        ],
      },
    },
  });
  if (made.status !== 201) throw new Error(JSON.stringify(made.body));
}
