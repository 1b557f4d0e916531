/** The service account of a pod whose spec names none. */
export const DEFAULT_SERVICE_ACCOUNT = 'default';

/** The user as which a service account makes requests. */
export function serviceAccountUser(namespace: string, name: string): string {
  return `system:serviceaccount:${namespace}:${name}`;
}

/** Prefix of the names of service accounts, nodes, and parts of the control plane. */
export const SYSTEM_PREFIX = 'system:';

/** The administrator's name in the kubeconfig of k3s, RKE2 and OpenShift. */
export const SYSTEM_ADMIN = 'system:admin';
