import { expect } from 'vitest';
import { IGNORED_CHECKS } from './cluster.ts';
import { installFlannel } from './flannel.ts';
import { provideNextImages } from './images.ts';
import {
  CONTROL_PLANE_TAINT,
  doctorContent,
  installProduct,
  nodesReady,
  podsReady,
  removalDenied,
  taintsOf,
} from './product.ts';
import { KUBERNETES_VERSION, NEXT_VERSION, nextProgramPath, obstacleToUpgrade } from './programs.ts';
import { describeOnMachines } from './steps.ts';

const PATIENT = { timeoutMs: 280_000 };
const NAMES = ['cp-1', 'cp-2'] as const;

describeOnMachines(
  `kubeadm upgrade ${KUBERNETES_VERSION} to ${NEXT_VERSION}`,
  NAMES,
  (step, cluster) => {
    const imageOfApiServer = async (name: string) => {
      const pod = ['--namespace', 'kube-system', 'get', 'pod', `kube-apiserver-${name}`];
      const image = await cluster().kubectl([...pod, '--output', 'jsonpath={.spec.containers[0].image}']);
      expect(image).toContain(NEXT_VERSION);
      return image;
    };

    step('two control planes with Flannel and taintkeeper', ['kubelet', 'kube-apiserver', 'taintkeeper'], async () => {
      await cluster().init();
      await installFlannel(cluster());
      await cluster().join('cp-2', { controlPlane: true });
      await nodesReady(cluster(), ...NAMES);
      await installProduct(cluster());
      await podsReady(cluster());
      return doctorContent(cluster());
    });

    step('the images and the kubeadm of the next patch', ['containerd'], async () => {
      const archives = provideNextImages();
      for (const name of NAMES) {
        await cluster().machine(name).loadImages(archives);
        cluster()
          .machine(name)
          .install({ kubeadm: nextProgramPath('kubeadm') });
      }
      return (await cluster().machine('cp-1').run(['kubeadm', 'version', '--output', 'short'])).trim();
    });

    step('kubeadm upgrade apply is not refused', ['kubelet', 'kube-apiserver', 'etcd'], async () => {
      const command = ['kubeadm', 'upgrade', 'apply', NEXT_VERSION, '--yes', IGNORED_CHECKS];
      await cluster().machine('cp-1').run(command, PATIENT);
      return imageOfApiServer('cp-1');
    });

    step('kubeadm upgrade node is not refused', ['kubelet', 'kube-apiserver', 'etcd'], async () => {
      await cluster().machine('cp-2').run(['kubeadm', 'upgrade', 'node', IGNORED_CHECKS], PATIENT);
      return imageOfApiServer('cp-2');
    });

    step('both control planes keep their taint, and are protected', ['taintkeeper', 'kube-apiserver'], async () => {
      await nodesReady(cluster(), ...NAMES);
      for (const name of NAMES) {
        expect(await taintsOf(cluster(), name)).toEqual([`${CONTROL_PLANE_TAINT}:NoSchedule`]);
        await removalDenied(cluster(), name, CONTROL_PLANE_TAINT);
      }
      await podsReady(cluster());
      return doctorContent(cluster());
    });
  },
  obstacleToUpgrade(),
);
