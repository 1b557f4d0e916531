import { API_ADDRESS, API_PORT, POD_RANGE, SERVICE_RANGE } from './addresses.ts';

/** Files of the control plane, by path. */
export interface ControlPlaneFiles {
  readonly ca: string;
  readonly apiServer: { readonly cert: string; readonly key: string };
  readonly kubeletClient: { readonly cert: string; readonly key: string };
  readonly serviceAccountKey: string;
  readonly etcdData: string;
  readonly controllerManager: string;
  readonly scheduler: string;
}

const ETCD = 'http://127.0.0.1:2379';
const ETCD_PEER = 'http://127.0.0.1:2380';

/** What the first node runs besides, in the order in which to start it: programs with their arguments. */
export function controlPlaneCommands(files: ControlPlaneFiles, apiServerArgs: readonly string[]) {
  return {
    etcd: [
      'etcd',
      `--data-dir=${files.etcdData}`,
      `--listen-client-urls=${ETCD}`,
      `--advertise-client-urls=${ETCD}`,
      `--listen-peer-urls=${ETCD_PEER}`,
      `--initial-advertise-peer-urls=${ETCD_PEER}`,
      `--initial-cluster=default=${ETCD_PEER}`,
      '--log-level=warn',
    ],
    'kube-apiserver': [
      'kube-apiserver',
      `--etcd-servers=${ETCD}`,
      `--secure-port=${API_PORT}`,
      '--bind-address=0.0.0.0',
      `--advertise-address=${API_ADDRESS}`,
      `--tls-cert-file=${files.apiServer.cert}`,
      `--tls-private-key-file=${files.apiServer.key}`,
      `--client-ca-file=${files.ca}`,
      '--authorization-mode=Node,RBAC',
      '--enable-admission-plugins=NodeRestriction',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${files.serviceAccountKey}`,
      `--service-account-signing-key-file=${files.serviceAccountKey}`,
      `--service-cluster-ip-range=${SERVICE_RANGE}`,
      '--allow-privileged=true',
      `--kubelet-client-certificate=${files.kubeletClient.cert}`,
      `--kubelet-client-key=${files.kubeletClient.key}`,
      '--kubelet-preferred-address-types=InternalIP',
      ...apiServerArgs,
    ],
    'kube-controller-manager': [
      'kube-controller-manager',
      ...clientOf(files.controllerManager),
      '--secure-port=10257',
      '--use-service-account-credentials',
      `--service-account-private-key-file=${files.serviceAccountKey}`,
      `--root-ca-file=${files.ca}`,
      `--cluster-cidr=${POD_RANGE}`,
      '--allocate-node-cidrs=false',
      '--kube-api-qps=1000',
      '--kube-api-burst=1000',
    ],
    'kube-scheduler': ['kube-scheduler', ...clientOf(files.scheduler), '--secure-port=10259'],
  } as const;
}

function clientOf(kubeconfig: string): string[] {
  return [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--leader-elect=false',
    '--bind-address=127.0.0.1',
  ];
}
