// Only flags that one component has and the others do not, and that people look for in the wrong one.

export type Component = 'kubelet' | 'kube-apiserver' | 'kube-controller-manager' | 'kube-scheduler';

export const KUBELET_FLAGS: readonly string[] =
  'register-with-taints node-labels node-ip max-pods cluster-dns cluster-domain rotate-server-certificates rotate-certificates register-node eviction-hard kube-reserved system-reserved cpu-manager-policy hostname-override'.split(
    ' ',
  );

const API_SERVER_FLAGS: readonly string[] =
  'service-cluster-ip-range enable-admission-plugins disable-admission-plugins etcd-servers oidc-issuer-url oidc-client-id audit-policy-file audit-log-path service-node-port-range default-not-ready-toleration-seconds default-unreachable-toleration-seconds'.split(
    ' ',
  );

const CONTROLLER_MANAGER_FLAGS: readonly string[] =
  'cluster-cidr allocate-node-cidrs node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-monitor-grace-period'.split(
    ' ',
  );

/** The component that has a flag. */
export const FLAG_OWNERS: ReadonlyMap<string, Component> = new Map<string, Component>([
  ...KUBELET_FLAGS.map((flag): [string, Component] => [flag, 'kubelet']),
  ...API_SERVER_FLAGS.map((flag): [string, Component] => [flag, 'kube-apiserver']),
  ...CONTROLLER_MANAGER_FLAGS.map((flag): [string, Component] => [flag, 'kube-controller-manager']),
]);
