import { join } from 'node:path';
import type { GoModule } from './go-modules.ts';

/** What the control plane is made of, and the Go package each is built from. */
const PACKAGES = {
  etcd: 'go.etcd.io/etcd/server/v3',
  'kube-apiserver': 'k8s.io/kubernetes/cmd/kube-apiserver',
  kubectl: 'k8s.io/kubernetes/cmd/kubectl',
  'kube-controller-manager': 'k8s.io/kubernetes/cmd/kube-controller-manager',
  'kube-scheduler': 'k8s.io/kubernetes/cmd/kube-scheduler',
} as const;

export type Binary = keyof typeof PACKAGES;

export const BINARIES = Object.keys(PACKAGES) as Binary[];

export const KUBERNETES: GoModule = {
  folder: join(import.meta.dirname, 'kubernetes-1.36'),
  packages: PACKAGES,
  linkerVariables,
};

/** The API server that the tests run against besides. Its etcd and kubectl are those of {@link KUBERNETES}. */
export const OLDER_KUBERNETES: GoModule = {
  ...KUBERNETES,
  folder: join(import.meta.dirname, 'kubernetes-1.34'),
  packages: { 'kube-apiserver': PACKAGES['kube-apiserver'] },
};

/** Clients refuse to talk to a server that does not know its version. */
function linkerVariables(version: string): Record<string, string> {
  const [gitMajor = '', gitMinor = ''] = version.slice(1).split('.');
  const variables = { gitVersion: version, gitMajor, gitMinor };
  return Object.fromEntries(
    Object.entries(variables).map(([name, value]) => [`k8s.io/component-base/version.${name}`, value]),
  );
}
