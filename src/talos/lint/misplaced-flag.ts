import { entriesAt, kindOf } from '../document-values.ts';
import { ARGUMENT_SECTIONS, type Component } from './argument-sections.ts';
import type { Rule } from './finding.ts';
import { KUBELET_CONFIGURATIONS, KUBELET_FLAGS, NOT_KUBELET_CONFIGURATION } from './kubelet-settings.ts';

// Only flags that exactly one component has, and that users often set for the wrong one.

const API_SERVER_FLAGS: readonly string[] =
  'service-cluster-ip-range enable-admission-plugins disable-admission-plugins etcd-servers oidc-issuer-url oidc-client-id audit-policy-file audit-log-path service-node-port-range default-not-ready-toleration-seconds default-unreachable-toleration-seconds'.split(
    ' ',
  );

const CONTROLLER_MANAGER_FLAGS: readonly string[] =
  'cluster-cidr allocate-node-cidrs node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-monitor-grace-period'.split(
    ' ',
  );

/** The component that has a flag. */
const FLAG_OWNERS: ReadonlyMap<string, Component> = new Map<string, Component>([
  ...KUBELET_FLAGS.map((flag): [string, Component] => [flag, 'kubelet']),
  ...API_SERVER_FLAGS.map((flag): [string, Component] => [flag, 'kube-apiserver']),
  ...CONTROLLER_MANAGER_FLAGS.map((flag): [string, Component] => [flag, 'kube-controller-manager']),
]);

/** The API server and the controller manager share this one. */
const SHARED: readonly string[] = ['service-cluster-ip-range'];

const HOME: Record<Component, string> = {
  kubelet: 'machine.kubelet.extraArgs (KubeletConfig since Talos 1.14)',
  'kube-apiserver': 'cluster.apiServer.extraArgs (KubeAPIServerConfig since Talos 1.14)',
  'kube-controller-manager': 'cluster.controllerManager.extraArgs (KubeControllerManagerConfig since Talos 1.14)',
  'kube-scheduler': 'cluster.scheduler.extraArgs (KubeSchedulerConfig since Talos 1.14)',
  etcd: 'cluster.etcd.extraArgs',
};

export const MISPLACED_FLAG: Rule = {
  id: 'misplaced-flag',
  severity: 'refused',
  about:
    'A flag or setting of one component given to another, such as `register-with-taints` for the API server or `service-cluster-ip-range` for the kubelet: the component does not start.',
  check: ({ configuration: { documents } }) =>
    documents.flatMap((document) => [
      ...ARGUMENT_SECTIONS.filter(({ kind }) => kind === kindOf(document)).flatMap(({ path, component }) =>
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
