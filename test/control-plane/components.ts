import { type Forward, forwardText } from './kubelets/forwards.ts';
import type { Binary } from './kubernetes.ts';

/** A long-running part of the control plane: a program of Kubernetes, or the stand-in for the kubelets of all nodes. */
export type Component = Exclude<Binary, 'kubectl'> | 'kubelets';

/** The parts that a test may ask for besides etcd and the API server. */
export type OptionalComponent = Exclude<Component, 'etcd' | 'kube-apiserver'>;

/** Files that the components share, by path, and folders that they may fill. */
export interface Files {
  ca: string;
  /** The serving pair of all components. */
  cert: string;
  key: string;
  serviceAccountKey: string;
  etcdData: string;
  auditPolicy: string;
  auditLog: string;
  /** Where a component would put certificates of its own. */
  scratch: string;
}

/** How to start a component and where to ask whether it is well. `ports` are free ones on 127.0.0.1; the first serves. */
export interface Plan {
  ports: number;
  healthPath: string;
  args(ports: readonly number[]): string[];
}

export const etcd = (files: Files): Plan => ({
  ports: 2,
  healthPath: '/health',
  args: ([client, peer]) => [
    '--name=default',
    `--data-dir=${files.etcdData}`,
    `--listen-client-urls=https://127.0.0.1:${client}`,
    `--advertise-client-urls=https://127.0.0.1:${client}`,
    `--listen-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-advertise-peer-urls=http://127.0.0.1:${peer}`,
    `--initial-cluster=default=http://127.0.0.1:${peer}`,
    // Client certificates also see to it that two harnesses can never take each other's etcd for their own.
    '--client-cert-auth',
    `--trusted-ca-file=${files.ca}`,
    `--cert-file=${files.cert}`,
    `--key-file=${files.key}`,
    '--unsafe-no-fsync',
    '--log-level=warn',
  ],
});

export const kubeApiserver = (files: Files, etcdUrl: string, extra: readonly string[] = []): Plan => ({
  ports: 1,
  healthPath: '/readyz',
  args: ([port]) => [
    `--etcd-servers=${etcdUrl}`,
    `--etcd-cafile=${files.ca}`,
    `--etcd-certfile=${files.cert}`,
    `--etcd-keyfile=${files.key}`,
    ...serving(files, port),
    '--advertise-address=127.0.0.1',
    // The `kubernetes` Service may not point to a loopback address; nothing here looks for it.
    '--endpoint-reconciler-type=none',
    '--service-cluster-ip-range=10.0.0.0/24',
    `--client-ca-file=${files.ca}`,
    '--anonymous-auth=false',
    '--authorization-mode=Node,RBAC',
    '--enable-admission-plugins=NodeRestriction',
    '--service-account-issuer=https://kubernetes.default.svc',
    `--service-account-signing-key-file=${files.serviceAccountKey}`,
    `--service-account-key-file=${files.serviceAccountKey}`,
    `--audit-policy-file=${files.auditPolicy}`,
    `--audit-log-path=${files.auditLog}`,
    '--allow-privileged=true',
    ...extra,
  ],
});

export const kubeControllerManager = (files: Files, kubeconfig: string, nodeMonitorGraceSeconds: number): Plan => ({
  ports: 1,
  healthPath: '/healthz',
  args: ([port]) => [
    `--kubeconfig=${kubeconfig}`,
    ...serving(files, port),
    '--leader-elect=false',
    '--use-service-account-credentials',
    // Each controller's service account is made through this client: at the default of 20 a second that takes 4 s.
    '--kube-api-qps=1000',
    '--kube-api-burst=1000',
    `--service-account-private-key-file=${files.serviceAccountKey}`,
    `--root-ca-file=${files.ca}`,
    '--node-monitor-period=1s',
    `--node-monitor-grace-period=${nodeMonitorGraceSeconds}s`,
  ],
});

export const kubeScheduler = (files: Files, kubeconfig: string): Plan => ({
  ports: 1,
  healthPath: '/healthz',
  args: ([port]) => [`--kubeconfig=${kubeconfig}`, ...serving(files, port), '--leader-elect=false'],
});

/**
 * A Lease is renewed each quarter of its duration: with the grace period as duration, no live node looks dead.
 *
 * @param forwards where ports of pods lead
 */
export const kubelets = (
  files: Pick<Files, 'cert' | 'key'>,
  kubeconfig: string,
  nodeMonitorGraceSeconds: number,
  forwards: readonly Forward[] = [],
): Plan => ({
  ports: 1,
  healthPath: '/healthz',
  args: ([port]) => [
    `--kubeconfig=${kubeconfig}`,
    `--lease-seconds=${nodeMonitorGraceSeconds}`,
    `--port=${port}`,
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    ...forwards.map((forward) => `--forward=${forwardText(forward)}`),
  ],
});

function serving(files: Files, port: number | undefined): string[] {
  return [
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    `--tls-cert-file=${files.cert}`,
    `--tls-private-key-file=${files.key}`,
    `--cert-dir=${files.scratch}`,
  ];
}
