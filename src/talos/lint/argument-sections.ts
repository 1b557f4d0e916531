import type { Path } from '../../policy/problem.ts';

export type Component = 'kubelet' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler' | 'etcd';

/** Where the arguments of programs are. */
export const ARGUMENT_SECTIONS: readonly { kind: string | undefined; path: Path; component: Component }[] = [
  { kind: undefined, path: ['machine', 'kubelet', 'extraArgs'], component: 'kubelet' },
  { kind: undefined, path: ['cluster', 'apiServer', 'extraArgs'], component: 'kube-apiserver' },
  { kind: undefined, path: ['cluster', 'controllerManager', 'extraArgs'], component: 'kube-controller-manager' },
  { kind: undefined, path: ['cluster', 'scheduler', 'extraArgs'], component: 'kube-scheduler' },
  { kind: undefined, path: ['cluster', 'etcd', 'extraArgs'], component: 'etcd' },
  { kind: 'KubeletConfig', path: ['extraArgs'], component: 'kubelet' },
  { kind: 'KubeAPIServerConfig', path: ['extraArgs'], component: 'kube-apiserver' },
  { kind: 'KubeControllerManagerConfig', path: ['extraArgs'], component: 'kube-controller-manager' },
  { kind: 'KubeSchedulerConfig', path: ['extraArgs'], component: 'kube-scheduler' },
];
