import { X509Certificate } from 'node:crypto';
import { NAMESPACE } from '../../../../scripts/chart.ts';
import { MERGE_PATCH } from '../../../control-plane/content-types.ts';
import { admin } from '../../../control-plane/users.ts';
import { waitUntil } from '../../../control-plane/wait-until.ts';
import { foreignData } from '../../../e2e/certificate-data.ts';
import { helm, installByHelm, release } from '../../helm.ts';
import { productPods } from '../../product.ts';
import type { RealCluster } from '../../real-cluster.ts';
import type { Outage } from '../outage.ts';

const SECRETS = `/api/v1/namespaces/${NAMESPACE}/secrets`;
const SECRET = 'from-elsewhere';
/** A kubelet looks at a pod's volumes every 60 to 90 s, and a new CA has to be trusted for 10 s before it is used. */
const SERVED_TIMEOUT_MS = 180_000;
const WAIT = ['--wait', '--timeout', '2m'];

/** What is done to an installation, while replicas and nodes are well. */
export const installationOutages: readonly Outage[] = [
  {
    name: 'helm',
    what: '`helm upgrade` to other values, and `helm rollback`',
    called: 'leader',
    install: (cluster) => installByHelm(cluster),
    async run({ cluster }) {
      await helm(cluster, ...release('upgrade', 'logLevel=debug'), ...WAIT);
      await helm(cluster, 'rollback', 'taintkeeper', '1', ...WAIT);
    },
  },
  {
    name: 'late-secret',
    what: 'a certificate of another CA in the Secret that the replicas mount (`certificate.existingSecret`), which kubelets show late',
    called: 'leader',
    async install(cluster) {
      await cluster.request(admin, 'POST', '/api/v1/namespaces', { body: { metadata: { name: NAMESPACE } } });
      const body = { metadata: { name: SECRET }, type: 'kubernetes.io/tls', data: await foreignData() };
      await cluster.request(admin, 'POST', SECRETS, { body });
      await installByHelm(cluster, `certificate.existingSecret=${SECRET}`);
    },
    async run({ cluster }) {
      const data = await foreignData();
      const next = new X509Certificate(Buffer.from(data['tls.crt'] ?? '', 'base64')).fingerprint256;
      await cluster.request(admin, 'PATCH', `${SECRETS}/${SECRET}`, {
        body: { data },
        contentType: MERGE_PATCH,
      });
      const began = performance.now();
      const seconds = new Map<string, number>();
      await waitUntil(
        async () => {
          for (const { metadata, status } of await productPods(cluster)) {
            if (seconds.has(metadata.name) || (await served(cluster, status.podIP)) !== next) continue;
            seconds.set(metadata.name, (performance.now() - began) / 1000);
          }
          return seconds.size === 2 ? true : undefined;
        },
        { timeoutMs: SERVED_TIMEOUT_MS, otherwise: () => `it is served by ${[...seconds.keys()]} alone` },
      );
      const texts = [...seconds].map(([pod, after]) => `${pod} after ${after.toFixed(0)} s`);
      process.stderr.write(`  late-secret: served by ${texts.join(', ')}\n`);
    },
  },
];

const ASK = `
const { connect } = require('node:tls');
const socket = connect({ host: process.argv[1], port: 8443, rejectUnauthorized: false }, () => {
  process.stdout.write(socket.getPeerCertificate().fingerprint256);
  socket.destroy();
});`;

/** The fingerprint of the certificate that a replica serves. */
async function served(cluster: RealCluster, podIP = ''): Promise<string | undefined> {
  return cluster.nodes[0]?.run([process.execPath, '-e', ASK, podIP]);
}
