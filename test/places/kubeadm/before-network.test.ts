import { expect } from 'vitest';
import { parse } from 'yaml';
import { NAMESPACE } from '../../../scripts/chart.ts';
import { createAuthority } from '../../control-plane/credentials.ts';
import { guideFile, guideLines } from '../../e2e/guide-commands.ts';
import { IGNORED_CHECKS, type KubeadmCluster } from './cluster.ts';
import { FLANNEL_NAMESPACE, installFlannel, nodeState } from './flannel.ts';
import { provideNextImages } from './images.ts';
import {
  CONTROL_PLANE_TAINT,
  doctorContent,
  MASTER_TAINT,
  nodesReady,
  podsReady,
  productReady,
  removalDenied,
  runGuided,
  taintsOf,
} from './product.ts';
import { NEXT_VERSION, nextProgramPath, obstacleToUpgrade } from './programs.ts';
import { describeOnMachines } from './steps.ts';

const GUIDE = ['client-certificates.md', 'Configure the API server and taintkeeper'] as const;
const UPGRADE_TIMEOUT_MS = 280_000;

describeOnMachines('taintkeeper before the first CNI, and an upgrade', ['cp-1', 'node-2', 'cp-3'], (step, cluster) => {
  const kubectl = (...args: readonly string[]) => cluster().kubectl(args, { timeoutMs: 180_000 });
  const authority = createAuthority();

  step('kubeadm init, with the client certificate of the guide', ['kubelet', 'kube-apiserver'], async () => {
    await giveClientCertificate(cluster(), 'cp-1', await authority);
    const { apiServer } = parse(guideFile(...GUIDE, 2)) as { apiServer: object };
    await cluster().init({ apiServer });
    await cluster().join('node-2');
    await kubectl('wait', '--for=create', 'node/node-2', '--timeout=90s');
    return undefined;
  });

  step('the host-network preset runs on nodes without a network', ['taintkeeper', 'kubelet'], async () => {
    const [createNamespace = '', labelNamespace = '', installChart = ''] = guideLines('install.md', 'Host network');
    await runGuided(cluster(), createNamespace);
    await runGuided(cluster(), labelNamespace);
    const [createConfigMap = ''] = guideLines(...GUIDE);
    await cluster()
      .machine('cp-1')
      .write('/etc/kubernetes/test/webhook-client-ca.crt', (await authority).cert);
    await cluster()
      .machine('cp-1')
      .run(['bash', '-c', `cd /etc/kubernetes/test && ${createConfigMap}`]);
    await runGuided(cluster(), installChart);
    await productReady(cluster());
    const states = await Promise.all(['cp-1', 'node-2'].map((name) => nodeState(cluster(), name)));
    expect(states).toEqual(['NotReady', 'NotReady']);
    return removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
  });

  step(
    'Flannel gets the toleration when it is created, and the nodes get Ready',
    ['kube-flannel', 'taintkeeper', 'kube-apiserver'],
    async () => {
      await installFlannel(cluster());
      const path = 'jsonpath={.metadata.generation} {.spec.template.spec.tolerations[*].key}';
      const created = await kubectl(
        '--namespace',
        FLANNEL_NAMESPACE,
        'get',
        'daemonset/kube-flannel-ds',
        '--output',
        path,
      );
      expect(created).toMatch(new RegExp(`^1 .*${MASTER_TAINT}`));
      await nodesReady(cluster(), 'cp-1', 'node-2');
      return doctorContent(cluster());
    },
  );

  step('the toleration of nodes that are not ready is removed', ['taintkeeper', 'kubelet'], async () => {
    const [removeToleration = ''] = guideLines('install.md', 'Host network', 1);
    await runGuided(cluster(), removeToleration);
    await productReady(cluster());
    const path = 'jsonpath={range .spec.template.spec.tolerations[*]}{.key}:{.effect} {end}';
    const deployment = ['--namespace', NAMESPACE, 'get', 'deployment/taintkeeper'];
    expect(await kubectl(...deployment, '--output', path)).not.toContain('node.kubernetes.io/not-ready:NoSchedule');
    return removalDenied(cluster(), 'cp-1', CONTROL_PLANE_TAINT);
  });

  step('a second control plane joins, with the client certificate', ['kube-apiserver', 'etcd', 'kubelet'], async () => {
    await giveClientCertificate(cluster(), 'cp-3', await authority);
    await cluster().join('cp-3', { controlPlane: true });
    await nodesReady(cluster(), 'cp-3');
    expect(await taintsOf(cluster(), 'cp-3')).toEqual([`${CONTROL_PLANE_TAINT}:NoSchedule`]);
    // Each API server calls the webhook with a certificate of its own.
    const apiServer = `https://${cluster().machine('cp-3').address}:6443`;
    return removalDenied(cluster(), 'cp-3', CONTROL_PLANE_TAINT, '--server', apiServer);
  });

  const controlPlanes = ['cp-1', 'cp-3'] as const;
  const obstacle = obstacleToUpgrade();

  step(
    'the images and the kubeadm of the next patch',
    ['containerd'],
    async () => {
      const archives = provideNextImages();
      // kube-proxy gets the new image on all nodes.
      for (const name of ['cp-1', 'node-2', 'cp-3']) await cluster().machine(name).loadImages(archives);
      for (const name of controlPlanes) {
        cluster()
          .machine(name)
          .install({ kubeadm: nextProgramPath('kubeadm') });
      }
      return (await cluster().machine('cp-1').run(['kubeadm', 'version', '--output', 'short'])).trim();
    },
    obstacle,
  );

  async function upgrade(name: string, ...command: readonly string[]): Promise<string> {
    await cluster()
      .machine(name)
      .run(['kubeadm', 'upgrade', ...command, IGNORED_CHECKS], { timeoutMs: UPGRADE_TIMEOUT_MS });
    const pod = ['--namespace', 'kube-system', 'get', 'pod', `kube-apiserver-${name}`];
    const image = await kubectl(...pod, '--output', 'jsonpath={.spec.containers[0].image}');
    expect(image).toContain(NEXT_VERSION);
    return image;
  }

  step(
    'kubeadm upgrade apply is not refused',
    ['kubelet', 'kube-apiserver', 'etcd'],
    () => upgrade('cp-1', 'apply', NEXT_VERSION, '--yes'),
    obstacle,
  );

  step(
    'kubeadm upgrade node is not refused',
    ['kubelet', 'kube-apiserver', 'etcd'],
    () => upgrade('cp-3', 'node'),
    obstacle,
  );

  step(
    'both control planes keep their taint, and are protected',
    ['taintkeeper', 'kube-apiserver'],
    async () => {
      await nodesReady(cluster(), ...controlPlanes);
      for (const name of controlPlanes) {
        expect(await taintsOf(cluster(), name)).toEqual([`${CONTROL_PLANE_TAINT}:NoSchedule`]);
        await removalDenied(cluster(), name, CONTROL_PLANE_TAINT);
      }
      await podsReady(cluster());
      return doctorContent(cluster());
    },
    obstacle,
  );
});

/** What docs/client-certificates.md says that an API server needs, on one control plane. */
async function giveClientCertificate(
  cluster: KubeadmCluster,
  name: string,
  authority: Awaited<ReturnType<typeof createAuthority>>,
): Promise<void> {
  const machine = cluster.machine(name);
  const { cert, key } = await authority.client({ name: 'kube-apiserver', groups: [] });
  await machine.write('/etc/kubernetes/admission/configuration.yaml', guideFile(...GUIDE, 0));
  await machine.write('/etc/kubernetes/admission/webhooks.kubeconfig', guideFile(...GUIDE, 1));
  await machine.write('/etc/kubernetes/pki/webhook-client.crt', cert);
  await machine.write('/etc/kubernetes/pki/webhook-client.key', key);
}
