import type { Path } from '../../policy/problem.ts';
import { entriesAt, kindOf } from '../tree.ts';
import { type Component, FLAG_OWNERS } from './component-flags.ts';
import type { Rule } from './finding.ts';

/** The API server and the controller manager share this one. */
const SHARED: readonly string[] = ['service-cluster-ip-range'];

const SECTIONS: readonly { kind: string | undefined; path: Path; component: Component }[] = [
  { kind: undefined, path: ['machine', 'kubelet', 'extraArgs'], component: 'kubelet' },
  { kind: undefined, path: ['cluster', 'apiServer', 'extraArgs'], component: 'kube-apiserver' },
  { kind: undefined, path: ['cluster', 'controllerManager', 'extraArgs'], component: 'kube-controller-manager' },
  { kind: undefined, path: ['cluster', 'scheduler', 'extraArgs'], component: 'kube-scheduler' },
  { kind: 'KubeletConfig', path: ['extraArgs'], component: 'kubelet' },
  { kind: 'KubeAPIServerConfig', path: ['extraArgs'], component: 'kube-apiserver' },
  { kind: 'KubeControllerManagerConfig', path: ['extraArgs'], component: 'kube-controller-manager' },
  { kind: 'KubeSchedulerConfig', path: ['extraArgs'], component: 'kube-scheduler' },
];

const HOME: Record<Component, string> = {
  kubelet: 'machine.kubelet.extraArgs (KubeletConfig since Talos 1.14)',
  'kube-apiserver': 'cluster.apiServer.extraArgs (KubeAPIServerConfig since Talos 1.14)',
  'kube-controller-manager': 'cluster.controllerManager.extraArgs (KubeControllerManagerConfig since Talos 1.14)',
  'kube-scheduler': 'cluster.scheduler.extraArgs (KubeSchedulerConfig since Talos 1.14)',
};

/** What is no field of KubeletConfiguration, and where it belongs. */
const NOT_KUBELET_CONFIGURATION: ReadonlyMap<string, string> = new Map([
  ['nodeTaints', 'machine.nodeTaints, or registerWithTaints here'],
  ['nodeLabels', 'machine.nodeLabels'],
  ['register-with-taints', 'registerWithTaints: a list of { key, value, effect }'],
  ['node-labels', 'machine.nodeLabels'],
  ['allowSchedulingOnControlPlanes', 'cluster.allowSchedulingOnControlPlanes'],
  ['dnsDomain', 'cluster.network.dnsDomain'],
  ['podSubnets', 'cluster.network.podSubnets'],
  ['serviceSubnets', 'cluster.network.serviceSubnets'],
]);

export const MISPLACED_FLAG: Rule = {
  id: 'misplaced-flag',
  about:
    'A flag or setting of one component given to another, such as `register-with-taints` for the API server or `service-cluster-ip-range` for the kubelet: the component does not start.',
  check: ({ configuration: { documents } }) =>
    documents.flatMap((document) => [
      ...SECTIONS.filter(({ kind }) => kind === kindOf(document)).flatMap(({ path, component }) =>
        entriesAt(document, path).flatMap(([flag]) => {
          const owner = FLAG_OWNERS.get(flag);
          if (!owner || owner === component) return [];
          if (SHARED.includes(flag) && component === 'kube-controller-manager') return [];
          const reason = `${flag} is a flag of the ${owner}: the ${component} does not start with it`;
          return [{ document, path: [...path, flag], reason, fix: `move it to ${HOME[owner]}` }];
        }),
      ),
      ...KUBELET_CONFIGURATIONS.filter(({ kind }) => kind === kindOf(document)).flatMap(({ path }) =>
        entriesAt(document, path).flatMap(([setting]) => {
          const home = NOT_KUBELET_CONFIGURATION.get(setting);
          if (!home) return [];
          const reason = `the kubelet's configuration has no ${setting}: the kubelet does not start with it`;
          return [{ document, path: [...path, setting], reason, fix: `write ${home}` }];
        }),
      ),
    ]),
};

const KUBELET_CONFIGURATIONS: readonly { kind: string | undefined; path: Path }[] = [
  { kind: undefined, path: ['machine', 'kubelet', 'extraConfig'] },
  { kind: 'KubeletConfig', path: ['config'] },
];
