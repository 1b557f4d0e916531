import { entriesAt, kindOf } from '../document-values.ts';
import { FIRST_VERSION, LAST_VERSION, surelyIn } from '../versions.ts';
import { ARGUMENT_SECTIONS, type Component } from './argument-sections.ts';
import type { Rule } from './finding.ts';

const words = (text: string): readonly string[] => text.split(' ');

interface ManagedArguments {
  readonly names: readonly string[];
  /** The first version that sets them; absent: all versions set them. */
  readonly since?: number;
}

/**
 * Arguments that Talos sets itself, and does not let `extraArgs` replace, by component, with the first version for the newer ones (MergeDenied in
 * KubeletSpecController, ControlPlaneStaticPodController and, from 1.14 on, ControlPlaneFinalController; denyListArgs of the service etcd).
 */
const MANAGED: Readonly<Record<Component, readonly ManagedArguments[]>> = {
  kubelet: [
    { names: words('bootstrap-kubeconfig kubeconfig container-runtime container-runtime-endpoint config cert-dir') },
  ],
  'kube-apiserver': [
    {
      names: words(
        'etcd-servers client-ca-file requestheader-client-ca-file proxy-client-cert-file proxy-client-key-file encryption-provider-config etcd-cafile etcd-certfile etcd-keyfile kubelet-client-certificate kubelet-client-key service-account-key-file service-account-signing-key-file tls-cert-file tls-private-key-file',
      ),
    },
    { names: ['authorization-config'], since: 9 },
    { names: ['tls-min-version'], since: 14 },
  ],
  'kube-controller-manager': [
    {
      names: words(
        'cluster-signing-cert-file cluster-signing-key-file authentication-kubeconfig authorization-kubeconfig root-ca-file service-account-private-key-file',
      ),
    },
  ],
  'kube-scheduler': [
    { names: words('kubeconfig authentication-kubeconfig authorization-kubeconfig') },
    { names: ['config'], since: 6 },
  ],
  etcd: [
    {
      names: words(
        'name auto-tls peer-auto-tls data-dir listen-peer-urls listen-client-urls client-cert-auth cert-file key-file trusted-ca-file peer-client-cert-auth peer-cert-file peer-key-file peer-trusted-ca-file initial-cluster initial-cluster-state initial-advertise-peer-urls advertise-client-urls',
      ),
    },
  ],
};

export const MANAGED_ARGUMENT: Rule = {
  id: 'managed-argument',
  severity: 'refused',
  about:
    'An argument in `extraArgs` that Talos sets itself, such as `kubeconfig` of the kubelet: validation accepts it, and then Talos cannot start or change the program any more.',
  check: ({ configuration: { documents }, version }) =>
    documents.flatMap((document) =>
      ARGUMENT_SECTIONS.filter(({ kind }) => kind === kindOf(document)).flatMap(({ path, component }) =>
        entriesAt(document, path).flatMap(([name]) => {
          if (!isManaged(component, name, version)) return [];
          return [
            {
              document,
              path: [...path, name],
              reason: `Talos sets ${name} of the ${component} itself ("extra arg is not allowed"): no change reaches the ${component} any more, and on a new node it does not start`,
              fix: 'remove it',
            },
          ];
        }),
      ),
    ),
};

function isManaged(component: Component, name: string, version: number | undefined): boolean {
  return MANAGED[component].some(
    ({ names, since = FIRST_VERSION }) =>
      names.includes(name) && surelyIn({ since, until: LAST_VERSION }, version, FIRST_VERSION),
  );
}
